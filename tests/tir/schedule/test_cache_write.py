"""Writing a buffer through another one."""

import pytest
from tests.tir.schedule.checking import (
    assert_equal_results,
    assert_refused,
    assert_same_meaning,
    assert_would_be_wrong,
    results_of,
)

import tilewright as tvm
from tilewright.error import InterpreterError
from tilewright.script import from_source
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def matmul(
    A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 7), "float32"), C: T.Buffer((5, 7), "float32")
):
    for i, j, k in T.grid(5, 7, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def matmul_cached(
    A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 7), "float32"), C: T.Buffer((5, 7), "float32")
):
    C_local = T.alloc_buffer((5, 7), scope="local")
    for i, j, k in T.grid(5, 7, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C_local[vi, vj] = T.float32(0)
            C_local[vi, vj] = C_local[vi, vj] + A[vi, vk] * B[vk, vj]
    for ax0, ax1 in T.grid(5, 7):
        with T.block("C_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            C[v0, v1] = C_local[v0, v1]


def scheduled(func):
    return Schedule(func, debug_mask="all")


def assert_module(sch, expected):
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], expected)


def test_a_reduction_with_its_start():
    sch = scheduled(matmul)
    copy = sch.cache_write("C", 0, "local")
    assert sch.get(copy).name_hint == "C_local"
    assert_module(sch, matmul_cached)
    assert_same_meaning(matmul, sch)


def test_loops_that_no_tile_divides():
    sch = scheduled(matmul)
    i, j, k = sch.get_loops("C")
    sch.split(i, [None, 2])
    sch.split(j, [None, 4])
    sch.split(k, [None, 4])
    sch.cache_write("C", "C", "global")
    assert_same_meaning(matmul, sch)


@T.prim_func
def three_steps(A: T.Buffer((12,), "float32"), D: T.Buffer((2, 12), "float32")):
    B = T.alloc_buffer((12,))
    for i in range(12):
        with T.block("B"):
            v = T.axis.spatial(12, i)
            B[v] = A[v] * T.float32(2)
    for i in range(12):
        with T.block("C"):
            v = T.axis.spatial(12, i)
            D[0, v] = B[v] + T.float32(1)
    for i in range(12):
        with T.block("D"):
            v = T.axis.spatial(12, i)
            D[1, v] = B[v] + T.float32(2)


@T.prim_func
def three_steps_cached(A: T.Buffer((12,), "float32"), D: T.Buffer((2, 12), "float32")):
    B = T.alloc_buffer((12,))
    B_local = T.alloc_buffer((12,), scope="local")
    for i in range(12):
        with T.block("B"):
            v = T.axis.spatial(12, i)
            B_local[v] = A[v] * T.float32(2)
    for ax0 in range(12):
        with T.block("B_local"):
            v0 = T.axis.spatial(12, ax0)
            B[v0] = B_local[v0]
    for i in range(12):
        with T.block("C"):
            v = T.axis.spatial(12, i)
            D[0, v] = B[v] + T.float32(1)
    for i in range(12):
        with T.block("D"):
            v = T.axis.spatial(12, i)
            D[1, v] = B_local[v] + T.float32(2)


def test_consumers_read_the_new_buffer_if_they_are_given():
    sch = scheduled(three_steps)
    sch.cache_write("B", 0, "local", consumer_blocks=["D"])
    assert_module(sch, three_steps_cached)
    assert_same_meaning(three_steps, sch)


def test_a_block_that_writes_a_part_beside_others():
    for name, position in (("C", "ax0"), ("D", "ax0 + 1")):
        sch = scheduled(three_steps)
        copy = sch.cache_write(name, 0, "local")
        row, _ = sch.get(copy).reads[0].region
        loops = [sch.get(rv) for rv in sch.get_loops(copy)]
        assert [item.extent.value for item in loops] == [1, 12]
        assert row.extent.value == 1
        first = sch.state.tree("main").realize(sch.get(copy)).iter_values[0]
        assert str(first) == position
        assert_same_meaning(three_steps, sch)


