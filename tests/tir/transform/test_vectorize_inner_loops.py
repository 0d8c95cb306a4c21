"""Innermost loops become vector loops where that is right and pays."""

import numpy as np
import pytest
from tests.passes import lower
from tests.tir.transform.programs import accesses, function, int_var, loop_nest, matmul, of_kind

from tilewright.ir.convert import const
from tilewright.script import from_source
from tilewright.tir import (
    Allocate,
    BufferStore,
    Call,
    For,
    IfThenElse,
    Var,
    decl_buffer,
    exp,
    seq,
)
from tilewright.tir import max as maximum
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.lower_math import contract_fma
from tilewright.tir.transform.simplify import inline_lets
from tilewright.tir.transform.vectorize_inner_loops import vectorize_inner_loops


def widths(body):
    """The lanes of all stores, in order."""
    return [store.value.dtype.lanes for store in of_kind(body, BufferStore)]


def inner(extent, statement, names="AB", dtype="float32", noalias=True, **options):
    """`for i: statement(i, *buffers)`, vectorised."""
    buffers = [decl_buffer((4096,), dtype, name=name) for name in names]
    i = int_var("i")
    scalars = [extent] if isinstance(extent, Var) else []
    loop = loop_nest([(i, extent)], statement(i, *buffers))
    func = function(buffers, loop, noalias=noalias, scalars=scalars)
    return vectorize_inner_loops(inline_lets(lower(func)), **options).body


def scaled(i, A, B):
    return BufferStore(B, A[i] * const(3, A.dtype), (i,))


def test_the_reordered_matrix_product_gets_groups_of_vectors():
    func = inline_lets(lower(matmul(8, 1024, 8, order="mkn")))
    body = vectorize_inner_loops(func).body
    names = [loop.loop_var.name for loop in of_kind(body, For)]
    assert names == ["m", "n_init_v", "k", "n_v"]
    assert widths(body) == [16] * 8
    contracted = contract_fma(lower(matmul(2, 2, 2)))
    assert [call.op.name for call in of_kind(contracted.body, Call)] == ["tir.fma"]


def test_constant_extents_have_no_scalar_rest():
    assert widths(inner(64 + 16 + 8 + 2, scaled)) == [16, 16, 16, 16, 16, 8, 2]
    assert widths(inner(7, scaled)) == [4, 2, 1]
    assert widths(inner(3, scaled)) == [1]


def test_unknown_extents_end_with_a_scalar_loop():
    n = int_var("n")
    body = inner(n, scaled)
    assert [loop.loop_var.name for loop in of_kind(body, For)] == ["i_v", "i_v", "i"]
    assert widths(body) == [16] * 5 + [1]


@pytest.mark.parametrize("extent", [-80, -1, 0, 1, 79])
def test_unknown_extents_may_be_negative(extent):
    func = from_source(
        "from tilewright.script import tir as T\n"
        "@T.prim_func\n"
        'def main(A: T.Buffer((79,), "float32"), B: T.Buffer((79,), "float32"), n: T.int32):\n'
        '    T.func_attr({"tir.noalias": True})\n'
        "    for i in range(n):\n"
        "        B[i] = A[i] * T.float32(3)\n"
    )
    vectorized = vectorize_inner_loops(inline_lets(lower(func)))
    assert widths(vectorized.body) == [16] * 5 + [1]
    found = np.zeros(79, "float32")
    interpret(vectorized, np.ones(79, "float32"), found, extent)
    np.testing.assert_array_equal(found, np.where(np.arange(79) < extent, 3, 0))


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        (lambda i, A, B: BufferStore(B, A[i * 2], (i,)), "AB"),  # loads are apart
        (lambda i, A, B: BufferStore(B, A[i], (i * 2,)), "AB"),
        (lambda i, A: BufferStore(A, A[i] + 1.0, (i + 1,)), "A"),
        (lambda i, A, S: BufferStore(S, S[0] + A[i], (const(0),)), "AS"),  # order of a float sum
        (lambda i, A, S: BufferStore(S, A[i], (const(0),)), "AS"),
    ],
)
def test_what_stays_scalar(statement, names):
    assert widths(inner(64, statement, names)) == [1]


def test_memory_that_may_overlap_stays_scalar():
    assert widths(inner(64, scaled, noalias=False)) == [1]


def test_one_gather_is_accepted_for_something_expensive():
    assert widths(inner(16, lambda i, A, B: BufferStore(B, exp(A[i * 2]), (i,)))) == [16]


@pytest.mark.parametrize(("extent", "lanes"), [(1024, 128), (192, 64)])
def test_reductions_that_may_be_regrouped_use_accumulators(extent, lanes):
    def total(i, A, S):
        return BufferStore(S, S[0] + A[i], (const(0),))

    def largest(i, A, S):
        return BufferStore(S, maximum(S[0], A[i]), (const(0),))

    for body in (
        inner(extent, total, "AS", "int32"),
        inner(extent, largest, "AS"),
        inner(extent, total, "AS", reassociate=True),
    ):
        (allocation,) = of_kind(body, Allocate)
        assert int(allocation.extents[0]) == lanes
        (loop,) = of_kind(body, For)
        assert not accesses(loop, "S")
        assert set(widths(loop)) == {16}


