"""pad_einsum: larger extents whose additional instances make no difference."""

import numpy as np
import pytest
from tests.tir.schedule.checking import assert_same_meaning

from tilewright.ir.structural import assert_structural_equal_ignore_global_symbol
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError
from tilewright.tir.interpreter import interpret


@T.prim_func
def matmul(
    A: T.Buffer((4, 7), "float32"), B: T.Buffer((7, 5), "float32"), C: T.Buffer((4, 5), "float32")
):
    for i, j, k in T.grid(4, 5, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def padded(
    A: T.Buffer((4, 7), "float32"), B: T.Buffer((7, 5), "float32"), C: T.Buffer((4, 5), "float32")
):
    A_pad = T.alloc_buffer((4, 8))
    B_pad = T.alloc_buffer((8, 8))
    C_pad = T.alloc_buffer((4, 8))
    for i0, i1 in T.grid(4, 8):
        with T.block("A_pad"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            A_pad[v0, v1] = T.if_then_else(v1 < 7, A[v0, v1], T.float32(0))
    for i0, i1 in T.grid(8, 8):
        with T.block("B_pad"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            B_pad[v0, v1] = T.if_then_else(v0 < 7 and v1 < 5, B[v0, v1], T.float32(0))
    for i, j, k in T.grid(4, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C_pad[vi, vj] = T.float32(0)
            C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * B_pad[vk, vj]
    for i0, i1 in T.grid(4, 5):
        with T.block("C_pad"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            C[v0, v1] = C_pad[v0, v1]


def schedule(func):
    return Schedule(func, debug_mask="all")


def only_function(sch):
    return sch.mod["main"]


def check(func, padding, block="C", sizes=None):
    sch = schedule(func)
    sch.pad_einsum(block, padding)
    assert_same_meaning(func, sch, sizes=sizes)
    return sch


def allocated(sch):
    buffers = only_function(sch).body.block.alloc_buffers
    return {b.name: tuple(map(str, b.shape)) for b in buffers}


def test_the_result_prints_as_users_know_it():
    sch = check(matmul, [4, 4, 8])
    assert_structural_equal_ignore_global_symbol(only_function(sch), padded)


@pytest.mark.parametrize("padding", [[1, 1, 1], [2, 5, 7], [3, 1, 1], [1, 3, 1], [1, 1, 3]])
def test_only_what_grows_is_copied(padding):
    sch = check(matmul, padding)
    grows = [4 % padding[0] != 0, 5 % padding[1] != 0, 7 % padding[2] != 0]
    expected = set()
    if grows[0] or grows[2]:
        expected.add("A_pad")
    if grows[2] or grows[1]:
        expected.add("B_pad")
    if grows[0] or grows[1]:
        expected.add("C_pad")
    assert set(allocated(sch)) == expected


@T.prim_func
def symbolic(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m, T.int64(3)), "float32")
    C = T.match_buffer(c, (n, T.int64(3)), "float32")
    for i, j, k in T.grid(n, T.int64(3), m):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@pytest.mark.parametrize("sizes", [{"n": 4, "m": 4}, {"n": 5, "m": 3}])
def test_symbolic_sizes(sizes):
    sch = check(symbolic, [4, 1, 2], sizes=sizes)
    assert set(allocated(sch)) == {"A_pad", "B_pad", "C_pad"}


def test_several_terms_casts_and_other_initial_values():
    @T.prim_func
    def before(
        A: T.Buffer((3, 5), "int8"), B: T.Buffer((5, 3), "int8"), C: T.Buffer((3, 3), "int32")
    ):
        for i, j, k in T.grid(3, 3, 5):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 7
                C[vi, vj] = (
                    C[vi, vj]
                    + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj]) * 2
                    - T.Cast("int32", A[vi, vk])
                )

    check(before, [2, 2, 2])


def test_a_block_without_reduction():
    @T.prim_func
    def before(
        A: T.Buffer((3,), "float32"), B: T.Buffer((5,), "float32"), C: T.Buffer((3, 5), "float32")
    ):
        for i, j in T.grid(3, 5):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi] * B[vj] + A[vi]

    sch = check(before, [4, 4])
    assert allocated(sch) == {"A_pad": ("4",), "B_pad": ("8",), "C_pad": ("4", "8")}


def test_elements_that_are_not_padded_may_be_indexed_by_anything():
    @T.prim_func
    def before(
        A: T.Buffer((3, 5), "float32"), B: T.Buffer((9,), "float32"), C: T.Buffer((3, 4), "float32")
    ):
        for i, j, k in T.grid(3, 4, 5):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj + vk]

    check(before, [4, 1, 1])
    refused(before, "`vj` is not the index of one whole dimension", [1, 3, 1])