@T.prim_func
def per_row(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    B = T.alloc_buffer((12,))
    for i in range(3):
        for j in range(4):
            with T.block("B"):
                v = T.axis.spatial(12, i * 4 + j)
                B[v] = A[v] * T.float32(2)
        for j in range(4):
            with T.block("C"):
                v = T.axis.spatial(12, i * 4 + j)
                C[v] = B[v] + T.float32(1)


@T.prim_func
def per_row_cached(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    B = T.alloc_buffer((12,))
    B_shared = T.alloc_buffer((12,), scope="shared")
    for i in range(3):
        for j in range(4):
            with T.block("B"):
                v = T.axis.spatial(12, i * 4 + j)
                B_shared[v] = A[v] * T.float32(2)
        for ax0 in range(4):
            with T.block("B_shared"):
                v0 = T.axis.spatial(12, i * 4 + ax0)
                B[v0] = B_shared[v0]
        for j in range(4):
            with T.block("C"):
                v = T.axis.spatial(12, i * 4 + j)
                C[v] = B[v] + T.float32(1)


def test_the_copy_is_in_front_of_readers_in_the_same_loop():
    sch = scheduled(per_row)
    sch.cache_write("B", 0, "shared")
    assert_module(sch, per_row_cached)
    assert_same_meaning(per_row, sch)


def test_a_given_consumer_in_the_same_loop():
    sch = scheduled(per_row)
    sch.cache_write("B", 0, "shared", consumer_blocks=["C"])
    assert [r.buffer.name for r in sch.get(sch.get_block("C")).reads] == ["B_shared"]
    assert_same_meaning(per_row, sch)


@T.prim_func
def short(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i, j in T.grid(3, 4):
        with T.block("C"):
            v = T.axis.spatial(12, i * 4 + j)
            T.where(i * 4 + j < 10)
            C[v] = A[v]


def test_no_more_than_the_predicate_allows_is_copied():
    sch = scheduled(short)
    copy = sch.cache_write("C", 0, "local")
    (loop,) = sch.get_loops(copy)
    assert sch.get(loop).extent.value == 10
    assert_same_meaning(short, sch)


@T.prim_func
def backwards(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i, j in T.grid(3, 4):
        with T.block("C"):
            v = T.axis.spatial(12, i * 4 + j)
            C[11 - v] = A[v]


def test_descending_indices():
    sch = scheduled(backwards)
    sch.cache_write("C", 0, "local")
    assert_same_meaning(backwards, sch)


@T.prim_func
def every_other(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i in range(6):
        with T.block("C"):
            v = T.axis.spatial(6, i)
            T.writes(C[v * 2])
            C[v * 2] = A[v]


@T.prim_func
def some(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i in range(12):
        with T.block("C"):
            v = T.axis.spatial(12, i)
            if A[v] > T.float32(0):
                C[v] = A[v]


@T.prim_func
def lower_triangle(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(j <= i)
            C[vi, vj] = A[vi, vj]


@T.prim_func
def in_a_branch(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i in range(12):
        if i < 5:
            with T.block("C"):
                v = T.axis.spatial(12, i)
                C[v] = A[v]


@T.prim_func
def sometimes_at_all(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i, k in T.grid(12, 3):
        with T.block("C"):
            v, _vk = T.axis.remap("SR", [i, k])
            T.where(k > 3)
            C[v] = A[v]


@pytest.mark.parametrize("func", [every_other, some, lower_triangle, in_a_branch, sometimes_at_all])
def test_gaps_in_what_is_written_would_be_overwritten(func):
    with pytest.raises(ScheduleError, match="not proved that block `C` writes all elements of `C`"):
        scheduled(func).cache_write("C", 0, "local")
    sch = Schedule(func, enable_check=False)
    sch.cache_write("C", 0, "local")
    with pytest.raises(Exception, match="is read before anything was written"):
        results_of(sch.mod["main"])


@T.prim_func
def updated(A: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("A"):
            v = T.axis.spatial(6, i)
            A[v] = A[v] + T.float32(1)


@T.prim_func
def sums(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            T.reads(A[v], B[v - 1])
            T.writes(B[v])
            with T.init():
                B[v] = T.float32(0)
            if v > 0:
                B[v] = B[v - 1] + A[v]


@T.prim_func
def updated_cached(A: T.Buffer((6,), "float32")):
    A_local = T.alloc_buffer((6,), scope="local")
    for ax0 in range(6):
        with T.block("A_local_load"):
            v0 = T.axis.spatial(6, ax0)
            A_local[v0] = A[v0]
    for i in range(6):
        with T.block("A"):
            v = T.axis.spatial(6, i)
            A_local[v] = A_local[v] + T.float32(1)
    for ax0 in range(6):
        with T.block("A_local"):
            v0 = T.axis.spatial(6, ax0)
            A[v0] = A_local[v0]


@T.prim_func
def some_updated(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i in range(5):
        with T.block("C"):
            v = T.axis.spatial(5, i)
            if A[v * 2] > T.float32(0):
                C[v * 2] = C[v * 2 + 1] + A[v]


def test_a_block_that_updates_finds_what_others_wrote():
    sch = scheduled(updated)
    copy = sch.cache_write("A", 0, "local")
    assert sch.get(copy).name_hint == "A_local"
    assert_module(sch, updated_cached)


@pytest.mark.parametrize("func", [updated, sums, some_updated])
def test_updates(func):
    name = "A" if func is updated else "B" if func is sums else "C"
    sch = scheduled(func)
    sch.cache_write(name, 0, "local")
    assert_same_meaning(func, sch)
    expected, found = results_of(func), results_of(func)
    for program, arrays in ((func, expected), (sch.mod["main"], found)):
        tvm.build(program, target="llvm")(*arrays)
    assert_equal_results(expected, found)


@pytest.mark.parametrize("depth", range(3))
def test_updates_of_a_reduction_that_is_decomposed(depth):
    sch = scheduled(matmul)
    i, j, k = sch.get_loops("C")
    tiles = [*sch.split(j, [None, 4]), *sch.split(i, [None, 2])]
    sch.reorder(tiles[2], tiles[0], k, tiles[3], tiles[1])
    sch.decompose_reduction("C", sch.get_loops("C")[depth])
    copy = sch.cache_write("C_update", 0, "local")
    load = sch.get_block("C_local_load")
    loop = sch.get_loops("C_update")[1]
    if depth < 2:  # otherwise they are there already
        sch.reverse_compute_at(copy, loop)
        sch.compute_at(load, loop)
    assert len(sch.get_loops(load)) == len(sch.get_loops(copy)) == 4
    assert_same_meaning(matmul, sch)


def test_a_consumer_of_an_update():
    func = from_source("""
@T.prim_func
def func(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("A"):
            v = T.axis.spatial(6, i)
            A[v] = A[v] + T.float32(1)
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            B[v] = A[v] * T.float32(2)
""")
    sch = scheduled(func)
    sch.cache_write("A", 0, "local", consumer_blocks=["B"])
    assert [region.buffer.name for region in sch.get(sch.get_block("B")).reads] == ["A_local"]
    assert_same_meaning(func, sch)


def test_updates_at_once_that_would_undo_each_other():
    func = from_source("""
@T.prim_func
def func(A: T.Buffer((6,), "float32")):
    for i in T.parallel(2):
        for j in range(3):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vj * 2 + vi] = A[vj * 2 + vi] + T.float32(1)
        for j in range(3):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vj * 2 + vi] = A[vj * 2 + vi] * T.float32(2)
""")
    with pytest.raises(ScheduleError, match="run at once, and block `A` may not write all"):
        scheduled(func).cache_write("A", 0, "local")


@T.prim_func
def declared_update(A: T.Buffer((6, 3), "float32"), B: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 3):
        with T.block("B"):
            v, vk = T.axis.remap("SR", [i, k])
            T.reads(B[v], A[v, vk])
            T.writes(B[v])
            with T.init():
                B[v] = T.float32(0)
            B[v] = B[v] + A[v, vk]


def test_a_reduction_may_say_that_it_reads_what_it_updates():
    sch = scheduled(declared_update)
    sch.cache_write("B", 0, "local")
    assert [r.buffer.name for r in sch.get(sch.get_block("B")).reads] == ["B_local", "A"]
    assert_same_meaning(declared_update, sch)


@T.prim_func
def several_writers(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6,))
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            B[v] = A[v]
    for i in range(3):
        with T.block("other"):
            v = T.axis.spatial(6, i)
            B[v] = T.float32(7)
    for i in range(6):
        with T.block("C"):
            v = T.axis.spatial(6, i)
            C[v] = B[v]


def test_other_writers():
    for name in ("B", "other"):
        sch = scheduled(several_writers)
        sch.cache_write(name, 0, "local")
        assert_same_meaning(several_writers, sch)
    with pytest.raises(ScheduleError, match="`other` also writes `B`, so that block `C` may read"):
        scheduled(several_writers).cache_write("B", 0, "local", consumer_blocks=["C"])


@T.prim_func
def stale(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6,))
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            B[v] = A[v]
    for i in range(6):
        with T.block("C"):
            v = T.axis.spatial(6, i)
            C[v] = B[v]


def test_a_consumer_of_several_writers_would_miss_one():
    with pytest.raises(AssertionError):
        assert_equal_results(results_of(several_writers), results_of(stale))


@T.prim_func
def reads_more(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    C = T.alloc_buffer((6,))
    for i in range(4):
        with T.block("A"):
            v = T.axis.spatial(6, i)
            A[v] = T.float32(1)
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            B[v] = A[v]
    for i in range(4):
        with T.block("C"):
            v = T.axis.spatial(6, i)
            C[v] = A[v]


def test_a_consumer_that_reads_more_is_refused():
    with pytest.raises(ScheduleError, match="not proved that block `A` writes all that block `B`"):
        scheduled(reads_more).cache_write("A", 0, "local", consumer_blocks=["B"])
    sch = scheduled(reads_more)
    sch.cache_write("A", 0, "local", consumer_blocks=["C"])
    assert_same_meaning(reads_more, sch)
    sch = Schedule(reads_more, enable_check=False)
    sch.cache_write("A", 0, "local", consumer_blocks=["B"])
    with pytest.raises(Exception, match="is read before anything was written"):
        results_of(sch.mod["main"])


@T.prim_func
def read_before(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            B[v] = A[v]
    for i in range(6):
        with T.block("A"):
            v = T.axis.spatial(6, i)
            A[v] = T.float32(1)


def test_a_consumer_that_runs_before_is_refused():
    with pytest.raises(ScheduleError, match="block `B` runs before block `A`"):
        scheduled(read_before).cache_write("A", 0, "local", consumer_blocks=["B"])
    sch = scheduled(read_before)
    sch.cache_write("A", 0, "local")
    assert_same_meaning(read_before, sch)


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]


def test_symbolic_sizes():
    sch = scheduled(symbolic)
    sch.cache_write("B", 0, "local")
    assert_same_meaning(symbolic, sch, sizes={"n": 3, "m": 5})
    sch = scheduled(symbolic)
    i, j = sch.get_loops("B")
    sch.split(i, [None, 4])
    sch.split(j, [None, 4])
    sch.cache_write("B", 0, "local")
    assert_same_meaning(symbolic, sch, sizes={"n": 6, "m": 5})


@T.prim_func
def nested(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")):
    for i in range(2):
        with T.block("outer"):
            vo = T.axis.spatial(2, i)
            T.reads(A[vo * 4 : vo * 4 + 4, 0:6])
            T.writes(B[vo * 4 : vo * 4 + 4, 0:6])
            for j, k in T.grid(4, 6):
                with T.block("inner"):
                    vj, vk = T.axis.remap("SS", [j, k])
                    B[vo * 4 + vj, vk] = A[vo * 4 + vj, vk] + T.float32(1)


@pytest.mark.parametrize("name", ["outer", "inner"])
def test_nested_blocks(name):
    sch = scheduled(nested)
    copy = sch.cache_write(name, 0, "shared")
    loops = [sch.get(loop).extent.value for loop in sch.get_loops(copy)]
    assert loops == ([8, 6] if name == "outer" else [4, 6])
    assert_same_meaning(nested, sch)


@T.prim_func
def viewed(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")):
    for i in range(8):
        with T.block("outer"):
            vo = T.axis.spatial(8, i)
            T.reads(A[vo, 0:6])
            T.writes(B[vo, 0:6])
            V = T.match_buffer(B[vo, 0:6], (6,))
            for k in range(6):
                V[k] = A[vo, k]


def test_a_block_that_writes_through_a_view():
    sch = scheduled(viewed)
    sch.cache_write("outer", 0, "shared")
    assert_same_meaning(viewed, sch)


@T.prim_func
def half_viewed(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")):
    for i in range(8):
        with T.block("outer"):
            vo = T.axis.spatial(8, i)
            T.reads(A[vo, 0:6])
            T.writes(B[vo, 0:6])
            V = T.match_buffer(B[vo, 0:6], (6,))
            for k in range(3):
                V[k] = A[vo, k]


def test_a_view_that_is_written_in_part():
    with pytest.raises(ScheduleError, match="not proved that block `outer` writes all"):
        scheduled(half_viewed).cache_write("outer", 0, "shared")


@T.prim_func
def read_by_a_loop(A: T.Buffer((1,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(1):
        with T.block("A"):
            v = T.axis.spatial(1, i)
            A[v] = 4
    for i in range(A[0]):
        with T.block("C"):
            v = T.axis.spatial(4, i)
            C[v] = v


def test_a_buffer_that_bounds_of_loops_read_is_refused():
    with pytest.raises(ScheduleError, match="`root` has accesses of `A` that are in no block"):
        scheduled(read_by_a_loop).cache_write("A", 0, "local", consumer_blocks=[])


def test_wrong_arguments():
    with pytest.raises(ScheduleError, match="`C` writes 1 buffers, so there is none of index 1"):
        scheduled(matmul).cache_write("C", 1, "local")
    with pytest.raises(ScheduleError, match="there is no storage scope"):
        scheduled(matmul).cache_write("C", 0, "locale")
    with pytest.raises(ScheduleError, match="`root` is the root block"):
        scheduled(matmul).cache_write("root", 0, "local")
    with pytest.raises(ScheduleError, match="`B` does not read `B`"):
        scheduled(stale).cache_write("B", 0, "local", consumer_blocks=["B"])


@T.prim_func
def triangular_sums(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.reduce(4, j)
                T.where(j < i)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vj]


def test_a_reduction_that_has_no_instance_for_some_elements():
    with pytest.raises(ScheduleError, match="not proved that block `B` initialises all"):
        scheduled(triangular_sums).cache_write("B", 0, "local")
    assert_would_be_wrong(triangular_sums, lambda sch: sch.cache_write("B", 0, "local"))


@T.prim_func
def condition_on_two_loops(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2,), "float32")):
    for i, k in T.grid(2, 3):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(i * 3 + k < 4)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


def test_a_condition_on_loops_that_the_written_elements_do_not_tell():
    sch = Schedule(condition_on_two_loops, debug_mask="all")
    sch.cache_write("B", 0, "local")
    assert_same_meaning(condition_on_two_loops, sch)


@T.prim_func
def begun_by_another(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3,), "float32")):
    for i, k in T.grid(3, 2):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i, k in T.grid(3, 2):
        with T.block("D"):
            vi = T.axis.spatial(3, i)
            vk = T.axis.reduce(4, k + 2)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


def test_a_reduction_that_another_block_begins_is_refused():
    sch = Schedule(begun_by_another, debug_mask="all")
    with pytest.raises(ScheduleError, match="not proved that block `D` initialises all elements"):
        sch.cache_write("D", 0, "local")
    wrong = Schedule(begun_by_another, enable_check=False)
    wrong.cache_write("D", 0, "local")
    with pytest.raises(InterpreterError, match="is read before anything was written there"):
        results_of(wrong.mod["main"])


@pytest.mark.parametrize("bound", ["i + 1", "4"])
def test_reductions_that_are_begun(bound):
    func = from_source(
        "from tilewright.script import tir as T\n"
        "@T.prim_func\n"
        'def main(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3,), "float32")):\n'
        "    for i in range(3):\n"
        f"        for k in range({bound}):\n"
        '            with T.block("B"):\n'
        "                vi = T.axis.spatial(3, i)\n"
        "                vk = T.axis.reduce(4, k)\n"
        "                T.where(k < 1 or k < i)\n"
        "                with T.init():\n"
        "                    B[vi] = T.float32(0)\n"
        "                B[vi] = B[vi] + A[vi, vk]\n"
    )
    sch = Schedule(func, debug_mask="all")
    sch.cache_write("B", 0, "local")
    assert_same_meaning(func, sch)


@pytest.mark.parametrize(
    ("kinds", "start"),
    [("RR", "B[vi] = T.float32(0)"),
     ("SR", "if vi > 1:\n                    B[vi] = T.float32(0)")],
)  # fmt: skip
def test_an_init_that_does_not_reach_all_elements(kinds, start):
    assert_refused(
        sums_from(kinds, start),
        lambda sch: lambda: sch.cache_write("B", 0, "local"),
        "not proved that block `B` initialises all elements",
        fails=True,
    )


@pytest.mark.parametrize("start", ["B[0] = T.float32(0)", "B[T.min(vi, 2)] = T.float32(0)"])
def test_an_init_of_other_elements(start):
    func = sums_from("SR", start)
    sch = scheduled(func)
    sch.cache_write("B", 0, "local")
    assert_same_meaning(func, sch)


def sums_from(kinds, start):
    return from_source(f"""
@T.prim_func
def func(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("{kinds}", [i, k])
            with T.init():
                {start}
            B[vi] = B[vi] + A[vi, vk]
""")


def test_a_block_reads_its_own_result_from_the_cache():
    func = from_source("""
@T.prim_func
def func(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(B[vi], A[vi, vk])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
""")
    sch = Schedule(func)
    sch.cache_write("B", 0, "local", consumer_blocks=["B"])
    assert_same_meaning(func, sch)