@pytest.mark.parametrize("combine", ["+", "*", "T.max", "T.min"])
@pytest.mark.parametrize("extent", [17, 18, 31, 93])
@pytest.mark.parametrize("vector_bits", [128, 512])
def test_what_is_left_of_a_reduction_is_in_the_first_lanes_of_a_vector(
    combine, extent, vector_bits
):
    update = f"{combine}(B[0], {{0}})" if combine.startswith("T") else f"B[0] {combine} {{0}}"
    func = from_source(
        "from tilewright.script import tir as T\n"
        "@T.prim_func\n"
        f'def main(A: T.Buffer(({extent},), "float32"), B: T.Buffer((1,), "float32")):\n'
        '    T.func_attr({"tir.noalias": True})\n'
        f"    for i in range({extent}):\n"
        f"        B[0] = {update.format('T.exp(A[i])')}\n"
    )
    vectorized = vectorize_inner_loops(
        inline_lets(lower(func)), vector_bits=vector_bits, reassociate=True
    )
    left = extent % (vector_bits // 32)
    scalar_loops = [loop for loop in of_kind(vectorized.body, For) if loop.loop_var.name == "i"]
    assert len(scalar_loops) == (left == 1)
    a = np.linspace(-1, 0.5, extent).astype("float32")
    results = []
    for program in (func, vectorized):
        b = np.array([1.5], "float32")
        interpret(program, a.copy(), b, check_reads=True)
        results.append(b[0])
    np.testing.assert_allclose(*results, rtol=1e-5)


def test_an_outer_loop_is_not_touched():
    A, B = decl_buffer((8, 3), name="A"), decl_buffer((8, 3), name="B")
    i, j = int_var("i"), int_var("j")
    nest = loop_nest([(i, 8), (j, 3)], BufferStore(B, A[i, j], (i, j)))
    func = lower(function((A, B), seq(nest)))
    assert vectorize_inner_loops(func) is func


@pytest.mark.parametrize("combine", [maximum, lambda a, b: a + b])
def test_a_guarded_reduction_touches_no_element_that_does_not_exist(combine):
    A, B = decl_buffer((128,), "int32", "A"), decl_buffer((4,), "int32", "B")
    j, i = int_var("j"), int_var("i")
    store = BufferStore(B, combine(B[j], A[i]), (j,))
    func = function((A, B), loop_nest([(j, 6), (i, 128)], IfThenElse(j < 4, store)))
    fast = vectorize_inner_loops(inline_lets(lower(func)))
    assert max(widths(fast.body)) == 16
    a, results = np.arange(128, dtype="int32"), []
    for version in (func, fast):
        b = np.full(4, 3, "int32")
        interpret(version, a, b)  # an access out of bounds is an error
        results.append(b.tolist())
    assert results[0] == results[1]


# --- parallel loops -------------------------------------------------------------------------------


def parallel_scale(extent, annotations="{}"):
    """`for i in T.parallel(extent): B[i] = A[i] * 3`, vectorised."""
    func = from_source(
        "from tilewright.script import tir as T\n"
        "@T.prim_func\n"
        'def main(A: T.Buffer((300,), "float32"), B: T.Buffer((300,), "float32"), n: T.int32):\n'
        '    T.func_attr({"tir.noalias": True})\n'
        f"    for i in T.parallel({extent}, annotations={annotations}):\n"
        "        B[i] = A[i] * T.float32(3)\n"
    )
    return vectorize_inner_loops(inline_lets(lower(func)))


def kinds(func):
    return [(loop.loop_var.name, loop.kind.name) for loop in of_kind(func.body, For)]


@pytest.mark.parametrize("count", [0, 1, 15, 64, 100, 271])
def test_threads_share_the_strips_of_a_parallel_loop(count):
    func = parallel_scale("n")
    assert kinds(func) == [("i_v", "PARALLEL"), ("i_v", "SERIAL"), ("i", "SERIAL")]
    assert widths(func.body) == [16] * 5 + [1]
    found = np.zeros(300, "float32")
    interpret(func, np.ones(300, "float32"), found, count)
    np.testing.assert_array_equal(found, np.where(np.arange(300) < count, 3, 0))


def test_parallel_loops_of_constant_extent():
    func = parallel_scale(128 + 16 + 3)
    assert kinds(func) == [("i_v", "PARALLEL")]
    assert widths(func.body) == [16] * 5 + [2, 1]
    found = np.zeros(300, "float32")
    interpret(func, np.ones(300, "float32"), found, 0)
    np.testing.assert_array_equal(found, np.where(np.arange(300) < 147, 3, 0))


@pytest.mark.parametrize(("chunk", "strips"), [(1, 1), (64, 1), (200, 3)])
def test_chunks_are_counted_in_strips(chunk, strips):
    key = "pragma_parallel_schedule"
    func = parallel_scale("n", f"{{'{key}': 'dynamic,{chunk}'}}")
    strip, *rest = of_kind(func.body, For)
    assert strip.annotations[key] == f"dynamic,{strips}"
    assert not any(loop.annotations for loop in rest)


def test_threads_have_no_common_accumulator():
    func = from_source(
        "from tilewright.script import tir as T\n"
        "@T.prim_func\n"
        'def main(A: T.Buffer((64,), "int32"), B: T.Buffer((1,), "int32")):\n'
        '    T.func_attr({"tir.noalias": True})\n'
        "    for i in T.parallel(64):\n"
        "        B[0] = B[0] + A[i]\n"
    )
    lowered = inline_lets(lower(func))
    assert vectorize_inner_loops(lowered) is lowered
