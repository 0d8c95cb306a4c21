"""Which stretches of neighbouring elements are apart, where sizes are symbolic."""

import numpy as np
import pytest
from tests.passes import legalize_for, lower
from tests.tir.transform.programs import accesses, int_var, of_kind

from tilewright import te
from tilewright.ir import IRModule
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import const
from tilewright.ir.expr import Broadcast, Ramp
from tilewright.schedule_rules.default import schedule_module
from tilewright.tir import BufferStore, For, PrimFunc, decl_buffer
from tilewright.tir.interpreter import interpret
from tilewright.tir.stmt import nop
from tilewright.tir.transform.analysis.accesses import MemoryReferences
from tilewright.tir.transform.analysis.ranges import EnclosingScope
from tilewright.tir.transform.machine import Machine

TRUE = const(True, "bool")
MACHINE = Machine(vector_bits=128, vector_registers=32)


def row(buffer, begin, column=None, size=None, lanes=4):
    """A store of a vector, of the lanes before column `size` of those from `column` on."""
    value = Broadcast(const(1.0), lanes)
    mask = None if size is None else Ramp(column, const(1), lanes) < Broadcast(size, lanes)
    return BufferStore(buffer, value, (Ramp(begin, const(1), lanes),), mask)


def are_apart(func, stores, condition=TRUE):
    accesses, known = MemoryReferences(), EnclosingScope(func)
    locations = [accesses(store).location for store in stores]
    with known.where(condition):
        return accesses.are_apart(locations, known)


def function_of(*shape):
    buffer = decl_buffer(shape, name="A")
    handle = te.var("a", "handle")
    flat = decl_buffer((int_var("size"),), name="flat", data=buffer.data)
    return flat, PrimFunc([handle], nop(), buffer_map={handle: buffer})


def test_rows_of_symbolic_length_need_a_condition_or_masks():
    n, j = int_var("n"), int_var("j")
    flat, func = function_of(8, n)
    full = [row(flat, i * n + 8 * j + c) for i in range(3) for c in (0, 4)]
    assert not are_apart(func, full)
    assert are_apart(func, full, n > 7)
    assert not are_apart(func, full, n > 6)
    assert not are_apart(func, full, 8 * j + 7 < n)  # what j is, nobody knows
    masked = [row(flat, i * n + c, const(c), n) for i in range(3) for c in (0, 4)]
    assert are_apart(func, masked)
    assert not are_apart(
        func, [row(flat, i * n + c, const(c), n + 1) for i in (0, 1) for c in (0, 4)]
    )
    assert not are_apart(func, [*masked, row(flat, 2 * n + 3)])


def test_rows_of_known_length_may_be_masked_too():
    flat, func = function_of(8, 9)
    rows = [row(flat, const(i * 9 + c), const(c), const(9)) for i in range(3) for c in (0, 4, 8)]
    assert are_apart(func, rows)
    assert not are_apart(func, [row(flat, const(i * 9 + 8)) for i in (0, 1)] + rows)


def test_what_a_loop_counts_is_not_negative():
    n, j = int_var("n"), int_var("j")
    flat, func = function_of(8, n)
    rows = [row(flat, i * n + 8 * j + c) for i in range(3) for c in (0, 4)]
    accesses, known = MemoryReferences(), EnclosingScope(func)
    known.enter(For(j, const(0), n, 0, nop()))
    places = [accesses(store).location for store in rows]
    assert not accesses.are_apart(places, known)
    with known.where(8 * j + 7 < n):
        assert accesses.are_apart(places, known)
    assert not accesses.are_apart(places, known)


def test_conditions_that_memory_decides_say_nothing_of_later():
    n = int_var("n")
    flat, func = function_of(8, n)
    rows = [row(flat, i * n) for i in range(2)]
    sizes = decl_buffer((1,), "int32", name="sizes")
    assert are_apart(func, rows, n > 3)
    assert not are_apart(func, rows, logical_and(n > sizes[0], sizes[0] > 3))


def product(n):
    a, b = te.placeholder((n, 3), name="A"), te.placeholder((3, n), name="B")
    k = te.reduce_axis((0, 3), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    func = schedule_module(IRModule.from_expr(te.create_prim_func([a, b, c])), MACHINE).mod["main"]
    return legalize_for(lower(func), Machine(vector_bits=128))


@pytest.mark.parametrize("size", [0, 1, 2, 7, 16, 33])
@pytest.mark.parametrize("symbolic", [False, True])
def test_the_tiles_of_a_product_of_any_size_stay_in_registers(size, symbolic):
    if size == 0 and not symbolic:
        return
    func = product(te.size_var("n") if symbolic else size)
    for loop in of_kind(func.body, For):
        if loop.loop_var.name == "k":
            assert not accesses(loop, "C")
    rng = np.random.default_rng(0)
    a, b = (rng.random(s, "float32") for s in ((size, 3), (3, size)))
    c = np.full((size, size), 7, "float32")
    interpret(func, a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
