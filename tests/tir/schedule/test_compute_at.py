"""compute_at: a producer moved under a loop that needs it."""

import numpy as np
import pytest
from tests.tir.schedule.checking import assert_refused, assert_same_meaning, at, results_of

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


def scheduled(func, prepare, sizes=None, **options):
    sch = Schedule(func, debug_mask="all")
    block, loop = prepare(sch)
    sch.compute_at(block, loop, **options)
    assert_same_meaning(func, sch, sizes=sizes)
    return sch


def refused(func, prepare, message, differs=False, fails=False, **options):
    """The refusal; with `differs` or `fails`, what would have happened without."""

    def step(sch):
        block, loop = prepare(sch)
        return lambda: sch.compute_at(block, loop, **options)

    assert_refused(func, step, message, differs=differs, fails=fails)


@T.prim_func
def elementwise(A: T.Buffer((16, 12), "float32"), C: T.Buffer((16, 12), "float32")):
    B = T.alloc_buffer((16, 12))
    for i, j in T.grid(16, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func
def elementwise_at_tile(A: T.Buffer((16, 12), "float32"), C: T.Buffer((16, 12), "float32")):
    T.func_attr({"global_symbol": "elementwise"})
    B = T.alloc_buffer((16, 12))
    for i_0, j_0 in T.grid(4, 2):
        for ax0, ax1 in T.grid(4, 6):
            with T.block("B"):
                vi = T.axis.spatial(16, i_0 * 4 + ax0)
                vj = T.axis.spatial(12, j_0 * 6 + ax1)
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i_1, j_1 in T.grid(4, 6):
            with T.block("C"):
                vi = T.axis.spatial(16, i_0 * 4 + i_1)
                vj = T.axis.spatial(12, j_0 * 6 + j_1)
                C[vi, vj] = B[vi, vj] + T.float32(1)


def test_each_tile_computes_what_it_reads():
    sch = scheduled(elementwise, at("B", "C", 1, 4, 6))
    tvm.ir.assert_structural_equal(sch.mod["main"], elementwise_at_tile)


def test_tiles_that_do_not_divide_the_size_have_a_predicate():
    text = scheduled(elementwise, at("B", "C", 1, 5, 7)).mod.script()
    assert "T.where(i_0 * 5 + ax0 < 16 and j_0 * 7 + ax1 < 12)" in text


def test_loops_of_one_iteration_are_dropped_or_kept():
    text = scheduled(elementwise, at("B", "C", 0)).mod.script()
    assert "for ax0 in range(12):" in text
    text = scheduled(elementwise, at("B", "C", 0), preserve_unit_loops=True).mod.script()
    assert "for ax0, ax1 in T.grid(1, 12):" in text
    assert "vi = T.axis.spatial(16, i + ax0)" in text
    text = scheduled(elementwise, at("B", "C", 1)).mod.script()
    assert "ax0" not in text


@T.prim_func
def pad_conv(
    X: T.Buffer((2, 5, 5), "float32"),
    W: T.Buffer((3, 2, 3, 3), "float32"),
    Y: T.Buffer((3, 5, 5), "float32"),
):
    P = T.alloc_buffer((2, 7, 7))
    for c, h, w in T.grid(2, 7, 7):
        with T.block("pad"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            P[vc, vh, vw] = T.if_then_else(
                vh >= 1 and vh < 6 and vw >= 1 and vw < 6, X[vc, vh - 1, vw - 1], T.float32(0)
            )
    for o, h, w, c, r, s in T.grid(3, 5, 5, 2, 3, 3):
        with T.block("conv"):
            vo, vh, vw, vc, vr, vs = T.axis.remap("SSSRRR", [o, h, w, c, r, s])
            with T.init():
                Y[vo, vh, vw] = T.float32(0)
            Y[vo, vh, vw] = Y[vo, vh, vw] + P[vc, vh + vr, vw + vs] * W[vo, vc, vr, vs]


def test_tiles_that_overlap_are_computed_again():
    text = scheduled(pad_conv, at("pad", "conv", 2, 1, 2, 3)).mod.script()
    assert "for ax0, ax1, ax2 in T.grid(2, 4, 5):" in text
    assert "T.where(h_0 * 2 + ax1 < 7 and w_0 * 3 + ax2 < 7)" in text


def test_a_loop_of_the_reduction_needs_less():
    text = scheduled(pad_conv, at("pad", "conv", 4)).mod.script()
    assert "for ax0 in range(3):" in text


@T.prim_func
def matmul_relu(
    A: T.Buffer((10, 6), "float32"), B: T.Buffer((6, 9), "float32"), D: T.Buffer((10, 9), "float32")
):
    C = T.alloc_buffer((10, 9))
    for i, j, k in T.grid(10, 9, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(10, 9):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


def test_a_reduction_keeps_its_whole_domain():
    text = scheduled(matmul_relu, at("C", "D", 1, 4, 4)).mod.script()
    assert "for ax0, ax1, ax2 in T.grid(4, 4, 6):" in text
    assert "vk = T.axis.reduce(6, ax2)" in text


def test_a_parallel_loop_has_its_own_part():
    def prepare(sch):
        block, loop = at("C", "D", 0, 4, 4)(sch)
        sch.parallel(loop)
        return block, loop

    scheduled(matmul_relu, prepare)


def test_a_producer_whose_loops_are_split_and_fused():
    def prepare(sch):
        i, j, k = sch.get_loops("C")
        sch.split(sch.fuse(i, j), [None, 7])
        sch.split(k, [2, None])
        return at("C", "D", 0)(sch)

    scheduled(matmul_relu, prepare)


@T.prim_func
def shifted(A: T.Buffer((20,), "float32"), C: T.Buffer((4, 4), "float32")):
    B = T.alloc_buffer((40,))
    for i in range(20):
        with T.block("B"):
            vi = T.axis.spatial(20, i)
            B[39 - 2 * vi] = A[vi] * T.float32(2)
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi * 8 + vj * 2 + 3]


@T.prim_func
def fused_index(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    B = T.alloc_buffer((32,))
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 4 + vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi * 4 + vj]


def test_a_fused_index_is_taken_apart():
    text = scheduled(fused_index, at("B", "C", 0)).mod.script()
    assert "for ax0 in range(4):" in text
    assert 'vi, vj = T.axis.remap("SS", [i, ax0])' in text


@T.prim_func
def two_consumers(
    A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32"), D: T.Buffer((8,), "float32")
):
    B = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(8):
        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj]
        for j in range(6):
            with T.block("D"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.reduce(6, j)
                with T.init():
                    D[vi] = T.float32(0)
                D[vi] = D[vi] + B[vi, vj + 2]


def test_the_hull_of_two_consumers():
    text = scheduled(two_consumers, lambda s: (s.get_block("B"), s.get_loops("D")[0])).mod.script()
    assert "for ax0 in range(8):" in text


def test_a_consumer_outside_of_the_loop():
    refused(
        two_consumers,
        lambda s: (s.get_block("B"), s.get_loops("D")[1]),
        "block `C` reads `B` outside of loop `j`",
        fails=True,
    )


@T.prim_func
def chain(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4))
    C = T.match_buffer(c, (n, 4))
    B = T.alloc_buffer((n, 4))
    S = T.alloc_buffer((n,))
    for i, j in T.grid(n, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, 4):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + B[vi, vj]
    for i, j in T.grid(n, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = S[vi] - A[vi, vj]


def test_a_chain_with_a_symbolic_size():
    sch = Schedule(chain, debug_mask="all")
    i_0, _ = sch.split(sch.get_loops("C")[0], [None, 4])
    sch.compute_at("S", i_0)
    sch.compute_at("B", i_0)
    for n in (3, 8):
        assert_same_meaning(chain, sch, sizes={"n": n})
    assert sch.mod.script().count("T.where(i_0 * T.int64(4) + ax0 < n)") == 2


def test_positions_in_the_loop():
    def prepared(sch):
        i_0, _ = sch.split(sch.get_loops("C")[0], [None, 4])
        sch.compute_at("S", i_0)
        return sch.get_block("B"), i_0

    for index in (-1, -2, 0):
        sch = scheduled(chain, prepared, sizes={"n": 5}, index=index)
        names = [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]
        assert names == ["B", "S", "C"]
    refused(chain, prepared, "cannot be put at position 1 of loop `i_0`: positions 0 to 0", index=1)


def test_first_and_last_positions_differ():
    sch = Schedule(elementwise, debug_mask="all")
    i, _ = sch.get_loops("C")
    sch.compute_at("B", i, index=0)
    first = sch.get_loops("B")
    assert len(first) == 2
    refused(elementwise, at("B", "C", 0), "positions 0 to 0 are possible", index=3)


@T.prim_func
def data_dependent(
    A: T.Buffer((8,), "float32"), X: T.Buffer((6,), "int32"), C: T.Buffer((6,), "float32")
):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(3)
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = B[T.bitwise_and(X[vi], 7)]


def test_an_index_that_depends_on_data_needs_everything():
    text = scheduled(data_dependent, at("B", "C", 0)).mod.script()
    assert "for ax0 in range(8):" in text


@T.prim_func
def partial(A: T.Buffer((8,), "float32"), C: T.Buffer((5,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.where(i < 5)
            B[vi] = A[vi] * T.float32(3)
    for i in range(5):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = B[vi]


def test_a_producer_that_runs_for_a_part_of_its_domain():
    text = scheduled(partial, at("B", "C", 0, 2)).mod.script()
    assert "T.where(i_0 * 2 + ax0 < 5)" in text


# --- outputs ------------------------------------------------------------------------------------


@T.prim_func
def output_needed(
    A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")
):
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, 3 - vj]


def test_an_output_that_is_still_written():
    scheduled(output_needed, at("B", "C", 0))


@T.prim_func
def output_partly_needed(
    A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((6,), "float32")
):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = B[vi]


def test_an_output_that_is_not_written_completely():
    prepare = at("B", "C", 0)
    refused(output_partly_needed, prepare, r"B\[6\] is not written any more", differs=True)


# --- dependences --------------------------------------------------------------------------------


@T.prim_func
def overwritten(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("over"):
            vi = T.axis.spatial(8, i)
            A[vi] = T.float32(100)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_an_input_that_is_overwritten_in_between():
    message = "`over` may overwrite `A`, which block `B` reads(.|\n)*Counterexample: A"
    refused(overwritten, at("B", "C", 0), message, differs=True)


@T.prim_func
def in_place(A: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = B[vi] + T.float32(1)


def test_an_input_that_the_consumer_updates_at_the_same_place():
    scheduled(in_place, at("B", "A", 0, 4))


@T.prim_func
def two_writers(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(4):
        with T.block("half"):
            vi = T.axis.spatial(4, i)
            B[vi * 2] = T.float32(100)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_another_block_that_writes_the_buffer():
    refused(two_writers, at("B", "C", 0), "block `half` writes what block `B` writes", differs=True)


@T.prim_func
def scan(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.opaque(8, i)
            B[vi] = T.if_then_else(vi > 0, B[vi - 1], T.float32(0)) + A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[7 - vi]


@T.prim_func
def scan_in_order(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.opaque(8, i)
            B[vi] = T.if_then_else(vi > 0, B[vi - 1], T.float32(0)) + A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_a_block_that_must_run_in_order():
    refused(scan, at("B", "C", 0), "block `B` must run exactly once, in the order", fails=True)
    scheduled(scan_in_order, at("B", "C", 0))


@T.prim_func
def producer_in_loop(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    C = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[7 - vi]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = C[vi] + A[vi]


def test_an_input_that_is_not_computed_yet():
    def prepare(sch):
        loop = sch.get_loops("D")[0]
        sch.compute_at("C", loop)
        sch.compute_at("B", loop)
        return sch.get_block("C"), loop

    scheduled(producer_in_loop, prepare)


# --- structure ----------------------------------------------------------------------------------


def test_a_loop_without_a_consumer():
    refused(
        elementwise,
        lambda s: (s.get_block("C"), s.get_loops("B")[0]),
        "nothing inside of loop `i` reads what block `C` writes",
    )


def test_the_root_block():
    refused(
        elementwise,
        lambda s: (s.get_block("root"), s.get_loops("B")[0]),
        "the root block cannot be moved",
    )


@T.prim_func
def nested(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    B = T.alloc_buffer((8, 4))
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(8):
        with T.block("outer"):
            vi = T.axis.spatial(8, i)
            T.reads(B[vi, 0:4])
            T.writes(C[vi, 0:4])
            for j in range(4):
                with T.block("C"):
                    vj = T.axis.spatial(4, j)
                    C[vi, vj] = B[vi, 3 - vj] + T.float32(1)


def test_a_consumer_that_contains_blocks():
    scheduled(nested, at("B", "outer", 0))


def test_a_loop_of_another_scope():
    refused(
        nested,
        lambda s: (s.get_block("B"), s.get_loops("C")[0]),
        "block `B` and loop `j` must be in the same block",
    )


def test_there_is_no_place_between_producer_and_consumer():
    def prepare(sch):
        loop = sch.get_loops("D")[0]
        sch.compute_at("C", loop)
        sch.compute_at("B", sch.get_loops("C")[0], index=0)
        return sch.get_block("C"), loop

    scheduled(producer_in_loop, prepare)


@T.prim_func
def outside_of_blocks(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((10,))
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi % 8]
    for i in range(8):
        A[i] = T.float32(100)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + B[vi + 2]


def test_statements_outside_of_blocks():
    message = "`root` accesses memory outside of the blocks"
    refused(outside_of_blocks, at("B", "C", 0, 4), message, differs=True)


@T.prim_func
def some_run(A: T.Buffer((8,), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((8,))
    for i, j in T.grid(2, 3):
        with T.block("B"):
            vi = T.axis.spatial(8, i * 3 + j)
            B[vi] = A[vi]
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = B[vi]


def test_a_part_of_the_domain_that_is_not_known_in_terms_of_iterators():
    refused(some_run, at("B", "C", 0), "the loops around block `B` do not run all of its instances")


@T.prim_func
def run_by_another_loop(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for t, i in T.grid(2, 8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.where(t + i < 8)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_a_predicate_on_a_loop_that_is_no_iterator():
    sch = scheduled(run_by_another_loop, at("B", "C", 0))
    assert "T.where" not in sch.mod.script()


@T.prim_func
def prefix_sums(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((1,))
    for k in range(4):
        with T.block("B"):
            vk = T.axis.reduce(4, k)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vk]
        for _j in range(1):
            with T.block("C"):
                vk = T.axis.spatial(4, k)
                C[vk] = B[0]


def test_a_consumer_of_partial_sums():
    message = "may read elements of `B` that block `B` does not write before"
    refused(prefix_sums, at("B", "C", 1), message, differs=True)


@T.prim_func
def run_by_a_part_of_another_loop(A: T.Buffer((8,), "float32"), C: T.Buffer((5,), "float32")):
    B = T.alloc_buffer((8,))
    for t, i in T.grid(2, 8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.where(t + i < 5)
            B[vi] = A[vi]
    for i in range(5):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = B[vi]


def test_a_predicate_that_leaves_instances_out_by_another_loop():
    message = "the predicate of block `B` mentions a loop that is not an iterator of it"
    refused(run_by_a_part_of_another_loop, at("B", "C", 0), message)


@T.prim_func
def output_of_each_step(
    A: T.Buffer((2, 4), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((2, 2), "float32")
):
    X = T.alloc_buffer((4,))
    for t in range(2):
        for i in range(4):
            with T.block("X"):
                vt, vi = T.axis.remap("SS", [t, i])
                X[vi] = A[vt, vi]
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = X[vi]
        for i in range(2):
            with T.block("C"):
                vt, vi = T.axis.remap("SS", [t, i])
                C[vt, vi] = B[vt * 2 + vi]


def test_an_output_whose_last_value_is_not_needed_by_the_consumer():
    refused(
        output_of_each_step,
        at("B", "C", 1),
        "an element of `B`, which is an output, again after block `X` has changed its inputs",
        differs=True,
    )


@T.prim_func
def transposed_product(A: T.Buffer((3, 3), "float64"), C: T.Buffer((3, 3), "float64")):
    B = T.alloc_buffer((3, 3), "float64")
    for i, j in T.grid(3, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vj, vi]
    for i, j in T.grid(3, 3):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, vi]


@pytest.mark.parametrize("checked", [True, False])
def test_a_tile_that_is_cut_off_at_the_end(checked):
    # How far such a tile reaches depends on its own iterators, which have no value outside of it.
    sch = Schedule(transposed_product, debug_mask="all", enable_check=checked)
    (i_0, i_1), (j_0, j_1) = (sch.split(loop, [None, 2]) for loop in sch.get_loops("B"))
    sch.reorder(i_0, j_0, i_1, j_1)
    tile = sch.blockize(i_1)
    loop = sch.get_loops("C")[0]
    if checked:
        with pytest.raises(ScheduleError, match="must run exactly once"):
            sch.compute_at(tile, loop)
    else:
        sch.compute_at(tile, loop)
        np.testing.assert_array_equal(
            results_of(transposed_product)[1], results_of(sch.mod["main"])[1]
        )


def test_a_consumer_that_runs_before_its_producer():
    @T.prim_func
    def before(
        A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")
    ):
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[vi]
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]

    assert_refused(
        before,
        lambda sch: lambda: sch.compute_at("B", sch.get_loops("C")[0]),
        "elements of `B` that block `B` does not write before",
        differs=True,
    )


@T.prim_func
def panels_of_images(
    A: T.Buffer((3, 7, 6), "float32"),
    W: T.Buffer((5, 3), "float32"),
    C: T.Buffer((5, 7, 6), "float32"),
):
    panels = T.alloc_buffer((6, 3, 8))
    for k, p in T.grid(3, 42):
        with T.block("panels"):
            vk, vp = T.axis.remap("SS", [k, p])
            panels[vp // 8, vk, vp % 8] = A[vk, vp // 6, vp % 6]
    for p_0, i, p_1, k in T.grid(6, 5, 8, 3):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            vy = T.axis.spatial(7, (p_0 * 8 + p_1) // 6)
            vx = T.axis.spatial(6, (p_0 * 8 + p_1) % 6)
            vk = T.axis.reduce(3, k)
            T.where(p_0 * 8 + p_1 < 42)
            with T.init():
                C[vi, vy, vx] = T.float32(0)
            C[vi, vy, vx] += panels[(vy * 6 + vx) // 8, vk, (vy * 6 + vx) % 8] * W[vi, vk]


def test_the_number_of_a_pixel_is_one_value_though_its_row_and_column_are_two():
    """No more of the pixels is computed than one panel has."""
    sch = scheduled(panels_of_images, lambda sch: (sch.get_block("panels"), sch.get_loops("C")[0]))
    around, *loops = (sch.get(loop) for loop in sch.get_loops("panels"))
    assert around is sch.get(sch.get_loops("C")[0])
    assert [int(loop.extent.value) for loop in loops] == [3, 8]
