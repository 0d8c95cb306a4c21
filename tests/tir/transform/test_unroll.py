"""Unrolled loops become straight code, within limits."""

import sys

import pytest
from tests.passes import lower
from tests.tir.transform.programs import function, int_var, loop_names, loop_nest, matmul, of_kind

from tilewright.error import LoweringError
from tilewright.ir.arithmetic import floordiv
from tilewright.ir.convert import const
from tilewright.ir.structural import assert_structural_equal
from tilewright.tir import (
    Allocate,
    Broadcast,
    BufferLoad,
    BufferStore,
    For,
    ForKind,
    PrimFunc,
    Ramp,
    decl_buffer,
    seq,
)
from tilewright.tir.transform.unroll import unroll, unrolled

U = ForKind.UNROLLED


def test_unrolled_nest_is_straight_code_in_order():
    body = unroll(lower(matmul(2, 3, 5, kinds={"m": U, "n": U}))).body
    assert loop_names(body) == ["k"] * 6
    assert len({loop.loop_var for loop in of_kind(body, For)}) == 6
    inits = [s for s in body.seq if isinstance(s, BufferStore)]
    assert [int(s.indices[0]) for s in inits] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "index",
    [
        lambda i, j, n: n * 16 + (i * 4 + j) * 2 - 5,
        lambda i, j, n: (i * 4 + j) * 16,
        lambda i, j, n: i * 4 - n * 2 + 3 + j,
        lambda i, j, n: n * (i + 1) + j,
        lambda i, j, n: n + i - i,
        lambda i, j, n: floordiv(i, 2) * 8 + n,
    ],
)
@pytest.mark.parametrize("first", [0, "n"])
def test_copies_that_share_expressions_are_those_that_are_made_one_by_one(index, first):
    A, n, i, j = decl_buffer((1000,), name="A"), int_var("n"), int_var("i"), int_var("j")
    place = (Ramp(index(i, j, n), const(1), 4),)
    store = BufferStore(A, BufferLoad(A, place) + Broadcast(const(1.0), 4), place)
    inner = For(j, const(0), const(3), U, store)
    nest = For(i, n if first else const(0), const(4), U, inner)
    one_by_one = unrolled(nest.replace(body=unrolled(inner)))
    assert_structural_equal(unroll(PrimFunc((n,), nest)).body, one_by_one)


def test_extent_must_be_a_constant_and_the_code_of_a_sane_size():
    A = decl_buffer((8,), name="A")
    n, i = int_var("n"), int_var("i")
    loop = loop_nest([(i, n)], BufferStore(A, const(0.0), (i,)), {"i": U})
    func = lower(function((A,), loop, scalars=[n]))
    with pytest.raises(LoweringError, match="loop i: its extent n is not a constant"):
        unroll(func)
    with pytest.raises(LoweringError, match="70000 statements"):
        i = int_var("i")
        loop = loop_nest([(i, 70000)], BufferStore(A, const(0.0), (const(0),)), {"i": U})
        unroll(lower(function((A,), loop)))


@pytest.mark.parametrize(("step", "loops"), [(4, ["m", "n", "k"]), (5, ["m", "n"]), (18, ["m"])])
def test_auto_unroll_up_to_a_number_of_statements(step, loops):
    func = matmul(4, 3, 5)
    block = func.body.block
    loop = block.body.replace(annotations={"pragma_auto_unroll_max_step": const(step)})
    lowered = lower(func.with_body(func.body.replace(block=block.replace(body=loop))))
    assert loop_names(unroll(lowered).body) == loops
    implicit = {**loop.annotations, "pragma_unroll_explicit": const(0)}
    root = block.replace(body=loop.replace(annotations=implicit))
    lowered = lower(func.with_body(func.body.replace(block=root)))
    assert loop_names(unroll(lowered).body) == ["m", "n", "k"]


def test_copies_allocate_memory_of_their_own():
    A, T = decl_buffer((8,), name="A"), decl_buffer((1,), name="T")
    i = int_var("i")
    inner = seq(BufferStore(T, A[i], (const(0),)), BufferStore(A, T[0] + 1.0, (i,)))
    body = Allocate(T.data, T.dtype, (const(1),), const(True), inner)
    result = unroll(lower(function((A,), loop_nest([(i, 2)], body, {"i": U})))).body
    first, second = of_kind(result, Allocate)
    assert first.buffer_var is not second.buffer_var
    for allocation in (first, second):
        stores = [s for s in of_kind(allocation, BufferStore) if s.buffer.name == "T"]
        assert all(s.buffer.data is allocation.buffer_var for s in stores)


def test_visits_are_linear_in_the_length_of_an_expression():
    def visits(terms):
        i = int_var("i")
        source, target = decl_buffer((8,), "float32"), decl_buffer((8,), "float32")
        total = source[i]
        for _ in range(terms):
            total = total * source[i]
        nest = loop_nest([(i, 8)], BufferStore(target, total, (i,)), {"i": U})
        program = lower(function((source, target), nest))
        count = 0

        def note(frame, event, _argument):
            nonlocal count
            count += event == "call" and frame.f_code.co_name == "children"

        sys.setprofile(note)
        try:
            unroll(program)
        finally:
            sys.setprofile(None)
        return count

    assert visits(80) < 2.3 * visits(40)