def test_between_producers_and_consumers():
    @T.prim_func
    def before(A: T.Buffer((3, 5), "float32"), D: T.Buffer((3,), "float32")):
        P = T.alloc_buffer((3, 5))
        C = T.alloc_buffer((3,), scope="shared")
        for i, k in T.grid(3, 5):
            with T.block("P"):
                vi, vk = T.axis.remap("SS", [i, k])
                P[vi, vk] = A[vi, vk] + T.float32(1)
        for i, k in T.grid(3, 5):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + P[vi, vk]
        for i in range(3):
            with T.block("D"):
                vi = T.axis.spatial(3, i)
                D[vi] = C[vi]

    sch = check(before, [2, 2])
    scopes = {b.name: b.scope() for b in only_function(sch).body.block.alloc_buffers}
    assert scopes["C_pad"] == "shared"


# --- refusals -------------------------------------------------------------------------------------


def refused(func, match, padding, block="C"):
    sch = schedule(func)
    before = only_function(sch)
    with pytest.raises(ScheduleError, match=match) as caught:
        sch.pad_einsum(block, padding)
    assert only_function(sch) is before
    return str(caught.value)


def reduction(update, init=lambda i: T.float32(0)):
    """A sum over k of `update(A, B, vi, vk)`."""

    @T.prim_func
    def func(
        A: T.Buffer((3, 5), "float32"), B: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32")
    ):
        for i, k in T.grid(3, 5):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = init(vi)
                C[vi] = update(C[vi], A, B, vi, vk)

    return func


def test_the_root_block():
    refused(matmul, "root block", [], block="root")


def test_wrong_paddings():
    refused(matmul, "has 3 iterators, but 2 paddings", [2, 2])
    refused(matmul, "paddings are positive, got 0", [0, 2, 2])


def test_other_reductions():
    func = reduction(lambda c, A, B, i, k: T.max(c, A[i, k]))
    refused(func, "is not an einsum: a reduction with an init", [1, 2])


def test_a_reduction_without_init():
    sch = schedule(matmul)
    sch.decompose_reduction("C", sch.get_loops("C")[0])
    with pytest.raises(ScheduleError, match="is not an einsum: a reduction with an init"):
        sch.pad_einsum("C_update", [2, 2, 2])


def test_a_reduction_of_some_instances():
    @T.prim_func
    def before(A: T.Buffer((3, 5), "float32"), C: T.Buffer((3,), "float32")):
        for i, k in T.grid(3, 5):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                if vk < 3:
                    C[vi] = C[vi] + A[vi, vk]

    refused(before, "is not an einsum", [2, 2])


