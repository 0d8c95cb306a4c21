"""Cutting loops into parts."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning
from tests.tir.schedule.loop_programs import plain_loops

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def double(A: T.Buffer((10, 3), "float32"), B: T.Buffer((10, 3), "float32")):
    for i, j in T.grid(10, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def partitioned(A: T.Buffer((10, 3), "float32"), B: T.Buffer((10, 3), "float32")):
    with T.block("root"):
        T.reads()
        T.writes()
        with T.block("B_i_common"):
            with T.block("B_i0_partition"):
                for i0, j in T.grid(2, 3):
                    with T.block("B_i0"):
                        vi = T.axis.spatial(10, i0)
                        vj = T.axis.spatial(3, j)
                        B[vi, vj] = A[vi, vj] * T.float32(2)
            with T.block("B_i1_partition"):
                for i1 in range(2, 7):
                    for j in range(3):
                        with T.block("B_i1"):
                            vi = T.axis.spatial(10, i1)
                            vj = T.axis.spatial(3, j)
                            B[vi, vj] = A[vi, vj] * T.float32(2)
            with T.block("B_i2_partition"):
                for i2 in range(7, 10):
                    for j in range(3):
                        with T.block("B_i2"):
                            vi = T.axis.spatial(10, i2)
                            vj = T.axis.spatial(3, j)
                            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def guarded_sum(A: T.Buffer((5, 10), "float32"), B: T.Buffer((5,), "float32")):
    for i, k0, k1 in T.grid(5, 3, 4):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            vk = T.axis.reduce(10, k0 * 4 + k1)
            T.where(k0 * 4 + k1 < 10)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def partitioned_sum(A: T.Buffer((5, 10), "float32"), B: T.Buffer((5,), "float32")):
    for i in range(5):
        with T.block("B_k0_common"):
            vi = T.axis.spatial(5, i)
            with T.block("B_k00_partition"):
                for k00, k1 in T.grid(2, 4):
                    with T.block("B_k00"):
                        wi = T.axis.spatial(5, vi)
                        vk = T.axis.reduce(10, k00 * 4 + k1)
                        with T.init():
                            B[wi] = T.float32(0)
                        B[wi] = B[wi] + A[wi, vk]
            with T.block("B_k01_partition"):
                T.reads(B[vi], A[vi, 8:10])
                T.writes(B[vi])
                for k01 in range(2, 3):
                    for k1 in range(4):
                        with T.block("B_k01"):
                            wi = T.axis.spatial(5, vi)
                            vk = T.axis.reduce(10, k01 * 4 + k1)
                            T.where(k01 * 4 + k1 < 10)
                            B[wi] = B[wi] + A[wi, vk]


@T.prim_func
def two_blocks(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    for i in range(6):
        with T.block("outer"):
            vi = T.axis.spatial(6, i)
            B = T.alloc_buffer((4,))
            for j in range(4):
                with T.block("B"):
                    vj = T.axis.spatial(4, j)
                    B[vj] = A[vi, vj] + T.float32(1)
            for j in range(4):
                with T.block("C"):
                    vj = T.axis.spatial(4, j)
                    C[vi, vj] = B[vj] * B[3 - vj]


@T.prim_func
def triangular(A: T.Buffer((6, 6), "float32"), B: T.Buffer((6, 6), "float32")):
    for i in range(6):
        for j in range(i + 3):
            for k in range(2):
                with T.block("B"):
                    vi = T.axis.spatial(6, i)
                    vj = T.axis.spatial(8, j)
                    vk = T.axis.reduce(2, k)
                    T.where(j < 6)
                    B[vi, vj] = B[vi, vj] * T.float32(2) + A[vi, vk]


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * T.float32(2)


@T.prim_func
def symbolic_and_more(c: T.handle, a: T.handle, b: T.handle):
    n = T.int64()
    C = T.match_buffer(c, (n,))
    A = T.match_buffer(a, (n % T.int64(4) + T.int64(3),))
    B = T.match_buffer(b, (n % T.int64(4) + T.int64(3),))
    for i in range(n % T.int64(4) + T.int64(3)):
        with T.block("B"):
            vi = T.axis.spatial(n % T.int64(4) + T.int64(3), i)
            B[vi] = A[vi] * C[0]


def partition(func, block, position, factors, **options):
    sch = Schedule(func, debug_mask="all")
    loop = sch.get_loops(block)[position]
    return sch, sch.loop_partition(loop, factors, **options)


def test_a_loop_is_cut_into_parts():
    sch, loops = partition(double, "B", 0, [2, 5])
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], partitioned)
    found = [(sch.get(loop).min.value, sch.get(loop).extent.value) for loop in loops]
    assert found == [(0, 2), (2, 5), (7, 3)]
    assert [sch.get(loop).loop_var.name for loop in loops] == ["i0", "i1", "i2"]
    assert_same_meaning(double, sch)


@pytest.mark.parametrize(
    ("factors", "extents"),
    [
        ([None, 4], [6, 4]),
        ([3, None, 2], [3, 5, 2]),
        ([10], [10]),
        ([4, 6], [4, 6]),
        ([None], [10]),
        ([1], [1, 9]),
    ],
)
def test_how_many_iterations_the_parts_have(factors, extents):
    sch, loops = partition(double, "B", 0, factors)
    assert [sch.get(loop).extent.value for loop in loops] == extents
    assert_same_meaning(double, sch)


def test_conditions_that_hold_in_a_part_disappear():
    sch, _ = partition(guarded_sum, "B", 1, [2])
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], partitioned_sum)
    assert_same_meaning(guarded_sum, sch)


def test_a_loop_inside_of_others_and_a_reduction():
    sch, _ = partition(guarded_sum, "B", 2, [1, None])
    assert_same_meaning(guarded_sum, sch)
    sch.split(sch.get_loops("B_k11")[0], [None, 2])
    assert_same_meaning(guarded_sum, sch)


def test_unit_parts_can_leave_the_bindings():
    sch, (unit, _) = partition(double, "B", 0, [1], preserve_unit_iters=False)
    assert "vi = T.axis.spatial(10, 0)" in sch.mod.script()
    assert sch.get(unit).extent.value == 1
    assert_same_meaning(double, sch)
    kept, _ = partition(double, "B", 0, [1])
    assert "vi = T.axis.spatial(10, i0)" in kept.mod.script()


def test_nested_blocks_and_their_buffers_are_copied():
    sch, loops = partition(two_blocks, "outer", 0, [2])
    assert len(loops) == 2
    names = {sch.get(sch.get_block(n)).name_hint for n in ("outer_i0", "B_i1", "C_i0")}
    assert len(names) == 3
    first, second = (
        sch.get(sch.get_block(name)).alloc_buffers[0] for name in ("outer_i0", "outer_i1")
    )
    assert first is not second
    assert first.data is not second.data
    assert_same_meaning(two_blocks, sch)


def test_a_loop_inside_of_a_block():
    sch, _ = partition(two_blocks, "C", 0, [3])
    assert_same_meaning(two_blocks, sch)


def test_a_loop_whose_extent_depends_on_another():
    sch, _ = partition(triangular, "B", 1, [2])
    assert_same_meaning(triangular, sch)
    sch, _ = partition(triangular, "B", 2, [1])
    script = sch.mod.script()
    assert 'with T.block("B_k_common")' in script
    assert "vj = T.axis.spatial(8, j)" in script
    assert_same_meaning(triangular, sch)


def test_a_symbolic_extent_that_is_large_enough():
    sch, loops = partition(symbolic_and_more, "B", 0, [2])
    assert len(loops) == 2
    assert_same_meaning(symbolic_and_more, sch, sizes={"n": 2})


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([], "needs at least one factor"),
        ([None, None], "only one factor of a partition may be None"),
        ([0, None], "the factors must be positive, got 0"),
        ([-1], "the factors must be positive, got -1"),
        ([6, 5], "loop `i` have 11 iterations, but its extent is 10"),
        ([10, None], "all that it has: nothing is left for None"),
    ],
)
def test_factors_that_do_not_fit_are_refused(factors, message):
    with pytest.raises(ScheduleError, match=message):
        partition(double, "B", 0, factors)


def test_a_symbolic_extent_that_may_be_less_is_refused():
    with pytest.raises(ScheduleError, match=r"extent is n\nCounterexample: n = 3: the parts"):
        partition(symbolic, "B", 0, [4, None])
    sch, _ = partition(symbolic, "B", 0, [None])
    assert_same_meaning(symbolic, sch, sizes={"n": 2})


def test_annotations_would_be_lost():
    sch = Schedule(double)
    loop = sch.get_loops("B")[0]
    sch.annotate(loop, "key", 1)
    with pytest.raises(ScheduleError, match="loop `i` has annotations, which would be lost"):
        sch.loop_partition(loop, [2])


def test_what_referred_to_the_whole_is_gone():
    sch = Schedule(double)
    block = sch.get_block("B")
    loop = sch.get_loops(block)[0]
    sch.loop_partition(loop, [2])
    for rv in (block, loop):
        with pytest.raises(ScheduleError, match="no longer exists"):
            sch.get(rv)


@T.prim_func
def rows(starts: T.Buffer((4,), "int32"), A: T.Buffer((8,), "float32")):
    for i in range(3):
        for j in range(starts[i + 1] - starts[i]):
            for k in range(4):
                with T.block("A"):
                    vj = T.axis.spatial(8, starts[i] + j)
                    vk = T.axis.reduce(4, k)
                    A[vj] = A[vj] * T.float32(2) + T.Cast("float32", vk)


def test_loops_of_unknown_bounds_around_the_loop_are_refused():
    with pytest.raises(ScheduleError, match="the bounds of loop `j` depend on data"):
        partition(rows, "A", 2, [2])


def test_a_loop_around_no_block():
    sch, j, _ = plain_loops()
    with pytest.raises(ScheduleError, match="`j` is inside of the body of block `row`"):
        sch.loop_partition(j, [1, 1])


def test_views_in_the_parts():
    @T.prim_func
    def viewed(A: T.Buffer((6, 4), "float32"), B: T.Buffer((6, 4), "float32")):
        for i in range(6):
            with T.block("row"):
                vi = T.axis.spatial(6, i)
                T.reads(A[vi, 0:4])
                T.writes(B[vi, 0:4])
                V = T.match_buffer(A[vi, 0:4], (4,), offset_factor=1)
                s = T.int32()
                W = T.match_buffer(B[vi, 0:4], (1, 4), strides=[s, 1], offset_factor=1)
                for j in range(4):
                    with T.block("B"):
                        vj = T.axis.spatial(4, j)
                        W[0, vj] = V[vj] * T.float32(2)

    sch = Schedule(viewed, debug_mask="all")
    sch.loop_partition(sch.get_loops("row")[0], [2])
    assert_same_meaning(viewed, sch)


def test_a_part_that_continues_a_reduction_reads_what_it_updates():
    sch = Schedule(guarded_sum, debug_mask="all")
    sch.loop_partition(sch.get_loops("B")[1], [2])
    sch.cache_write("B_k01_partition", 0, "local")
    assert sch.get(sch.get_block("B_local_load"))
    assert_same_meaning(guarded_sum, sch)
