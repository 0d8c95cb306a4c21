"""Stores under the same condition run together where their order does not matter."""

import numpy as np
from tests.passes import lower
from tests.tir.transform.programs import function, int_var, loop_nest, of_kind

from tilewright.ir.convert import const
from tilewright.tir import BufferStore, IfThenElse, decl_buffer, seq
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.branches import group_branches

N = int_var("n")


def alternating(shape, indices, value, noalias=True):
    """Stores to C at `indices` inside of `for n in range(4)`, under two conditions in turn."""
    A, C = decl_buffer((8,), name="A"), decl_buffer(shape, name="C")
    conditions = [N < 1, N < 3]
    stores = [
        IfThenElse(conditions[number % 2], BufferStore(C, value(A, C, index), (index,)))
        for number, index in enumerate(map(const, indices))
    ]
    return lower(function((A, C), loop_nest([(N, 4)], seq(*stores)), noalias=noalias))


def add(A, C, index):
    return C[index] + A[index]


def results(func):
    arrays = np.arange(1, 9, dtype="float32"), np.arange(8, dtype="float32")
    interpret(func, *arrays)
    return arrays[1]


def test_stores_to_different_elements_are_grouped():
    func = alternating((8,), [0, 1, 2, 3], add)
    grouped = group_branches(func)
    first, second = of_kind(grouped.body, IfThenElse)
    assert [store.indices[0].value for store in of_kind(first, BufferStore)] == [0, 2]
    assert [store.indices[0].value for store in of_kind(second, BufferStore)] == [1, 3]
    np.testing.assert_array_equal(results(grouped), results(func))


def test_stores_to_one_element_keep_their_order():
    func = alternating((8,), [0, 1, 2, 0], add)
    assert group_branches(func) is func


def test_a_store_does_not_overtake_what_reads_it():
    func = alternating((8,), [0, 1, 2, 3], lambda A, C, index: C[const(2)] + A[index])
    assert group_branches(func) is func


def test_memory_that_may_overlap_is_left_alone():
    func = alternating((8,), [0, 1, 2, 3], add, noalias=False)
    assert group_branches(func) is func


def test_a_condition_that_a_store_changes_is_asked_again():
    A, C = decl_buffer((8,), name="A"), decl_buffer((8,), name="C")
    stores = [
        IfThenElse(C[0] < 2 + number % 2, BufferStore(C, C[number] + 1, (const(number),)))
        for number in range(4)
    ]
    func = lower(function((A, C), seq(*stores)))
    assert group_branches(func) is func
