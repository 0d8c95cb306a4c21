"""reverse_compute_at: a consumer moved under a loop of its producer."""

import pytest
from tests.tir.schedule.checking import assert_refused, assert_same_meaning, at
from tests.tir.schedule.loop_programs import rows

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


def scheduled(func, prepare, sizes=None, **options):
    sch = Schedule(func, debug_mask="all")
    block, loop = prepare(sch)
    sch.reverse_compute_at(block, loop, **options)
    assert_same_meaning(func, sch, sizes=sizes)
    return sch.mod.script()


def refused(func, prepare, message, differs=False, fails=False, **options):
    """The refusal; with `differs` or `fails`, what would have happened without."""

    def step(sch):
        block, loop = prepare(sch)
        return lambda: sch.reverse_compute_at(block, loop, **options)

    assert_refused(func, step, message, differs=differs, fails=fails)


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


@T.prim_func
def matmul_relu_tiled(
    A: T.Buffer((10, 6), "float32"), B: T.Buffer((6, 9), "float32"), D: T.Buffer((10, 9), "float32")
):
    T.func_attr({"global_symbol": "matmul_relu"})
    C = T.alloc_buffer((10, 9))
    for i_0, j_0 in T.grid(3, 3):
        for i_1, j_1, k in T.grid(4, 3, 6):
            with T.block("C"):
                vi = T.axis.spatial(10, i_0 * 4 + i_1)
                vj = T.axis.spatial(9, j_0 * 3 + j_1)
                vk = T.axis.reduce(6, k)
                T.where(i_0 * 4 + i_1 < 10)
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for ax0, ax1 in T.grid(4, 3):
            with T.block("D"):
                vi = T.axis.spatial(10, i_0 * 4 + ax0)
                vj = T.axis.spatial(9, j_0 * 3 + ax1)
                T.where(i_0 * 4 + ax0 < 10)
                D[vi, vj] = T.max(C[vi, vj], T.float32(0))


def test_an_epilogue_per_tile():
    sch = Schedule(matmul_relu, debug_mask="all")
    block, loop = at("D", "C", 1, 4, 3)(sch)
    sch.reverse_compute_at(block, loop)
    assert_same_meaning(matmul_relu, sch)
    tvm.ir.assert_structural_equal(sch.mod["main"], matmul_relu_tiled)


def test_loops_of_one_iteration_are_dropped_or_kept():
    text = scheduled(matmul_relu, at("D", "C", 1))
    assert "ax0" not in text
    text = scheduled(matmul_relu, at("D", "C", 1), preserve_unit_loops=True)
    assert "for ax0, ax1 in T.grid(1, 1):" in text