def test_two_targets():
    @T.prim_func
    def before(
        A: T.Buffer((3, 5), "float32"), C: T.Buffer((3,), "float32"), D: T.Buffer((3,), "float32")
    ):
        for i, k in T.grid(3, 5):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                    D[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
                D[vi] = D[vi] + A[vi, vk]

    refused(before, "is not an einsum", [2, 2])


def test_other_functions_of_elements():
    func = reduction(lambda c, A, B, i, k: c + T.exp(A[i, k]))
    refused(func, "neither an element of a buffer nor a finite constant", [1, 2])
    func = reduction(lambda c, A, B, i, k: c + A[i, k] * T.float32(float("inf")))
    refused(func, "neither an element of a buffer nor a finite constant", [1, 2])


def test_an_init_that_reads():
    func = reduction(lambda c, A, B, i, k: c + A[i, k])
    check(func, [2, 2])

    @T.prim_func
    def before(
        A: T.Buffer((3, 5), "float32"), B: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32")
    ):
        for i, k in T.grid(3, 5):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = B[vi]
                C[vi] = C[vi] + A[vi, vk]

    refused(before, "init of block `C` reads memory", [2, 2])


def test_terms_that_are_not_zero_in_the_padding():
    func = reduction(lambda c, A, B, i, k: c + A[i, k] + B[i])
    text = refused(func, "a term of block `C` does not depend on `vk`", [1, 2])
    assert "at vk = 5, which the padding adds, the term is not 0" in text
    check(func, [2, 1])
    refused(reduction(lambda c, A, B, i, k: c + T.float32(1)), "does not depend on `vk`", [1, 2])


def test_elements_that_may_be_infinite():
    func = reduction(lambda c, A, B, i, k: c + A[i, k] * B[i])
    text = refused(func, r"`B\[vi\]` in block `C` does not depend on `vk`", [1, 2])
    assert "at vk = 5, which the padding adds, it adds 0 * inf" in text
    arrays = [np.ones((3, 5), "float32"), np.full(3, np.inf, "float32"), np.zeros(3, "float32")]
    interpret(func, *arrays)
    assert np.isinf(arrays[2]).all()

    @T.prim_func
    def padded_anyway(
        A: T.Buffer((3, 6), "float32"), B: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32")
    ):
        for i, k in T.grid(3, 6):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk] * B[vi]

    arrays[0] = np.pad(arrays[0], ((0, 0), (0, 1)))
    interpret(padded_anyway, *arrays)
    assert np.isnan(arrays[2]).all()


def test_reading_what_is_written():
    @T.prim_func
    def before(C: T.Buffer((3, 5), "float32")):
        for i, j in T.grid(3, 5):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = C[vi, vj] * T.float32(2)

    refused(before, "block `C` reads what it writes", [2, 2])


def test_buffers_that_share_memory():
    @T.prim_func
    def before(a: T.handle, C: T.Buffer((3, 3), "float32")):
        A = T.match_buffer(a, (3,), "float32")
        B = T.decl_buffer((3,), "float32", data=A.data)
        for i, j in T.grid(3, 3):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi] * B[vj]

    refused(before, "buffers that share their memory", [2, 2])


