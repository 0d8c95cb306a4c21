"""Lowering keeps the meaning: random programs run before and after in the interpreter."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.passes import legalize_for, lower
from tests.tir.transform.programs import (
    TRUE,
    function,
    int_var,
    iterator,
    loop_nest,
    matmul,
    point,
)

from tilewright.ir.convert import const
from tilewright.tir import (
    Block,
    BlockRealize,
    BufferStore,
    ForKind,
    IfThenElse,
    LetStmt,
    Select,
    decl_buffer,
    seq,
)
from tilewright.tir import max as maximum
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.machine import Machine

SERIAL, UNROLLED, VECTORIZED = ForKind.SERIAL, ForKind.UNROLLED, ForKind.VECTORIZED
TARGETS = st.sampled_from([Machine(128, 16), Machine(256, 16), Machine(512, 32)])


def outputs(func, arrays):
    """The arrays after a run of `func` on copies of them."""
    copies = [array.copy() for array in arrays]
    interpret(func, *copies)
    return copies


def assert_same_after_lowering(func, arrays, target):
    """The function, its lowered form and its codegen form compute the same."""
    expected = outputs(func, arrays)
    lowered = lower(func)
    for stage in (lowered, legalize_for(lowered, target)):
        for want, got in zip(expected, outputs(stage, arrays), strict=True):
            np.testing.assert_array_equal(got, want)


def small_integers(shape, seed, dtype="float32"):
    """Values whose sums and products are exact, in any order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


@st.composite
def tiled_products(draw):
    """Matrix products of any shape with any tiles, loop order and loop kinds."""
    shape = draw(st.tuples(*[st.integers(1, 20)] * 3))
    tiles = draw(st.tuples(*[st.integers(1, 8)] * 3))
    order = draw(st.permutations(["m0", "n0", "k0", "m1", "n1", "k1"]))
    kinds = {
        "m1": draw(st.sampled_from([SERIAL, UNROLLED])),
        "k1": draw(st.sampled_from([SERIAL, UNROLLED])),
        "n1": draw(st.sampled_from([SERIAL, UNROLLED, VECTORIZED])),
    }
    return shape, tiles, order, kinds


@given(tiled_products(), TARGETS)
def test_tiled_matrix_products(case, target):
    (m, n, k), tiles, order, kinds = case
    func = matmul(m, n, k, tiles, order, kinds)
    a, b = small_integers((m, k), 0), small_integers((k, n), 1)
    arrays = [a, b, small_integers((m, n), 2)]
    np.testing.assert_array_equal(outputs(lower(func), arrays)[2], a @ b)
    assert_same_after_lowering(func, arrays, target)


@st.composite
def loop_programs(draw):
    """Loops with a few statements over shifted, strided and invariant elements of three arrays."""
    buffers = [decl_buffer((96,), "int32", name=name) for name in "ABC"]
    i = int_var("i")
    outer = int_var("t")
    extent = draw(st.sampled_from([1, 3, 4, 7, 8, 16, 17, 33]))

    steps = outer * draw(st.sampled_from([0, 1, 4]))

    def index():
        # Mostly neighbours of one another, so that iterations do depend on each other.
        if draw(st.integers(0, 9)) == 0:
            return i * draw(st.sampled_from([0, 2])) + draw(st.integers(0, 18))
        return i + steps + draw(st.sampled_from([0, 0, 1, 2, 3, 17]))

    def element():
        return draw(st.sampled_from(buffers))[index()]

    def expression():
        a, b = element(), draw(st.sampled_from([element(), i, const(3)]))
        return draw(
            st.sampled_from([a + b, a - b, maximum(a, b), Select(a < b, a, b), a // (b * b + 1)])
        )

    def statement():
        store = BufferStore(draw(st.sampled_from(buffers)), expression(), (index(),))
        if draw(st.integers(0, 3)) == 0:  # an update of the element itself
            place = store.indices[0]
            store = store.replace(value=store.buffer[place] + element())
        if draw(st.integers(0, 5)) == 0:
            return IfThenElse(draw(st.sampled_from([i < 5, element() > 0, outer < 1])), store)
        return store

    body = seq(*(statement() for _ in range(draw(st.integers(1, 3)))))
    kind = draw(st.sampled_from([SERIAL, VECTORIZED, UNROLLED]))
    nest = loop_nest([(outer, 2), (i, extent)], body, {"i": kind})
    return function(buffers, nest, noalias=draw(st.booleans()))


@given(loop_programs(), TARGETS, st.integers(0, 100))
def test_loops_with_any_dependences(func, target, seed):
    arrays = [small_integers(96, seed + position, "int32") for position in range(3)]
    assert_same_after_lowering(func, arrays, target)


@given(st.integers(0, 40), TARGETS, st.sampled_from(["sum", "max"]))
def test_unknown_extents(length, target, kind):
    n, i, j = int_var("n"), int_var("i"), int_var("j")
    A, S = decl_buffer((n,), "int32", name="A"), decl_buffer((1,), "int32", name="S")
    total = S[0] + A[j] if kind == "sum" else maximum(S[0], A[j])
    body = seq(
        loop_nest([(i, n)], BufferStore(A, A[i] * 3 + i, (i,)), {"i": VECTORIZED}),
        loop_nest([(j, n)], BufferStore(S, total, (const(0),))),
    )
    arrays = [small_integers(length, length, "int32"), np.array([7], "int32")]
    assert_same_after_lowering(function((A, S), body), arrays, target)


@given(st.integers(1, 9), st.integers(1, 9), st.booleans(), TARGETS)
def test_a_chain_through_memory_of_its_own(rows, columns, columns_first, target):
    """A row sum, and what it is used for; the sum's loops in either order."""
    A, B = decl_buffer((rows, columns), name="A"), decl_buffer((rows, columns), name="B")
    S = decl_buffer((rows,), name="S")
    vr, vc = iterator("vr", rows), iterator("vc", columns, reduce=True)
    r, c = int_var("r"), int_var("c")
    block = Block(
        (vr, vc), (point(A, vr.var, vc.var),), (point(S, vr.var),), "S",
        BufferStore(S, S[vr.var] + A[vr.var, vc.var], (vr.var,)),
        init=BufferStore(S, const(0.0), (vr.var,)),
    )  # fmt: skip
    loops = [(r, rows), (c, columns)]
    total = loop_nest(loops[::-1] if columns_first else loops, BlockRealize((r, c), TRUE, block))
    x, y = int_var("x"), int_var("y")
    use = loop_nest([(x, rows), (y, columns)], BufferStore(B, A[x, y] - S[x], (x, y)))
    func = function((A, B), seq(total, use), allocated=[S])
    a = small_integers((rows, columns), rows)
    arrays = [a, np.zeros_like(a)]
    np.testing.assert_array_equal(outputs(lower(func), arrays)[1], a - a.sum(1, keepdims=True))
    assert_same_after_lowering(func, arrays, target)


@given(st.sampled_from([-(2**31), 2**31 - 1, 5]), st.sampled_from([-(2**31), 65537]), TARGETS)
def test_lets_that_wrap_around(offset, factor, target):
    A, i, x = decl_buffer((4,), "int32", name="A"), int_var("i"), int_var("x")
    value = (i + const(offset, "int32")) * const(factor, "int32") * 65536 + offset
    body = LetStmt(x, value, BufferStore(A, x - i, (i,)))
    arrays = [small_integers(4, 0, "int32")]
    assert_same_after_lowering(function((A,), loop_nest([(i, 4)], body)), arrays, target)
