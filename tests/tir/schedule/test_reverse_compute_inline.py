"""reverse_compute_inline: a block merged into its producer."""

import pytest
from tests.tir.schedule.checking import (
    assert_equal_results,
    assert_refused,
    assert_same_meaning,
    assert_would_be_wrong,
    results_of,
)

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


def inlined(func, *blocks, sizes=None):
    sch = Schedule(func, debug_mask="all")
    for block in blocks:
        sch.reverse_compute_inline(block)
    assert_same_meaning(func, sch, sizes=sizes)
    return sch.mod["main"]


def refused(func, block, message, differs=False):
    assert_refused(
        func, lambda sch: lambda: sch.reverse_compute_inline(block), message, differs=differs
    )


@T.prim_func
def elementwise(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    B = T.alloc_buffer((8, 12))
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * B[vi, vj] + T.float32(1)


@T.prim_func
def elementwise_inlined(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    T.func_attr({"global_symbol": "elementwise"})
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2) * (A[vi, vj] * T.float32(2)) + T.float32(1)


def test_the_producer_stores_the_result():
    tvm.ir.assert_structural_equal(inlined(elementwise, "C"), elementwise_inlined)


def test_the_producer_keeps_its_loops_and_predicate():
    sch = Schedule(elementwise, debug_mask="all")
    sch.split(sch.get_loops("B")[1], [None, 5])
    sch.split(sch.get_loops("C")[0], [3, None])
    sch.reverse_compute_inline("C")
    assert_same_meaning(elementwise, sch)
    assert len(sch.get_loops("B")) == 3


@T.prim_func
def fused_index(A: T.Buffer((6, 4), "float32"), C: T.Buffer((1, 24), "float32")):
    B = T.alloc_buffer((6, 4))
    for i, j in T.grid(6, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for z, i in T.grid(1, 24):
        with T.block("C"):
            vz, vi = T.axis.remap("SS", [z, i])
            C[vz, vi] = B[vi // 4, vi % 4]


def test_an_affine_bijection_is_inverted():
    assert "C[0, vi * 4 + vj] = A[vi, vj]" in inlined(fused_index, "C").script()


@T.prim_func
def cropped(A: T.Buffer((10, 3), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((10, 3))
    for i, j in T.grid(10, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = B[vi + 2, 1]


def test_a_part_that_is_read_becomes_a_predicate():
    text = inlined(cropped, "C").script()
    assert "T.where(0 <= i - 2 and i - 2 < 6 and j == 1)" in text


@T.prim_func
def tiles_cropped(A: T.Buffer((16, 12), "float32"), C: T.Buffer((15, 10), "float32")):
    B = T.alloc_buffer((4, 3, 4, 4))
    for i0, j0, i1, j1 in T.grid(4, 3, 4, 4):
        with T.block("B"):
            vi, vj, vm, vn = T.axis.remap("SSSS", [i0, j0, i1, j1])
            B[vi, vj, vm, vn] = A[vi * 4 + vm, vj * 4 + vn] * T.float32(2)
    for i, j in T.grid(15, 10):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi // 4, vj // 4, vi % 4, vj % 4] + T.float32(1)


@T.prim_func
def every_third(A: T.Buffer((20,), "float32"), C: T.Buffer((5,), "float32")):
    B = T.alloc_buffer((20,))
    for i in range(20):
        with T.block("B"):
            vi = T.axis.spatial(20, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(5):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = B[vi * 3 + 2] + T.float32(1)


@T.prim_func
def every_third_backwards(A: T.Buffer((4, 20), "float32"), C: T.Buffer((5, 4), "float32")):
    B = T.alloc_buffer((4, 20))
    for i, j in T.grid(4, 20):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(5, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, 18 - vi * 3] + T.float32(1)


@T.prim_func
def rows_cropped(A: T.Buffer((128,), "float32"), c: T.handle):
    n = T.int32()
    C = T.match_buffer(c, (n,))
    T.evaluate(T.assume(n <= 100))
    B = T.alloc_buffer((8, 16))
    for i in range(128):
        with T.block("B"):
            vi = T.axis.spatial(128, i)
            B[vi // 16, vi % 16] = A[vi] * T.float32(2)
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = B[vi // 16, vi % 16] + T.float32(1)


@pytest.mark.parametrize(
    ("func", "predicate"),
    [
        (tiles_cropped, "T.where(i0 * 4 + i1 < 15 and j0 * 4 + j1 < 10)"),
        (every_third, "i == (i - 2) // 3 * 3 + 2)"),
        (every_third_backwards, "j == 18 - (18 - j) // 3 * 3)"),
    ],
)
def test_more_is_computed_than_an_injective_read_needs(func, predicate):
    after = inlined(func, "C")
    assert predicate in after.script()
    expected, found = results_of(func), results_of(func)
    for program, arrays in ((func, expected), (after, found)):
        tvm.build(program, target="llvm")(*arrays)
    assert_equal_results(expected, found)


def test_a_symbolic_part_of_the_rows():
    text = inlined(rows_cropped, "C", sizes={"n": 90}).script()
    assert "T.where(i < n)" in text


@T.prim_func
def chain(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4))
    C = T.match_buffer(c, (n, 4))
    B = T.alloc_buffer((n, 4))
    D = T.alloc_buffer((4, n))
    for i, j in T.grid(n, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(4, n):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vj, vi] - T.float32(1)
    for i, j in T.grid(n, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = D[vj, vi] + A[vi, vj]


def test_a_chain_with_symbolic_sizes():
    text = inlined(chain, "D", "C", sizes={"n": 5}).script()
    assert "alloc_buffer" not in text
    assert text.count("T.block(") == 2


@T.prim_func
def in_place(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = C[vi] + B[vi]


def test_an_update_in_place():
    assert "C[vi] = C[vi] + A[vi] * T.float32(2.0)" in inlined(in_place, "C").script()


@T.prim_func
def accumulating(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[7 - vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(vi > 0, C[vi - 1], T.float32(0)) + B[vi]


def test_instances_that_depend_on_each_other():
    refused(accumulating, "C", "instances of block `C` depend on each other", differs=True)


@T.prim_func
def last_one_wins(A: T.Buffer((8,), "float32"), C: T.Buffer((1,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[7 - vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[0] = B[vi]


def test_instances_that_write_one_element():
    refused(last_one_wins, "C", "several access one element of `C`", differs=True)


@T.prim_func
def disturbed(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("over"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.float32(100)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_an_output_that_is_written_in_between():
    refused(disturbed, "C", "block `over` writes `C` and may run between", differs=True)


@T.prim_func
def read_in_between(
    A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")
):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("reader"):
            vi = T.axis.spatial(8, i)
            D[vi] = C[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_an_output_that_is_read_in_between():
    refused(read_in_between, "C", "block `reader` reads `C` and may run between", differs=True)


@T.prim_func
def input_in_between(
    A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")
):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("writer"):
            vi = T.axis.spatial(8, i)
            A[vi] = T.float32(100)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + D[vi] * A[vi]


def test_several_producers():
    refused(input_in_between, "C", "must have exactly one producer in its scope, and has `B`, `wr")


@T.prim_func
def producer_reads_output(C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = C[7 - vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_a_producer_that_reads_the_output():
    refused(producer_reads_output, "C", "block `B` reads `C` and may run between", differs=True)


@T.prim_func
def two_readers(
    A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")
):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = B[vi]


def test_another_reader():
    refused(two_readers, "C", "block `D` accesses `B` as well, so the buffer must stay")


@T.prim_func
def stencil(
    A: T.Buffer((8,), "float32"), C: T.Buffer((8, 4), "float32"), D: T.Buffer((6,), "float32")
):
    B = T.alloc_buffer((8,))
    E = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i, j in T.grid(8, 4):
        with T.block("broadcast"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi]
    for i in range(8):
        with T.block("E"):
            vi = T.axis.spatial(8, i)
            E[vi] = A[vi]
    for i in range(6):
        with T.block("stencil"):
            vi = T.axis.spatial(6, i)
            D[vi] = E[vi] + E[vi + 2]


def test_several_instances_read_one_element():
    refused(stencil, "broadcast", "several instances read one element")


@T.prim_func
def more_than_is_written(A: T.Buffer((60,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((4, 16))
    for i in range(60):
        with T.block("B"):
            vi = T.axis.spatial(60, i)
            B[vi // 16, vi % 16] = A[vi] * T.float32(2)
    for i in range(64):
        with T.block("C"):
            vi = T.axis.spatial(64, i)
            C[vi] = B[vi // 16, vi % 16] + T.float32(1)


def test_more_is_read_than_an_injective_store_writes():
    def build(sch):
        return lambda: sch.compute_inline("B")

    message = "may read elements of `B` that block `B` does not write"
    assert_refused(more_than_is_written, build, message)
    refused(more_than_is_written, "C", "may read elements of `B` that block `B` does not")


def test_several_elements_are_read():
    refused(stencil, "stencil", "reads several elements of `E` to make one")


@T.prim_func
def reduction(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.max(B[vi], T.float32(0))


def test_a_reduction_as_the_producer():
    refused(reduction, "C", "block `B` is a reduction")


@T.prim_func
def own_reader(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi] = T.if_then_else(vj > 0, B[vi], T.float32(0)) + A[vi, vj]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_a_producer_that_reads_what_it_writes():
    refused(own_reader, "C", "block `B` reads `B` itself, so it needs the buffer")


@T.prim_func
def not_all_run(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.where(i < 5)
            C[vi] = B[vi]


def test_a_block_that_does_not_run_all_its_instances():
    refused(not_all_run, "C", "the loops around block `C` may not run all", differs=True)


@T.prim_func
def not_all_written(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(vi < 5, B[vi], T.float32(3))


def test_elements_that_are_not_written():
    refused(not_all_written, "C", "may read elements of `B` that block `B` does not", differs=True)


@T.prim_func
def output_between(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_a_buffer_that_is_an_output():
    refused(output_between, "C", "block `B` writes `B`, which is an output of the function")


@T.prim_func
def both_write(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("again"):
            vi = T.axis.spatial(8, i)
            B[vi] = B[vi] + A[vi]


def test_a_block_that_writes_its_input():
    refused(both_write, "again", "block `again` writes `B` as well")


@T.prim_func
def read_first(A: T.Buffer((8,), "float32"), C: T.Buffer((2, 8), "float32")):
    B = T.alloc_buffer((2, 8))
    for t in range(2):
        for i in range(8):
            with T.block("C"):
                vt, vi = T.axis.remap("SS", [t, i])
                C[vt, vi] = B[vt, vi]
        for i in range(8):
            with T.block("B"):
                vt, vi = T.axis.remap("SS", [t, i])
                B[vt, vi] = A[vi]


def test_a_read_before_the_producer():
    refused(read_first, "C", "block `C` reads `B` before block `B` writes it")


@T.prim_func
def index_reads(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.where(B[i] > 0)
            C[vi] = B[vi]


def test_a_read_outside_of_the_store():
    refused(index_reads, "C", "block `C` must read `B` in what it stores, and nowhere else")


@T.prim_func
def padded(A: T.Buffer((2,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((2,))
    for i in range(2):
        with T.block("B"):
            vi = T.axis.spatial(2, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = T.if_then_else(vi >= 1 and vi < 3, B[vi - 1], T.float32(7))


def test_instances_that_read_nothing_are_not_lost():
    with pytest.raises(ScheduleError, match="the others would not run any more"):
        Schedule(padded).reverse_compute_inline("C")
    assert_would_be_wrong(padded, lambda sch: sch.reverse_compute_inline("C"))


@T.prim_func
def repeated(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(4):
        for _ in range(i):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[vi] + T.float32(1)


def test_a_loop_that_no_iterator_is_bound_to_may_have_no_iteration():
    with pytest.raises(ScheduleError, match="may not run all of its instances"):
        Schedule(repeated).reverse_compute_inline("C")
    assert_would_be_wrong(repeated, lambda sch: sch.reverse_compute_inline("C"))


def test_an_alignment_of_the_buffer_disappears_with_it():
    sch = Schedule(cached, debug_mask="all")
    copy = sch.cache_read("B", 0, "global")
    sch.storage_align(copy, 0, 0, 4, 3)
    sch.reverse_compute_inline("B")
    assert not sch.get(copy).annotations
    assert_same_meaning(cached, sch)


@T.prim_func
def cached(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + T.float32(1)