def test_more_than_a_store():
    @T.prim_func
    def before(A: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.block("C"):
                vi = T.axis.spatial(3, i)
                if vi < 2:
                    C[vi] = A[vi]

    refused(before, "body of block `C` is not one store", [2])


def test_other_kinds_of_iterators():
    @T.prim_func
    def before(A: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.block("C"):
                vi = T.axis.opaque(3, i)
                C[vi] = A[vi]

    refused(before, "neither spatial nor of a reduction", [2])


def test_buffers_of_the_block():
    @T.prim_func
    def before(A: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.block("C"):
                vi = T.axis.spatial(3, i)
                T.reads(A[vi])
                T.writes(C[vi])
                D = T.alloc_buffer((1,))
                D[0] = A[vi]
                C[vi] = D[0]

    refused(before, "declares buffers", [2])


def test_indices():
    @T.prim_func
    def diagonal(A: T.Buffer((3, 3), "float32"), C: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.block("C"):
                vi = T.axis.spatial(3, i)
                C[vi] = A[vi, vi]

    @T.prim_func
    def part(A: T.Buffer((4,), "float32"), C: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.block("C"):
                vi = T.axis.spatial(3, i)
                C[vi] = A[vi]

    refused(diagonal, "`vi` is not the index of one whole dimension", [2])
    refused(part, "`vi` is not the index of one whole dimension", [2])


def test_two_ways():
    @T.prim_func
    def before(A: T.Buffer((3, 3), "float32"), C: T.Buffer((3, 3), "float32")):
        for i, j, k in T.grid(3, 3, 3):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * A[vk, vj]

    refused(before, "`A` would be padded in two ways", [2, 2, 5])
    check(before, [2, 2, 2])


def test_bindings():
    sch = schedule(matmul)
    sch.fuse(*sch.get_loops("C")[1:])
    with pytest.raises(ScheduleError, match="`vj` of block `C` is not bound to a loop of its own"):
        sch.pad_einsum("C", [1, 1, 2])
    sch = schedule(matmul)
    sch.split(sch.get_loops("C")[2], [None, 4])
    with pytest.raises(ScheduleError, match="block `C` has a predicate"):
        sch.pad_einsum("C", [1, 1, 2])

    @T.prim_func
    def diagonal(A: T.Buffer((3, 3), "float32"), C: T.Buffer((3, 3), "float32")):
        for i in range(3):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, i])
                C[vi, vj] = A[vi, vj]

    @T.prim_func
    def part(A: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32")):
        for i in range(2):
            with T.block("C"):
                vi = T.axis.spatial(3, i)
                C[vi] = A[vi]

    refused(diagonal, "`vj` of block `C` is not bound to a loop of its own", [2, 2])
    refused(part, "`vi` of block `C` is not bound to a loop of its own over its domain", [2])


def test_a_domain_that_starts_later():
    @T.prim_func
    def before(A: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.block("C"):
                vi = T.axis.spatial((1, 4), i)
                C[vi] = A[vi]

    refused(before, "is not bound to a loop of its own over its domain", [2])


def test_a_loop_that_starts_later():
    @T.prim_func
    def before(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(1, 4):
            with T.block("C"):
                vi = T.axis.spatial(3, i - 1)
                C[vi] = A[vi]

    refused(before, "loop `i` does not start at 0", [2])


def test_threads():
    @T.prim_func
    def before(A: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32")):
        for i in T.thread_binding(3, thread="threadIdx.x"):
            with T.block("C"):
                vi = T.axis.spatial(3, i)
                C[vi] = A[vi]

    refused(before, "loop `i` has a thread binding", [2])


def test_other_blocks_in_the_loops():
    @T.prim_func
    def before(
        A: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32"), D: T.Buffer((3,), "float32")
    ):
        for i in range(3):
            with T.block("C"):
                vi = T.axis.spatial(3, i)
                C[vi] = A[vi]
            with T.block("D"):
                vi = T.axis.spatial(3, i)
                D[vi] = A[vi]

    refused(before, "loop `i` contains more than block `C`", [2])


@T.prim_func
def single_image(
    A: T.Buffer((1, 5, 7), "float32"), B: T.Buffer((7, 4), "float32"),
    C: T.Buffer((1, 5, 4), "float32"),
):  # fmt: skip
    for b, i, j, k in T.grid(1, 5, 4, 7):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + A[0, vi, vk] * B[vk, vj]


def test_the_index_of_the_only_element_is_plain():
    check(single_image, [1, 4, 1, 2])


@T.prim_func
def first_image(
    A: T.Buffer((2, 5, 7), "float32"), B: T.Buffer((7, 4), "float32"),
    C: T.Buffer((5, 4), "float32"),
):  # fmt: skip
    for i, j, k in T.grid(5, 4, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[0, vi, vk] * B[vk, vj]


def test_indices_that_are_not_padded_may_be_constants():
    check(first_image, [4, 1, 2])


@T.prim_func
def windows(
    A: T.Buffer((5, 9), "float32"), B: T.Buffer((4, 5, 3), "float32"),
    C: T.Buffer((4, 7), "float32"),
):  # fmt: skip
    for f, x, c, k in T.grid(4, 7, 5, 3):
        with T.block("C"):
            vf, vx, vc, vk = T.axis.remap("SSRR", [f, x, c, k])
            with T.init():
                C[vf, vx] = T.float32(0)
            C[vf, vx] = C[vf, vx] + A[vc, vx + vk] * B[vf, vc, vk]


def test_windows_may_be_in_dimensions_that_are_not_padded():
    check(windows, [3, 1, 4, 1])
    refused(windows, "`vx` is not the index of one whole dimension", [1, 2, 1, 1])
    refused(windows, "does not depend on `vk`", [1, 1, 1, 2])
