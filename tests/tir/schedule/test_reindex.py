"""Caches whose layout follows the iterators of a block."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning, results_of

import tilewright as tvm
from tilewright.error import ArgumentError
from tilewright.script import tir as T
from tilewright.tir import IndexMap, Schedule, ScheduleError


def scheduled(func):
    return Schedule(func, debug_mask="all")


def assert_module(sch, expected):
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], expected)


@T.prim_func
def shifted(A: T.Buffer((6, 5), "float32"), B: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi + 1] * T.float32(2)


@T.prim_func
def shifted_reindexed(A: T.Buffer((6, 5), "float32"), B: T.Buffer((4, 6), "float32")):
    A_reindex = T.alloc_buffer((4, 6))
    for ax0, ax1 in T.grid(4, 6):
        with T.block("A_reindex"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_reindex[v0, v1] = A[v1, v0 + 1]
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A_reindex[vi, vj] * T.float32(2)


@pytest.mark.parametrize("reference", [("read", 0), "A", shifted.buffer_map[shifted.params[0]]])
def test_what_is_read(reference):
    sch = scheduled(shifted)
    copy = sch.reindex("B", reference)
    assert sch.get(copy).name_hint == "A_reindex"
    assert_module(sch, shifted_reindexed)
    assert_same_meaning(shifted, sch)
    assert 'buffer=["read", 0]' in str(sch.trace)


@T.prim_func
def shifted_cached(A: T.Buffer((6, 5), "float32"), B: T.Buffer((4, 6), "float32")):
    A_shared = T.alloc_buffer((6, 2, 2), scope="shared")
    for ax0, ax1 in T.grid(4, 6):
        with T.block("A_shared"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_shared[v1, v0 // 2, v0 % 2] = A[v1, v0 + 1]
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A_shared[vj, vi // 2, vi % 2] * T.float32(2)


def test_indices_of_the_users_choice():
    sch = scheduled(shifted)
    sch.reindex_cache_read("B", "A", "shared", lambda i, j: (j, i // 2, i % 2))
    assert_module(sch, shifted_cached)
    assert_same_meaning(shifted, sch)
    assert "index_map=lambda i, j: (j, (i // 2), (i % 2))" in str(sch.trace)
    again = scheduled(shifted)
    tvm.tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)


@T.prim_func
def transposed(A: T.Buffer((6, 4), "float32"), B: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[3 - vi, vj] = A[vj, vi]


@T.prim_func
def transposed_cached(A: T.Buffer((6, 4), "float32"), B: T.Buffer((4, 6), "float32")):
    B_local = T.alloc_buffer((6, 4), scope="local")
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B_local[vj, vi] = A[vj, vi]
    for ax0, ax1 in T.grid(4, 6):
        with T.block("B_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B[3 - v0, v1] = B_local[v1, v0]


def test_what_is_written():
    sch = scheduled(transposed)
    sch.reindex_cache_write("B", 0, "local", lambda i, j: (j, i))
    assert_module(sch, transposed_cached)
    assert_same_meaning(transposed, sch)
    sch = scheduled(transposed)
    copy = sch.reindex("B", ("write", 0))
    assert sch.get(copy).name_hint == "B_reindex"
    assert_same_meaning(transposed, sch)


@T.prim_func
def conv(
    A: T.Buffer((9, 2), "float32"), W: T.Buffer((3, 2), "float32"), C: T.Buffer((7,), "float32")
):
    for i_0, i_1, r, c in T.grid(2, 4, 3, 2):
        with T.block("C"):
            v = T.axis.spatial(7, i_0 * 4 + i_1)
            vr, vc = T.axis.remap("RR", [r, c])
            T.where(i_0 * 4 + i_1 < 7)
            with T.init():
                C[v] = T.float32(0)
            C[v] = C[v] + A[v + vr, vc] * W[vr, vc]


def test_a_reduction_with_a_tail():
    sch = scheduled(conv)
    shapes = []
    for reference in (("read", 0), ("read", 1), ("write", 0)):
        copy = sch.get(sch.reindex("C", reference))
        cache = (copy.reads if reference[0] == "write" else copy.writes)[0].buffer
        shapes.append([extent.value for extent in cache.shape])
    assert shapes == [[7, 3, 2], [3, 2], [7]]
    assert_same_meaning(conv, sch)


def test_a_cache_with_padding():
    sch = scheduled(conv)
    sch.reindex_cache_read("C", "A", "global", lambda v, r, c: (v // 4, r, v % 4, c))
    sch.reindex_cache_write("C", "C", "global", lambda v, _r, _c: (v // 4, v % 4))
    assert "A_global = T.alloc_buffer((2, 3, 4, 2))" in sch.mod["main"].script()
    assert_same_meaning(conv, sch)


@T.prim_func
def padded(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 3):
        with T.block("B"):
            v, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[v] = T.float32(0)
            B[v] = B[v] + T.if_then_else(T.And(v + vk > 0, v + vk < 7), A[v + vk - 1], T.float32(0))


def test_what_a_branch_leaves_out_is_not_copied():
    sch = scheduled(padded)
    sch.reindex("B", "A")
    assert_same_meaning(padded, sch)


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
                C[11 - v] = B[v] + T.float32(1)


def test_between_blocks_in_a_loop():
    for name, reference in (("B", ("write", 0)), ("C", ("read", 0)), ("C", ("write", 0))):
        sch = scheduled(per_row)
        copy = sch.reindex(name, reference)
        extents = [sch.get(loop).extent.value for loop in sch.get_loops(copy)]
        assert extents == ([12] if reference == ("write", 0) and name == "C" else [3, 4])
        assert_same_meaning(per_row, sch)


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m,), "float32")
    for i, j in T.grid(m, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vj, vi]


def test_symbolic_sizes():
    sch = scheduled(symbolic)
    sch.reindex("B", "A")
    sch.reindex("B", "B")
    sch.reindex_cache_read("B", 0, "local", lambda i, j: (j, i))
    assert_same_meaning(symbolic, sch, sizes={"n": 3, "m": 5})


# --- refusals -----------------------------------------------------------------------------------


@T.prim_func
def two_elements(A: T.Buffer((7,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            B[v] = A[v] + A[v + 1]


@T.prim_func
def inner_loop(A: T.Buffer((6, 3), "float32"), B: T.Buffer((6, 3), "float32")):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            for j in range(3):
                B[v, j] = A[v, j]


@T.prim_func
def indirect(
    A: T.Buffer((6,), "float32"), I: T.Buffer((6,), "int32"), B: T.Buffer((6,), "float32")
):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            B[v] = A[I[v]]


@T.prim_func
def by_pointer(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            T.reads(A[v])
            T.writes(B[v])
            B[v] = T.call_extern("float32", "f", A.data)


@T.prim_func
def declared_only(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            T.reads(A[v])
            T.writes(B[v])
            B[v] = T.float32(1)


@T.prim_func
def nested(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            with T.block("inner"):
                B[v] = A[v]


@T.prim_func
def nested_in_the_init(A: T.Buffer((6, 4), "float32"), B: T.Buffer((6,), "float32")):
    for i, k in T.grid(3, 4):
        with T.block("B"):
            v = T.axis.spatial(3, i)
            vk = T.axis.reduce(4, k)
            T.reads(A[v * 2 : v * 2 + 2, vk])
            T.writes(B[v * 2 : v * 2 + 2])
            with T.init():
                for j in range(2):
                    with T.block("inner"):
                        vj = T.axis.spatial(2, j)
                        B[v * 2 + vj] = T.float32(0)
            for j in range(2):
                B[v * 2 + j] = B[v * 2 + j] + A[v * 2 + j, vk]


@T.prim_func
def by_view(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            T.reads(A[v])
            T.writes(B[v])
            part = T.match_buffer(A[v], (1,), offset_factor=1)
            B[v] = A[v] + part[0]


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (two_elements, "accesses more than one element of `A`: "),
        (inner_loop, "its indices .* are not given by the iterators alone"),
        (indirect, "its indices .* are not given by the iterators alone"),
        (by_pointer, "`B` uses the pointer of `A`"),
        (declared_only, "`B` accesses `A` in another way than by its indices"),
        (nested, "block `B` contains other blocks"),
        (by_view, "block `B` has the view `part` of `A`"),
    ],
)
def test_more_than_one_element(func, message):
    with pytest.raises(ScheduleError, match=message):
        scheduled(func).reindex("B", "A")


def test_blocks_in_the_init():
    with pytest.raises(ScheduleError, match="block `B` contains other blocks"):
        scheduled(nested_in_the_init).reindex("B", ("write", 0))


@pytest.mark.parametrize(
    "index_map", [lambda i, j: (i, j // 2), lambda i, j: (i + j,), lambda i, j: (i,)]
)
def test_a_map_that_is_not_injective(index_map):
    with pytest.raises(
        ScheduleError, match=r"not proved that the indices .* of the cache are diff"
    ):
        scheduled(shifted).reindex_cache_read("B", 0, "local", index_map)
    with pytest.raises(
        ScheduleError, match=r"not proved that the indices .* of the cache are diff"
    ):
        scheduled(transposed).reindex_cache_write("B", 0, "local", index_map)


@T.prim_func
def last_wins(A: T.Buffer((6,), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            B[v // 2] = A[v]


def test_elements_that_are_written_more_than_once():
    with pytest.raises(ScheduleError, match=r"not proved that the indices .* of `B` are different"):
        scheduled(last_wins).reindex("B", ("write", 0))


@T.prim_func
def partial_sums(A: T.Buffer((6, 3), "float32"), B: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 3):
        with T.block("B"):
            v, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[v] = T.float32(0)
            B[v] = B[v] + A[v, vk]


def test_a_cache_per_step_of_a_reduction():
    with pytest.raises(ScheduleError, match=r"not proved that the indices .* of `B` are different"):
        scheduled(partial_sums).reindex_cache_write("B", 0, "local", lambda i, k: (i, k))
    sch = scheduled(partial_sums)
    sch.reindex_cache_read("B", 0, "local", lambda i, k: (k, i))
    assert_same_meaning(partial_sums, sch)


@T.prim_func
def some(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            if A[v] > T.float32(0):
                B[v] = A[v]


@T.prim_func
def every_other(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(3):
        with T.block("B"):
            v = T.axis.spatial(6, i * 2)
            B[v] = A[v]


@pytest.mark.parametrize("func", [some, every_other])
def test_gaps_in_what_is_written(func):
    with pytest.raises(ScheduleError, match="not proved that block `B` writes `B` for all values"):
        scheduled(func).reindex("B", ("write", 0))
    sch = Schedule(func, enable_check=False)
    sch.reindex("B", ("write", 0))
    with pytest.raises(Exception, match="is read before anything was written"):
        results_of(sch.mod["main"])


@T.prim_func
def updated(A: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("A"):
            v = T.axis.spatial(6, i)
            A[v] = A[v] + T.float32(1)


def test_a_block_that_reads_and_writes():
    with pytest.raises(ScheduleError, match="`A` also writes `A`, whose cache would not change"):
        scheduled(updated).reindex("A", ("read", 0))
    with pytest.raises(ScheduleError, match="reads elements of `A` that it did not write"):
        scheduled(updated).reindex("A", ("write", 0))


def test_wrong_arguments():
    sch = scheduled(shifted)
    with pytest.raises(ScheduleError, match="a function of 1 indices for ndim=2"):
        sch.reindex_cache_read("B", 0, "local", lambda i: (i,))
    with pytest.raises(ScheduleError, match="the index map takes 1 indices, where there are 2"):
        sch.reindex_cache_read("B", 0, "local", IndexMap.from_func(lambda i: (i,)))
    with pytest.raises(ScheduleError, match="expected an index map or a function, got 3"):
        sch.reindex_cache_read("B", 0, "local", 3)
    with pytest.raises(ScheduleError, match="there is no storage scope 'x'"):
        sch.reindex_cache_write("B", 0, "x", lambda i, j: (i, j))
    with pytest.raises(ScheduleError, match="may be negative"):
        sch.reindex_cache_write("B", 0, "local", lambda i, j: (i - 1, j))
    with pytest.raises(ScheduleError, match="IndexMap"):
        sch.reindex_cache_read("B", 0, "local", lambda i, j: "no")
    with pytest.raises(ScheduleError, match="`root` is the root block"):
        sch.reindex("root", ("read", 0))
    with pytest.raises(ScheduleError, match="`root` is the root block"):
        sch.reindex_cache_read("root", 0, "local", lambda: ())
    with pytest.raises(ScheduleError, match="`root` is the root block"):
        sch.reindex_cache_write("root", 0, "local", lambda: ())
    sch.reindex_cache_read("B", 0, "local", IndexMap.from_func(lambda i, j: (j, i)))
    assert_same_meaning(shifted, sch)


def test_a_map_without_bounds():
    with pytest.raises(ScheduleError, match="has no known bounds"):
        scheduled(shifted).reindex_cache_read("B", 0, "local", lambda i, j: (i, i ^ j))


def test_alignment_of_dimensions_is_refused():
    sch = scheduled(shifted)
    sch.cache_write("B", 0, "global")
    sch.storage_align("B", 0, 0, 16, 1)
    message = "block `B` aligns dimensions of `B_global`, which would be"
    with pytest.raises(ScheduleError, match=message):
        sch.reindex("B", ("write", 0))
    with pytest.raises(ScheduleError, match=message):
        sch.reindex_cache_write("B", 0, "local", lambda i, j: (j, i))


@T.prim_func
def times_itself(A: T.Buffer((6, 6), "float32"), C: T.Buffer((6, 6), "float32")):
    for i, j, k in T.grid(6, 6, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[0:6, 0:6])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * A[vk, vj]


@T.prim_func
def times_a_copy(A: T.Buffer((6, 6), "float32"), C: T.Buffer((6, 6), "float32")):
    A_reindex = T.alloc_buffer((6, 6))
    for ax0, ax1 in T.grid(6, 6):
        with T.block("A_reindex"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            A_reindex[v0, v1] = A[v1, v0]
    for i, j, k in T.grid(6, 6, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], A_reindex[vj, vk])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * A_reindex[vj, vk]


def test_one_of_two_places():
    sch = scheduled(times_itself)
    sch.reindex("C", "A", occurrence=1)
    assert_module(sch, times_a_copy)
    assert_same_meaning(times_itself, sch)
    again = scheduled(times_itself)
    sch.trace.apply_to_schedule(again)
    assert_module(again, times_a_copy)


@T.prim_func
def times_its_next(A: T.Buffer((8,), "float32"), C: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = A[vi + 1] * A[vi] + A[vi + 1] * A[vi + 2]


def test_one_of_three_places_is_replaced_wherever_it_is_read():
    sch = scheduled(times_its_next)
    sch.reindex("C", "A", occurrence=0)
    block = sch.get(sch.get_block("C"))
    assert [region.buffer.name for region in block.reads] == ["A", "A_reindex"]
    assert str(block.body).count("A_reindex[vi]") == 2
    assert_same_meaning(times_its_next, sch)


@pytest.mark.parametrize(
    ("func", "buffer", "place", "message"),
    [
        (times_itself, "A", 2, "accesses `A` at 2 places, so there is none of number 2"),
        (times_itself, "A", -1, "accesses `A` at 2 places, so there is none of number -1"),
        (times_itself, "C", 0, "`C` writes `C`, at one place only"),
    ],
)
def test_a_place_that_there_is_not(func, buffer, place, message):
    with pytest.raises(ScheduleError, match=message):
        scheduled(func).reindex("C", buffer, occurrence=place)


def test_the_number_of_a_place_is_an_integer():
    with pytest.raises(ArgumentError, match="`occurrence` is the number of a place, got 'last'"):
        scheduled(times_itself).reindex("C", "A", occurrence="last")
