"""Memory that is staged, lifted out of loops, and filled only once."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning, assert_would_be_wrong

from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def blur(A: T.Buffer((12, 8), "float32"), C: T.Buffer((10, 8), "float32")):
    """Each iteration computes the three rows of B that it reads."""
    B = T.alloc_buffer((12, 8))
    for i in range(10):
        for i1, j in T.grid(3, 8):
            with T.block("B"):
                vi = T.axis.spatial(12, i + i1)
                vj = T.axis.spatial(8, j)
                B[vi, vj] = A[vi, vj] * T.float32(3)
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]


@T.prim_func
def matmul(
    A: T.Buffer((6, 8), "float32"), B: T.Buffer((8, 10), "float32"), C: T.Buffer((6, 10), "float32")
):
    for i, j, k in T.grid(6, 10, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def predicate(sch, name):
    tree = sch.state.tree(sch.mod.get_global_vars()[0].name_hint)
    return next(r.predicate for r in tree.blocks() if r.block.name_hint == name)


def test_a_sliding_window_computes_each_row_once():
    sch = Schedule(blur, debug_mask="all")
    i, _, _ = sch.get_loops("B")
    sch.add_guard("B", i)
    assert str(predicate(sch, "B")) == "i == 0 or i1 > 1"
    assert_same_meaning(blur, sch)


def test_windows_that_do_not_overlap():
    sch = Schedule(blur)
    _, i, _ = sch.get_loops("B")
    with pytest.raises(ScheduleError, match="computes again what the one before"):
        sch.add_guard("B", i)


def test_a_panel_is_packed_once_and_used_in_all_rows():
    sch = Schedule(matmul, debug_mask="all")
    i, j, k = sch.get_loops("C")
    outer, inner = sch.split(j, [None, 5])
    sch.reorder(outer, i, inner, k)
    (panel,) = sch.stage_mem(i, "B")
    sch.add_guard(panel, i)
    assert str(predicate(sch, "B_global")) == "i == 0"
    assert_same_meaning(matmul, sch)


@T.prim_func
def repeated_sum(A: T.Buffer((3, 6), "float32"), B: T.Buffer((1,), "float32")):
    for i, _again, j in T.grid(3, 2, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vi, vj]


def test_a_part_of_a_reduction_is_not_the_same_when_repeated():
    sch = Schedule(repeated_sum)
    _, again, _ = sch.get_loops("B")
    with pytest.raises(ScheduleError, match="repeat only a part of the reduction block `B`"):
        sch.add_guard("B", again)
    assert_would_be_wrong(repeated_sum, lambda s: s.add_guard("B", s.get_loops("B")[1]))


def test_a_whole_reduction_is_computed_once():
    @T.prim_func
    def repeated(A: T.Buffer((3, 6), "float32"), B: T.Buffer((1,), "float32")):
        for _again, i, j in T.grid(2, 3, 6):
            with T.block("B"):
                vi, vj = T.axis.remap("RR", [i, j])
                with T.init():
                    B[0] = T.float32(0)
                B[0] = B[0] + A[vi, vj]

    sch = Schedule(repeated, debug_mask="all")
    sch.add_guard("B", sch.get_loops("B")[0])
    assert str(predicate(sch, "B")) == "_again == 0"
    assert_same_meaning(repeated, sch)


def test_what_is_staged_and_copied_back():
    sch = Schedule(matmul, debug_mask="all")
    _, j, _ = sch.get_loops("C")
    (back,) = sch.stage_mem(j, "C", "local")
    assert sch.get(back).name_hint == "C_local"
    assert_same_meaning(matmul, sch)


def test_elements_that_are_only_updated_are_copied_in_first():
    @T.prim_func
    def update(A: T.Buffer((8,), "float32")):
        for i, j in T.grid(4, 2):
            with T.block("A"):
                vi = T.axis.spatial(8, i * 2 + j)
                A[vi] = A[vi] * T.float32(2) + T.float32(1)

    sch = Schedule(update, debug_mask="all")
    blocks = sch.stage_mem(sch.get_loops("A")[0], "A")
    assert [sch.get(b).name_hint for b in blocks] == ["A_global", "A_global_back"]
    assert_same_meaning(update, sch)


def test_a_part_that_is_not_written_as_a_whole():
    @T.prim_func
    def gaps(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,))
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi * 2] = A[vi * 2]
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi * 2] = B[vi * 2]

    sch = Schedule(gaps)
    sch.add_unit_loop(sch.get_loops("B")[0])
    with pytest.raises(ScheduleError, match="not proved that block `B` writes all elements"):
        sch.stage_mem(sch.get_loops("B")[0], "B")


def test_a_copy_back_under_a_parallel_loop():
    @T.prim_func
    def interleaved(A: T.Buffer((8,), "float32")):
        for i in T.parallel(2):
            for j in range(4):
                with T.block("A"):
                    vi = T.axis.spatial(2, i)
                    vj = T.axis.spatial(4, j)
                    A[vj * 2 + vi] = T.float32(1)

    sch = Schedule(interleaved)
    with pytest.raises(ScheduleError, match="an iteration of loop `i` does not write"):
        sch.stage_mem(sch.get_loops("A")[0], "A")


def test_buffers_that_are_not_there():
    sch = Schedule(matmul)
    with pytest.raises(ScheduleError, match="no one buffer 'D' is accessed") as info:
        sch.stage_mem(sch.get_loops("C")[0], "D")
    assert "blocks inside of it access `A`, `B`, `C`" in str(info.value)


def guards():
    @T.prim_func
    def changing(A: T.Buffer((4,), "float32"), C: T.Buffer((3, 4), "float32")):
        B = T.alloc_buffer((4,))
        for i in range(3):
            for j in range(4):
                with T.block("B"):
                    vj = T.axis.spatial(4, j)
                    B[vj] = A[vj] + T.float32(1)
            for j in range(4):
                with T.block("C"):
                    vi = T.axis.spatial(3, i)
                    vj = T.axis.spatial(4, j)
                    C[vi, vj] = B[vj]
            for j in range(4):
                with T.block("A"):
                    vj = T.axis.spatial(4, j)
                    A[vj] = A[vj] * T.float32(2)

    @T.prim_func
    def shared(A: T.Buffer((3, 4), "float32"), C: T.Buffer((2, 3, 4), "float32")):
        B = T.alloc_buffer((4,))
        for r, i in T.grid(2, 3):
            for j in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(3, i)
                    vj = T.axis.spatial(4, j)
                    B[vj] = A[vi, vj] + T.float32(1)
            for j in range(4):
                with T.block("C"):
                    vr = T.axis.spatial(2, r)
                    vi = T.axis.spatial(3, i)
                    vj = T.axis.spatial(4, j)
                    C[vr, vi, vj] = B[vj]

    return [
        (changing, 0, "block `A` writes `A` inside of loop `i`"),
        (shared, 0, "neither a complete nor a reduction block"),
    ]


@pytest.mark.parametrize(("func", "depth", "message"), guards())
def test_guards_that_would_keep_old_values(func, depth, message):
    def steps(sch):
        sch.add_guard("B", sch.get_loops("B")[depth])

    with pytest.raises(ScheduleError, match=message):
        steps(Schedule(func))
    assert_would_be_wrong(func, steps)


def test_guards_need_loops_around_the_block_that_run_in_order():
    sch = Schedule(blur)
    with pytest.raises(ScheduleError, match="is not around"):
        sch.add_guard("B", sch.get_loops("C")[1])
    i, _ = sch.get_loops("C")
    sch.parallel(i)
    with pytest.raises(ScheduleError, match="run at once"):
        sch.add_guard("B", i)


@T.prim_func
def scoped(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    for i in range(4):
        with T.block("rows"):
            vo = T.axis.spatial(4, i)
            B = T.alloc_buffer((8,))
            for j in range(8):
                with T.block("B"):
                    vj = T.axis.spatial(8, j)
                    B[vj] = A[vo, vj] * T.float32(2)
            for j in range(8):
                with T.block("C"):
                    vj = T.axis.spatial(8, j)
                    C[vo, vj] = B[7 - vj]


def test_an_allocation_is_lifted():
    sch = Schedule(scoped, debug_mask="all")
    sch.lift_alloc("rows", "B")
    assert [b.name for b in sch.get(sch.get_block("root")).alloc_buffers] == ["B"]
    assert sch.get(sch.get_block("rows")).alloc_buffers == ()
    assert_same_meaning(scoped, sch)


def test_allocations_that_cannot_be_lifted():
    sch = Schedule(scoped)
    with pytest.raises(ScheduleError, match="block `rows` does not allocate 'D'"):
        sch.lift_alloc("rows", "D")
    with pytest.raises(ScheduleError, match="`levels` must be at least 1"):
        sch.lift_alloc("rows", "B", levels=0)
    with pytest.raises(ScheduleError, match="is the outermost block"):
        sch.lift_alloc("rows", "B", levels=2)
    sch.parallel(sch.get_loops("rows")[0])
    with pytest.raises(ScheduleError, match="the iterations of loop `i` run at once") as info:
        sch.lift_alloc("rows", "B")
    assert (
        "B[0]: written by B at (vo=0, vj=0) in iteration i=0 and written by B at (vo=1, vj=0) in "
        "iteration i=1"
    ) in str(info.value)


def test_a_shape_that_depends_on_the_block():
    @T.prim_func
    def growing(A: T.Buffer((5, 5), "float32")):
        for i in range(4):
            with T.block("rows"):
                vo = T.axis.spatial(4, i)
                B = T.alloc_buffer((vo + 1,))
                for j in range(vo + 1):
                    with T.block("B"):
                        vj = T.axis.spatial(5, j)
                        B[vj] = A[vo, vj]

    sch = Schedule(growing)
    with pytest.raises(ScheduleError, match="depends on iterators of block `rows`"):
        sch.lift_alloc("rows", "B")


@T.prim_func
def strided(A: T.Buffer((8,), "float32"), C: T.Buffer((4, 3), "float32")):
    """Iterations compute every other element, and each one those that the one before did not."""
    B = T.alloc_buffer((8,))
    for i in range(4):
        for j in range(3):
            with T.block("B"):
                vi = T.axis.spatial(8, i + j * 2)
                B[vi] = A[vi] * T.float32(3)
        for j in range(3):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi + vj * 2]


@T.prim_func
def growing(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    """Each iteration computes one element more."""
    B = T.alloc_buffer((4,))
    for i in range(4):
        for j in range(i + 1):
            with T.block("B"):
                vj = T.axis.spatial(4, j)
                B[vj] = A[vj] * T.float32(3)
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]


def test_windows_with_gaps():
    def steps(sch):
        sch.add_guard("B", sch.get_loops("B")[0])

    with pytest.raises(ScheduleError, match="not proved that each iteration of loop `i` has what"):
        steps(Schedule(strided))
    assert_would_be_wrong(strided, steps)


def test_windows_that_grow():
    sch = Schedule(growing)
    with pytest.raises(ScheduleError, match="bounds of loops inside of loop `i` depend on it"):
        sch.add_guard("B", sch.get_loops("B")[0])


@T.prim_func
def changed_outside(A: T.Buffer((4,), "float32"), C: T.Buffer((3, 4), "float32")):
    B = T.alloc_buffer((4,))
    for i in range(3):
        A[0] = A[0] + T.float32(1)
        for j in range(4):
            with T.block("B"):
                vj = T.axis.spatial(4, j)
                B[vj] = A[vj] * T.float32(2)
        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj]


def test_inputs_that_are_changed_outside_of_blocks():
    def steps(sch):
        sch.add_guard("B", sch.get_loops("B")[0])

    with pytest.raises(ScheduleError, match="has accesses of `A` that are in no block"):
        steps(Schedule(changed_outside))
    assert_would_be_wrong(changed_outside, steps)


@T.prim_func
def total(A: T.Buffer((2, 6), "int32"), S: T.Buffer((1,), "int32")):
    for i, j in T.grid(2, 6):
        with T.block("S"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                S[0] = 0
            S[0] = S[0] + A[vi, vj]


def test_a_sum_that_begins_before_the_loop_is_copied_in():
    """Only the first of the outer iterations initialises what the others go on with."""
    sch = Schedule(total, debug_mask="all")
    sch.loop_partition(sch.get_loops("S")[1], [None, 3], preserve_unit_iters=False)
    (part,) = sch.get_loops("S_j0")
    assert len(sch.stage_mem(part, "S")) == 2
    assert_same_meaning(total, sch)


def test_a_cache_of_a_part_of_a_sum_begins_with_what_the_part_goes_on_with():
    sch = Schedule(total, debug_mask="all")
    sch.loop_partition(sch.get_loops("S")[1], [3, None], preserve_unit_iters=False)
    sch.cache_write("S_j0_partition", 0, "global")
    assert sch.get_block("S_global_load")
    assert_same_meaning(total, sch)
