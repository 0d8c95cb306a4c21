"""Reading a buffer through a copy."""

import pytest
from tests.tir.schedule.checking import assert_equal_results, assert_same_meaning, results_of

import tilewright as tvm
from tilewright.script import ir as I
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def two_steps(A: T.Buffer((6, 5), "float32"), C: T.Buffer((6, 5), "float32")):
    B = T.alloc_buffer((6, 5))
    for i, j in T.grid(6, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(6, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + A[vi, vj]


@T.prim_func
def two_steps_cached(A: T.Buffer((6, 5), "float32"), C: T.Buffer((6, 5), "float32")):
    B = T.alloc_buffer((6, 5))
    B_shared = T.alloc_buffer((6, 5), scope="shared")
    A_local = T.alloc_buffer((6, 5), scope="local")
    for ax0, ax1 in T.grid(6, 5):
        with T.block("A_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_local[v0, v1] = A[v0, v1]
    for i, j in T.grid(6, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A_local[vi, vj] * T.float32(2)
    for ax0, ax1 in T.grid(6, 5):
        with T.block("B_shared"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B_shared[v0, v1] = B[v0, v1]
    for i, j in T.grid(6, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B_shared[vi, vj] + A_local[vi, vj]


def scheduled(func):
    return Schedule(func, debug_mask="all")


def assert_module(sch, expected):
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], expected)


def test_all_readers_in_the_scope_read_the_copy():
    sch = scheduled(two_steps)
    sch.cache_read("C", "B", "shared")
    copy = sch.cache_read("C", 1, "local")
    assert sch.get(copy).name_hint == "A_local"
    assert_module(sch, two_steps_cached)
    assert_same_meaning(two_steps, sch)


def test_only_the_given_blocks_read_the_copy():
    sch = scheduled(two_steps)
    sch.cache_read("B", 0, "local", consumer_blocks=["C"])
    reads = {name: [r.buffer.name for r in sch.get(sch.get_block(name)).reads] for name in "BC"}
    assert reads == {"B": ["A"], "C": ["B", "A_local"]}
    order = [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]
    assert order == ["B", "A_local", "C"]
    assert_same_meaning(two_steps, sch)


def test_a_buffer_is_given_itself():
    sch = scheduled(two_steps)
    sch.cache_read("C", two_steps.buffer_map[two_steps.params[0]], "")
    assert "A_global" in sch.mod["main"].script()


@T.prim_func
def windows(A: T.Buffer((20,), "float32"), B: T.Buffer((10,), "float32")):
    for i, j in T.grid(3, 4):
        with T.block("B"):
            v = T.axis.spatial(10, i * 4 + j)
            T.where(i * 4 + j < 10)
            T.reads(A[v + 2 : v + 5])
            B[v] = A[v + 2] + A[v + 3] + A[v + 4]


@T.prim_func
def windows_cached(A: T.Buffer((20,), "float32"), B: T.Buffer((10,), "float32")):
    A_global = T.alloc_buffer((20,))
    for ax0 in range(14):
        with T.block("A_global"):
            v0 = T.axis.spatial(20, ax0 + 2)
            A_global[v0] = A[v0]
    for i, j in T.grid(3, 4):
        with T.block("B"):
            v = T.axis.spatial(10, i * 4 + j)
            T.where(i * 4 + j < 10)
            T.reads(A_global[v + 2 : v + 5])
            B[v] = A_global[v + 2] + A_global[v + 3] + A_global[v + 4]


def test_only_the_region_that_is_read_is_copied():
    sch = scheduled(windows)
    sch.cache_read("B", 0, "global")
    assert_module(sch, windows_cached)
    assert_same_meaning(windows, sch)


@T.prim_func
def padded(A: T.Buffer((7,), "float32"), B: T.Buffer((7,), "float32")):
    for i in range(7):
        with T.block("B"):
            v = T.axis.spatial(7, i)
            T.reads(A[v - 1 : v + 2])
            B[v] = T.if_then_else(T.And(v > 0, v < 6), A[v - 1] + A[v + 1], T.float32(0))


def test_the_region_is_clipped_to_the_buffer():
    sch = scheduled(padded)
    copy = sch.cache_read("B", 0, "global")
    (loop,) = sch.get_loops(copy)
    assert sch.get(loop).extent.value == 7
    assert_same_meaning(padded, sch)


@T.prim_func
def partly_written(C: T.Buffer((10,), "float32")):
    B = T.alloc_buffer((12,))
    for i, j in T.grid(3, 4):
        with T.block("B"):
            v = T.axis.spatial(12, i * 4 + j)
            T.where(i * 4 + j < 10)
            B[v] = T.float32(1)
    for i, j in T.grid(3, 4):
        with T.block("C"):
            v = T.axis.spatial(10, i * 4 + j)
            T.where(i * 4 + j < 10)
            C[v] = B[v]


def test_what_a_predicate_leaves_out_is_not_copied():
    sch = scheduled(partly_written)
    sch.cache_read("C", 0, "global")
    assert_same_meaning(partly_written, sch)


@T.prim_func
def per_row(D: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    A = T.alloc_buffer((12,))
    B = T.alloc_buffer((12,))
    for i in range(3):
        for j in range(4):
            with T.block("A"):
                vi = T.axis.spatial(12, i * 4 + j)
                A[vi] = T.float32(3) * D[vi]
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(12, i * 4 + j)
                B[vi] = A[vi] + T.float32(1)
    for i in range(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = A[vi] + B[vi]


@T.prim_func
def per_row_cached(D: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    A = T.alloc_buffer((12,))
    B = T.alloc_buffer((12,))
    A_global = T.alloc_buffer((12,))
    for i in range(3):
        for j in range(4):
            with T.block("A"):
                vi = T.axis.spatial(12, i * 4 + j)
                A[vi] = T.float32(3) * D[vi]
        for ax0 in range(4):
            with T.block("A_global"):
                v0 = T.axis.spatial(12, i * 4 + ax0)
                A_global[v0] = A[v0]
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(12, i * 4 + j)
                B[vi] = A_global[vi] + T.float32(1)
    for i in range(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = A_global[vi] + B[vi]


def test_a_copy_in_a_loop_serves_readers_behind_the_loop():
    sch = scheduled(per_row)
    sch.cache_read("B", 0, "global")
    assert_module(sch, per_row_cached)
    assert_same_meaning(per_row, sch)


@T.prim_func
def some_rows(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i in range(2):
        for j in range(4):
            with T.block("A"):
                vi = T.axis.spatial(12, i * 4 + j)
                A[vi] = T.float32(3)
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(12, i * 4 + j)
                C[vi] = A[vi] + T.float32(1)
    for i in range(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = A[vi]


def test_a_reader_behind_a_loop_of_more_than_the_loop_copies_is_refused():
    with pytest.raises(ScheduleError, match="not proved that the copies in front of loop `j`"):
        scheduled(some_rows).cache_read("B", 0, "global")
    sch = Schedule(some_rows, enable_check=False)
    sch.cache_read("B", 0, "global")
    with pytest.raises(Exception, match=r"A_global\[8\] is read before anything was written"):
        results_of(sch.mod["main"])
    sch = scheduled(some_rows)
    sch.cache_read("B", 0, "global", consumer_blocks=["B"])
    assert_same_meaning(some_rows, sch)


@T.prim_func
def parallel_rows(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i in T.parallel(3):
        for j in range(4):
            with T.block("A"):
                vi = T.axis.spatial(12, i * 4 + j)
                A[vi] = T.float32(3)
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(12, i * 4 + j)
                C[vi] = A[vi] + T.float32(1)
    for i in range(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = A[vi]


def test_readers_behind_a_parallel_loop_do_not_share_its_copies():
    with pytest.raises(ScheduleError, match="not proved that the copies"):
        scheduled(parallel_rows).cache_read("B", 0, "global")


@T.prim_func
def written_twice(A: T.Buffer((4,), "float32"), C: T.Buffer((2, 4), "float32")):
    for i in range(4):
        with T.block("first"):
            v = T.axis.spatial(4, i)
            A[v] = T.float32(1)
    for i in range(4):
        with T.block("second"):
            v = T.axis.spatial(4, i)
            A[v] = A[v] * T.float32(2)
    for i in range(4):
        with T.block("early"):
            v = T.axis.spatial(4, i)
            C[0, v] = A[v]
    for i in range(4):
        with T.block("third"):
            v = T.axis.spatial(4, i)
            A[v] = A[v] * T.float32(2)
    for i in range(4):
        with T.block("late"):
            v = T.axis.spatial(4, i)
            C[1, v] = A[v]


def test_readers_of_one_value_of_a_buffer_that_is_written_several_times():
    for name in ("early", "late"):
        sch = scheduled(written_twice)
        sch.cache_read(name, 0, "global", consumer_blocks=[name])
        assert_same_meaning(written_twice, sch)


def test_a_writer_between_two_readers_is_refused():
    with pytest.raises(
        ScheduleError, match="`third` writes the buffer after the copy and before block `late`"
    ) as error:
        scheduled(written_twice).cache_read("late", 0, "global")
    assert "third at (v=0) writes A[0]; then late at (v=0) reads A[0]" in str(error.value)


@T.prim_func
def missing_third(A: T.Buffer((4,), "float32"), C: T.Buffer((2, 4), "float32")):
    A_global = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("second"):
            v = T.axis.spatial(4, i)
            A[v] = T.float32(2)
    for i in range(4):
        with T.block("copy"):
            v = T.axis.spatial(4, i)
            A_global[v] = A[v]
    for i in range(4):
        with T.block("early"):
            v = T.axis.spatial(4, i)
            C[0, v] = A_global[v]
    for i in range(4):
        with T.block("third"):
            v = T.axis.spatial(4, i)
            A[v] = A[v] * T.float32(2)
    for i in range(4):
        with T.block("late"):
            v = T.axis.spatial(4, i)
            C[1, v] = A_global[v]


def test_a_copy_from_before_a_writer_would_be_wrong():
    with pytest.raises(AssertionError):
        assert_equal_results(results_of(written_twice), results_of(missing_third))


def test_a_block_that_updates_the_buffer_is_refused():
    with pytest.raises(ScheduleError, match=r"`third` also writes `A`.*copy would not change"):
        scheduled(written_twice).cache_read("third", 0, "global")
    with pytest.raises(ScheduleError, match="`third` also writes `A`"):
        scheduled(written_twice).cache_read("late", 0, "global", consumer_blocks=["third"])


@T.prim_func
def written_behind(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i in range(3):
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(12, i * 4 + j)
                C[vi] = A[vi] + T.float32(1)
        for j in range(4):
            with T.block("A"):
                vi = T.axis.spatial(12, i * 4 + j)
                A[vi] = T.float32(3)
    for i in range(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = C[vi] + A[vi]


def test_a_writer_behind_a_copy_in_a_loop_is_refused_for_readers_behind_the_loop():
    with pytest.raises(ScheduleError, match="`A` writes the buffer after the copy and before"):
        scheduled(written_behind).cache_read("B", 0, "global")
    sch = scheduled(written_behind)
    sch.cache_read("B", 0, "global", consumer_blocks=["B"])
    assert_same_meaning(written_behind, sch)


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
    sch.cache_read("B", 0, "shared.dyn")
    assert_same_meaning(symbolic, sch, sizes={"n": 3, "m": 5})


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


@T.prim_func
def nested_cached(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")):
    for i in range(2):
        with T.block("outer"):
            vo = T.axis.spatial(2, i)
            T.reads(A[vo * 4 : vo * 4 + 4, 0:6])
            T.writes(B[vo * 4 : vo * 4 + 4, 0:6])
            A_shared = T.alloc_buffer((8, 6), scope="shared")
            for ax0, ax1 in T.grid(4, 6):
                with T.block("A_shared"):
                    v0 = T.axis.spatial(8, vo * 4 + ax0)
                    v1 = T.axis.spatial(6, ax1)
                    A_shared[v0, v1] = A[v0, v1]
            for j, k in T.grid(4, 6):
                with T.block("inner"):
                    vj, vk = T.axis.remap("SS", [j, k])
                    B[vo * 4 + vj, vk] = A_shared[vo * 4 + vj, vk] + T.float32(1)


def test_inside_of_a_block():
    sch = scheduled(nested)
    sch.cache_read("inner", 0, "shared")
    assert_module(sch, nested_cached)
    assert_same_meaning(nested, sch)


def test_for_a_block_with_blocks_inside():
    sch = scheduled(nested)
    sch.cache_read("outer", 0, "shared")
    assert [r.buffer.name for r in sch.get(sch.get_block("inner")).reads] == ["A_shared"]
    assert_same_meaning(nested, sch)


def test_consumers_are_in_the_scope_and_read_the_buffer():
    with pytest.raises(ScheduleError, match="`inner` is not in the same scope"):
        scheduled(nested).cache_read("outer", 0, "shared", consumer_blocks=["inner"])
    with pytest.raises(ScheduleError, match="`root` is not in the same scope"):
        scheduled(nested).cache_read("outer", 0, "shared", consumer_blocks=["root"])
    with pytest.raises(ScheduleError, match="`B` does not read `B`"):
        scheduled(two_steps).cache_read("C", 0, "shared", consumer_blocks=["B"])


@T.prim_func
def viewed(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")):
    for i in range(2):
        with T.block("outer"):
            vo = T.axis.spatial(2, i)
            T.reads(A[vo * 4 : vo * 4 + 4, 0:6])
            T.writes(B[vo * 4 : vo * 4 + 4, 0:6])
            V = T.match_buffer(A[vo * 4 : vo * 4 + 4, 0:6], (4, 6))
            for j, k in T.grid(4, 6):
                with T.block("inner"):
                    vj, vk = T.axis.remap("SS", [j, k])
                    B[vo * 4 + vj, vk] = V[vj, vk] + T.float32(1)


def test_views_of_the_buffer_become_views_of_the_copy():
    sch = scheduled(viewed)
    sch.cache_read("outer", 0, "shared")
    (match,) = sch.get(sch.get_block("outer")).match_buffers
    assert (match.source.buffer.name, match.buffer.scope()) == ("A_shared", "shared")
    assert_same_meaning(viewed, sch)


def test_a_view_is_refused():
    with pytest.raises(ScheduleError, match="`V` is a view of `A` that block `outer` makes"):
        scheduled(viewed).cache_read("inner", 0, "shared")


@T.prim_func
def strided(a: T.handle, B: T.Buffer((4, 6), "float32")):
    A = T.match_buffer(a, (4, 6), "float32", strides=(8, 1))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi, 0:6])
            T.writes(B[vi, 0:6])
            V = T.match_buffer(A[vi, 0:6], (1, 6), strides=(8, 1))
            for j in range(6):
                B[vi, j] = V[0, j]


def test_a_view_with_strides_that_the_copy_does_not_have_is_refused():
    with pytest.raises(ScheduleError, match="uses the pointer of `A`, whose strides or offset"):
        scheduled(strided).cache_read("B", 0, "global")


@T.prim_func
def aliased(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    B = T.Buffer((6,), "float32", data=A.data)
    for i in range(6):
        with T.block("write"):
            v = T.axis.spatial(6, i)
            B[v] = T.float32(1)
    for i in range(6):
        with T.block("read"):
            v = T.axis.spatial(6, i)
            C[v] = A[v]


def test_a_buffer_that_shares_its_memory_is_refused():
    with pytest.raises(ScheduleError, match="`A` shares its memory with `B`, which block `write`"):
        scheduled(aliased).cache_read("read", 0, "global")


@T.prim_func
def outside_of_blocks(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in range(6):
        A[i] = T.float32(3)
        with T.block("C"):
            v = T.axis.spatial(6, i)
            C[v] = A[v]


@T.prim_func
def filled_outside_of_blocks(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6,))
    for i in range(6):
        B[i] = A[i] * T.float32(2)
    for i in range(6):
        with T.block("C"):
            v = T.axis.spatial(6, i)
            C[v] = B[v] + T.float32(1)
    B[0] = T.float32(0)


@T.prim_func
def filled_in_a_block_around(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    for i in range(4):
        with T.block("row"):
            vi = T.axis.spatial(4, i)
            B = T.alloc_buffer((6,))
            for j in range(6):
                if j > 2:
                    B[j] = A[vi, j]
                else:
                    B[j] = T.float32(0)
            for j in range(6):
                with T.block("C"):
                    vj = T.axis.spatial(6, j)
                    C[vi, vj] = B[vj] + T.float32(1)


@pytest.mark.parametrize(
    ("func", "depth"),
    [(outside_of_blocks, 1), (filled_outside_of_blocks, 0), (filled_in_a_block_around, 0)],
)
def test_the_copy_is_behind_stores_outside_of_blocks(func, depth):
    sch = scheduled(func)
    copy = sch.cache_read("C", 0, "global")
    assert len(sch.get_loops(copy)) == depth + 1
    assert_same_meaning(func, sch)
    expected, found = results_of(func), results_of(func)
    for program, arrays in ((func, expected), (sch.mod["main"], found)):
        tvm.build(program, target="llvm")(*arrays)
    assert_equal_results(expected, found)


@T.prim_func
def stored_between(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32"),
                   C: T.Buffer((6,), "float32")):  # fmt: skip
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            B[v] = A[v]
    A[3] = T.float32(30)
    for i in range(6):
        with T.block("C"):
            v = T.axis.spatial(6, i)
            C[v] = A[v]


def test_a_store_outside_of_blocks_between_readers_is_refused():
    with pytest.raises(ScheduleError, match="outside of blocks writes the buffer after the copy"):
        scheduled(stored_between).cache_read("B", 0, "global")
    sch = scheduled(stored_between)
    sch.cache_read("B", 0, "global", consumer_blocks=["B"])
    sch.cache_read("C", 0, "global", consumer_blocks=["C"])
    assert_same_meaning(stored_between, sch)


@T.prim_func
def stored_in_a_loop_before_readers(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32"),
                                    C: T.Buffer((6,), "float32")):  # fmt: skip
    for i in range(6):
        A[i] = T.float32(3)
        with T.block("B"):
            v = T.axis.spatial(6, i)
            B[v] = A[v]
    for i in range(6):
        with T.block("C"):
            v = T.axis.spatial(6, i)
            C[v] = A[v]


def test_readers_behind_a_loop_of_stores_outside_of_blocks_are_refused():
    with pytest.raises(ScheduleError, match="`root` has accesses of `A` that are in no block"):
        scheduled(stored_in_a_loop_before_readers).cache_read("B", 0, "global")


@T.prim_func
def read_by_a_predicate(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("C"):
            v = T.axis.spatial(6, i)
            T.where(A[i] > T.float32(0))
            C[v] = A[v]


def test_a_predicate_goes_on_to_read_the_buffer():
    sch = scheduled(read_by_a_predicate)
    sch.cache_read("C", 0, "global")
    assert "T.where(A[i] > " in sch.mod["main"].script()
    assert_same_meaning(read_by_a_predicate, sch)


def test_wrong_references():
    sch = scheduled(two_steps)
    with pytest.raises(ScheduleError, match="`B` reads 1 buffers, so there is none of index 1"):
        sch.cache_read("B", 1, "local")
    with pytest.raises(ScheduleError, match="none of index -1"):
        sch.cache_read("B", -1, "local")
    with pytest.raises(ScheduleError, match="`C` reads no buffer of the name `X`"):
        sch.cache_read("C", "X", "local")
    with pytest.raises(ScheduleError, match=r"by its index, its name, or itself, got 1\.5"):
        sch.cache_read("C", 1.5, "local")
    with pytest.raises(ScheduleError, match="`root` is the root block"):
        sch.cache_read("root", 0, "local")


def test_unknown_storage_scopes():
    sch = scheduled(two_steps)
    with pytest.raises(ScheduleError, match="no storage scope 'fast': known are global, local"):
        sch.cache_read("B", 0, "fast")
    with pytest.raises(ScheduleError, match=r"no storage scope 'warp\.x'"):
        sch.cache_read("B", 0, "warp.x")
    with pytest.raises(ScheduleError, match="no storage scope 3"):
        sch.cache_read("B", 0, 3)
    sch.cache_read("B", 0, "global.vtcm")
    assert_same_meaning(two_steps, sch)


@I.ir_module
class Two:
    @T.prim_func
    def first(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]

    @T.prim_func
    def second(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] + T.float32(1)


def test_one_of_several_functions():
    sch = scheduled(Two)
    sch.cache_read(sch.get_block("B", "second"), 0, "local")
    assert sch.mod["first"] is Two["first"]
    assert_same_meaning(Two, sch, name="second")


@T.prim_func
def branches(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        if i < 2:
            with T.block("A"):
                vi = T.axis.spatial(4, i)
                A[vi] = T.float32(1)
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]
        else:
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]


def test_readers_in_different_branches():
    with pytest.raises(ScheduleError, match="`B` and block `C` are in different branches"):
        scheduled(branches).cache_read("B", "A", "local")
    sch = scheduled(branches)
    sch.cache_read("B", "A", "local", ["B"])
    assert_same_meaning(branches, sch)


@T.prim_func
def declares_more_than_the_buffer(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, n), "float32")
    B = T.match_buffer(b, ((n + 1) // 2, n), "float32")
    for i_0 in range(((n + 1) // 2 + 1) // 2):
        with T.block("B_o"):
            vo = T.axis.spatial(((n + 1) // 2 + 1) // 2, i_0)
            T.reads(A[vo * 4 : vo * 4 + 3, 0 : (n + 1) // 2 * 2])
            T.writes(B[vo * 2 : vo * 2 + 2, 0 : (n + 1) // 2 * 2])
            for i_1, j_0, j_1 in T.grid(T.int64(2), (n + 1) // 2, T.int64(2)):
                with T.block("B"):
                    vi = T.axis.spatial(T.int64(2), i_1)
                    vj = T.axis.spatial((n + 1) // 2 * 2, j_0 * 2 + j_1)
                    T.where(vo * 2 + i_1 < (n + 1) // 2 and j_0 * 2 + j_1 < n)
                    B[vo * 2 + vi, vj] = A[(vo * 2 + vi) * 2, vj] * T.float32(2)


def test_a_declared_region_that_sticks_out_of_the_buffer():
    sch = scheduled(declares_more_than_the_buffer)
    sch.cache_read("B", 0, "shared")
    assert_same_meaning(declares_more_than_the_buffer, sch, sizes={"n": 3})
    assert_same_meaning(declares_more_than_the_buffer, sch, sizes={"n": 4})


@T.prim_func
def as_many_as_written_before(
    A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), n: T.Buffer((1,), "int32")
):
    for k in range(1):
        with T.block("n"):
            vk = T.axis.spatial(1, k)
            n[vk] = 5
        for i in range(n[0]):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = A[vi]


@T.prim_func
def where_less_than_written_before(
    A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), n: T.Buffer((1,), "int32")
):
    for k in range(1):
        with T.block("n"):
            vk = T.axis.spatial(1, k)
            n[vk] = 5
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                T.where(i < n[0])
                C[vi] = A[vi]


@T.prim_func
def from_a_bound_value_on(
    A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), n: T.Buffer((1,), "int32")
):
    for k in range(1):
        with T.block("n"):
            vk = T.axis.spatial(1, k)
            n[vk] = 5
        with T.LetStmt(n[0]) as m:
            for i in range(8 - m):
                with T.block("C"):
                    vi = T.axis.spatial(8, i + m)
                    C[vi] = A[vi]


@pytest.mark.parametrize(
    "before",
    [as_many_as_written_before, where_less_than_written_before, from_a_bound_value_on],
    ids=lambda before: before.attrs["global_symbol"],
)
@pytest.mark.parametrize(
    "cached",
    [
        lambda sch: sch.cache_read("C", "A", "global"),
        lambda sch: sch.reindex_cache_read("C", 0, "global", lambda i: (i,)),
        lambda sch: sch.reindex("C", ("read", 0)),
        lambda sch: sch.read_at(sch.get_loops("C")[0], "C", 0, "global"),
    ],
    ids=["cache_read", "reindex_cache_read", "reindex", "read_at"],
)
def test_the_size_of_a_copy_does_not_depend_on_data_that_are_written_later(before, cached):
    sch = scheduled(before)
    cached(sch)
    assert_same_meaning(before, sch)