@T.prim_func
def matmul_add(
    A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 5), "float32"), D: T.Buffer((4, 5), "float32")
):
    C = T.alloc_buffer((4, 5))
    for i, j, k in T.grid(4, 5, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(4, 5):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = D[vi, vj] + C[vi, vj]


def test_a_part_of_a_reduction_is_not_enough():
    refused(
        matmul_add,
        at("D", "C", 2),
        "loop `k` would run some instances of block `D` several times(.|\n)*Counterexample: D at",
        differs=True,
    )


def test_a_parallel_loop_has_its_own_part():
    def prepare(sch):
        block, loop = at("D", "C", 1, 4, 3)(sch)
        sch.parallel(sch.get_loops("C")[0])
        return block, loop

    scheduled(matmul_relu, prepare)


@T.prim_func
def row_sums(A: T.Buffer((10, 6), "float32"), C: T.Buffer((10,), "float32")):
    B = T.alloc_buffer((10, 6))
    for i, j in T.grid(10, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(10, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi, vj]


def test_a_reduction_as_the_consumer():
    text = scheduled(row_sums, at("C", "B", 1, 4, 4))
    assert "T.where(i_0 * 4 + ax0 < 10 and j_0 * 4 + ax1 < 6)" in text
    scheduled(row_sums, at("C", "B", 1))


def test_a_reduction_in_a_parallel_loop():
    def prepare(sch):
        block, loop = at("C", "B", 0, 4, 4)(sch)
        _, j_0, *_ = sch.get_loops("B")
        sch.reorder(j_0, loop)
        sch.parallel(j_0)
        return block, loop

    refused(row_sums, prepare, "the iterations of loop `j_0` cannot run in parallel")


@T.prim_func
def stencil(A: T.Buffer((12,), "float32"), C: T.Buffer((10,), "float32")):
    B = T.alloc_buffer((12,))
    for i in range(12):
        with T.block("B"):
            vi = T.axis.spatial(12, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(10):
        with T.block("C"):
            vi = T.axis.spatial(10, i)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]


def test_a_stencil_runs_as_soon_as_its_last_input_is_there():
    text = scheduled(stencil, at("C", "B", 0, 4))
    assert "vi = T.axis.spatial(10, i_0 * 4 + ax0 - 2)" in text


def test_a_stencil_reads_what_other_iterations_wrote():
    def prepare(sch):
        block, loop = at("C", "B", 0, 4)(sch)
        sch.parallel(loop)
        return block, loop

    refused(stencil, prepare, "the iterations of loop `i_0` cannot run in parallel")


@T.prim_func
def backwards(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.opaque(8, i)
            C[vi] = B[vi] + B[7 - vi]


def test_an_input_that_comes_later():
    refused(
        backwards,
        at("C", "B", 0),
        "(.|\n)*Counterexample: C at",
        fails=True,
    )


@T.prim_func
def broadcast(
    A: T.Buffer((8,), "float32"), b: T.Buffer((3,), "float32"), C: T.Buffer((8, 3), "float32")
):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i, j in T.grid(8, 3):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi] + b[vj]


def test_an_iterator_that_the_read_does_not_mention_keeps_its_domain():
    assert "for ax0, ax1 in T.grid(4, 3):" in scheduled(broadcast, at("C", "B", 0, 4))


@T.prim_func
def chain(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4))
    C = T.match_buffer(c, (n, 4))
    B = T.alloc_buffer((n, 4))
    D = T.alloc_buffer((n, 4))
    for i, j in T.grid(n, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] * B[vi, vj]
    for i, j in T.grid(n, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = D[vi, 3 - vj] + B[vi, vj]


def test_a_chain_with_a_symbolic_size():
    sch = Schedule(chain, debug_mask="all")
    i_0, _ = sch.split(sch.get_loops("B")[0], [None, 4])
    sch.reverse_compute_at("D", i_0)
    sch.reverse_compute_at("C", i_0)
    for n in (3, 8):
        assert_same_meaning(chain, sch, sizes={"n": n})


def test_positions_in_the_loop():
    def prepare(sch):
        i = sch.get_loops("B")[0]
        sch.reverse_compute_at("D", i)
        return sch.get_block("C"), i

    refused(chain, prepare, "cannot be put at position 1 of loop `i`: positions 2 to 2", index=1)
    assert "C" in scheduled(chain, prepare, sizes={"n": 3}, index=-2)


def test_the_first_and_the_last_position():
    @T.prim_func
    def three(
        A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")
    ):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
            with T.block("D"):
                vi = T.axis.spatial(8, i)
                D[vi] = A[vi]
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[vi]

    for index, expected in ((-1, "BDC"), (-2, "BCD"), (1, "BCD"), (2, "BDC")):
        sch = Schedule(three, debug_mask="all")
        sch.reverse_compute_at("C", sch.get_loops("B")[0], index=index)
        assert_same_meaning(three, sch)
        blocks = sch.get_child_blocks(sch.get_block("root"))
        assert "".join(sch.get(block).name_hint for block in blocks) == expected


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
    refused(
        disturbed,
        at("C", "B", 0),
        r"block `C` cannot run in loop `i`: that breaks a dependence(.|\n)*C\[0\]: written by",
        differs=True,
    )


@T.prim_func
def partly_read(A: T.Buffer((8, 2), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i, j in T.grid(8, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi // 2]


def test_a_quotient_as_the_index():
    scheduled(partly_read, at("C", "B", 0))


def test_a_loop_without_a_producer():
    refused(
        matmul_relu,
        lambda s: (s.get_block("C"), s.get_loops("D")[0]),
        "nothing inside of loop `i` writes what block `C` reads",
    )


def test_data_dependent_reads():
    @T.prim_func
    def gather(
        A: T.Buffer((8,), "float32"), X: T.Buffer((8,), "int32"), C: T.Buffer((8,), "float32")
    ):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[T.bitwise_and(X[vi], 7)]

    refused(gather, at("C", "B", 0), "loop `i` would run some instances of block `C` several")


@T.prim_func
def feedback(A: T.Buffer((4,), "float32"), D: T.Buffer((2, 4), "float32")):
    B = T.alloc_buffer((4,))
    C = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("zero"):
            vi = T.axis.spatial(4, i)
            C[vi] = T.float32(0)
    for t in range(2):
        for i in range(4):
            for _j in range(1):
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    B[vi] = A[vi]
                with T.block("D"):
                    vt, vi = T.axis.remap("SS", [t, i])
                    D[vt, vi] = C[vi]
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[vi]


def test_no_place_behind_the_producer_and_before_the_consumer():
    refused(
        feedback,
        lambda s: (s.get_block("C"), s.get_loops("B")[1]),
        "there is no place in loop `i` for block `C`",
    )


def test_blocks_that_cannot_move():
    sch = Schedule(rows)
    (i,) = sch.get_loops("row")
    with pytest.raises(ScheduleError, match="the root block cannot be moved"):
        sch.reverse_compute_at("root", i)
    with pytest.raises(ScheduleError, match="`B` and loop `i` must be in the same block"):
        sch.reverse_compute_at("B", i)


@T.prim_func
def neighbours(
    A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32"), C: T.Buffer((4,), "float32")
):
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi] + B[vi + 1]


def test_the_place_of_instances_is_the_same_without_proofs():
    found = []
    for checked in (True, False):
        sch = Schedule(neighbours, debug_mask="all", enable_check=checked)
        sch.reverse_compute_at("C", sch.get_loops("B")[0])
        found.append(sch.mod)
        assert_same_meaning(neighbours, sch)
    tvm.ir.assert_structural_equal(*found)
