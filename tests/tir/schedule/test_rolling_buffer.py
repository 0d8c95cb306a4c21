"""rolling_buffer: what neighbouring iterations have in common stays in a circular buffer."""

import pytest
from tests.tir.schedule.checking import assert_refused, assert_same_meaning

from tilewright.ir.structural import assert_structural_equal_ignore_global_symbol
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def pools(A: T.Buffer((2, 12), "int32"), C: T.Buffer((2, 8), "int32")):
    B = T.alloc_buffer((2, 10), "int32")
    for c, i, k in T.grid(2, 10, 3):
        with T.block("B"):
            vc, vi, vk = T.axis.remap("SSR", [c, i, k])
            with T.init():
                B[vc, vi] = 0
            B[vc, vi] = B[vc, vi] + A[vc, vi + vk]
    for c, i, k in T.grid(2, 8, 3):
        with T.block("C"):
            vc, vi, vk = T.axis.remap("SSR", [c, i, k])
            with T.init():
                C[vc, vi] = 0
            C[vc, vi] = C[vc, vi] + B[vc, vi + vk]


@T.prim_func
def rolled(A: T.Buffer((2, 12), "int32"), C: T.Buffer((2, 8), "int32")):
    B = T.alloc_buffer((2, 6), "int32")
    for c, i_0 in T.grid(2, 2):
        for ax0, ax1 in T.grid(6, 3):
            with T.block("B"):
                T.where(i_0 < 1 or 2 <= ax0)  # noqa: SIM300
                vc = T.axis.spatial(2, c)
                vi = T.axis.opaque(10, i_0 * 4 + ax0)
                vk = T.axis.reduce(3, ax1)
                T.reads(A[vc, vi + vk])
                T.writes(B[vc, vi % 6])
                with T.init():
                    B[vc, vi % 6] = 0
                B[vc, vi % 6] = B[vc, vi % 6] + A[vc, vi + vk]
        for i_1, k in T.grid(4, 3):
            with T.block("C"):
                vc = T.axis.spatial(2, c)
                vi = T.axis.opaque(8, i_0 * 4 + i_1)
                vk = T.axis.reduce(3, k)
                T.reads(B[vc, (vi + vk) % 6])
                T.writes(C[vc, vi])
                with T.init():
                    C[vc, vi] = 0
                C[vc, vi] = C[vc, vi] + B[vc, (vi + vk) % 6]


@T.prim_func
def stencil(A: T.Buffer((10, 11), "int32"), C: T.Buffer((8, 9), "int32")):
    B = T.alloc_buffer((10, 11), "int32")
    for i, j in T.grid(10, 11):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2 + vi
    for i, j, k, n in T.grid(8, 9, 3, 3):
        with T.block("C"):
            vi, vj, vk, vn = T.axis.remap("SSRR", [i, j, k, n])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + B[vi + vk, vj + vn]


def schedule(func):
    return Schedule(func, debug_mask="all")


def only_function(sch):
    return sch.mod["main"]


def buffer_of(sch, name="B"):
    (found,) = [b for b in only_function(sch).body.block.alloc_buffers if b.name == name]
    return tuple(extent.value for extent in found.shape)


def tiled(func, tiles, at=1):
    """The consumer in tiles, and B computed at one of their loops."""
    sch = schedule(func)
    loops = sch.get_loops("C")
    outer, inner = [], []
    for loop, tile in zip(loops, tiles, strict=False):
        first, second = sch.split(loop, [None, tile])
        outer.append(first)
        inner.append(second)
    sch.reorder(*outer, *inner)
    sch.compute_at("B", outer[at])
    return sch, outer


def test_the_result_prints_as_users_know_it():
    sch = schedule(pools)
    i = sch.get_loops("C")[1]
    i_0, _ = sch.split(i, [None, 4])
    sch.compute_at("B", i_0)
    sch.rolling_buffer("B", 0)
    assert_structural_equal_ignore_global_symbol(only_function(sch), rolled)
    assert_same_meaning(pools, sch)


@pytest.mark.parametrize("reference", [0, "B"])
def test_the_buffer_by_position_or_name(reference):
    sch, _ = tiled(stencil, [4, 3])
    sch.rolling_buffer("B", reference)
    assert_same_meaning(stencil, sch)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])
def test_rows_with_and_without_tails(rows):
    sch, _ = tiled(stencil, [rows], at=0)
    sch.rolling_buffer("B", 0)
    assert buffer_of(sch) == (rows + 2, 11)
    assert_same_meaning(stencil, sch)


@pytest.mark.parametrize("tiles", [(4, 3), (3, 3), (3, 2), (1, 1), (2, 4)])
def test_windows_in_two_dimensions(tiles):
    sch, _ = tiled(stencil, tiles)
    sch.rolling_buffer("B", 0)
    assert buffer_of(sch) == (tiles[0] + 2, 11)
    text = only_function(sch).script()
    assert "i_0 < 1 or 2 <= ax0" in text
    assert "j_0 < 1 or 2 <= ax1" in text
    assert_same_meaning(stencil, sch)


def test_the_outer_loop_decides_the_dimension():
    sch = schedule(stencil)
    i, j, _, _ = sch.get_loops("C")
    i_0, i_1 = sch.split(i, [None, 4])
    j_0, j_1 = sch.split(j, [None, 3])
    sch.reorder(j_0, i_0, i_1, j_1)
    sch.compute_at("B", i_0)
    sch.rolling_buffer("B", 0)
    assert buffer_of(sch) == (10, 5)
    assert_same_meaning(stencil, sch)


def test_a_loop_that_is_split_again():
    sch = schedule(stencil)
    i = sch.get_loops("C")[0]
    _, i_1, _ = sch.split(i, [2, 2, 2])
    sch.compute_at("B", i_1)
    sch.rolling_buffer("B", 0)
    assert buffer_of(sch) == (4, 11)
    assert "i_1 < 1 or 2 <= ax0" in only_function(sch).script()
    assert_same_meaning(stencil, sch)


def test_a_chain_of_stages():
    @T.prim_func
    def before(A: T.Buffer((12,), "int32"), D: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((12,), "int32")
        C = T.alloc_buffer((10,), "int32")
        for i in range(12):
            with T.block("B"):
                vi = T.axis.spatial(12, i)
                B[vi] = A[vi] + 1
        for i in range(10):
            with T.block("C"):
                vi = T.axis.spatial(10, i)
                C[vi] = B[vi] + B[vi + 1] * 2 + B[vi + 2]
        for i in range(8):
            with T.block("D"):
                vi = T.axis.spatial(8, i)
                D[vi] = C[vi] + C[vi + 1] * 2 + C[vi + 2]

    def staged():
        sch = schedule(before)
        i_0, _ = sch.split(sch.get_loops("D")[0], [None, 4])
        sch.compute_at("C", i_0)
        sch.compute_at("B", i_0)
        return sch

    sch = staged()
    sch.rolling_buffer("C", 0)
    sch.rolling_buffer("B", 0)
    assert (buffer_of(sch), buffer_of(sch, "C")) == ((8,), (6,))
    assert_same_meaning(before, sch)
    sch = staged()
    sch.rolling_buffer("B", 0)
    with pytest.raises(ScheduleError, match="Hint: roll the buffer of the last stage first"):
        sch.rolling_buffer("C", 0)


def test_regions_of_several_elements():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(10):
            with T.block("B"):
                vi = T.axis.spatial(10, i)
                B[vi] = A[vi] + 1
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[vi] + B[vi + 1] * 2 + B[vi + 2]

    sch, _ = tiled(before, [2], at=0)
    sch.rolling_buffer("B", 0)
    (region,) = sch.get(sch.get_block("C")).reads
    assert str(region) == "B[0:4]"
    assert_same_meaning(before, sch)


def test_parallel_loops_over_separate_parts():
    sch = schedule(pools)
    c, i, _ = sch.get_loops("C")
    i_0, _ = sch.split(i, [None, 4])
    sch.compute_at("B", i_0)
    sch.parallel(c)
    sch.rolling_buffer("B", 0)
    assert buffer_of(sch) == (2, 6)
    assert_same_meaning(pools, sch)


# --- refusals -------------------------------------------------------------------------------------


def refused(func, match, wrong=False, reference=0):
    def step(sch):
        return lambda: sch.rolling_buffer("B", reference)

    assert_refused(func, step, match, differs=wrong)


def overlapping(produce, consume, kind=T.serial):
    """Windows of 4 elements that move by 2; `produce(A, B, vi)` and `consume(B, vi)`."""

    @T.prim_func
    def func(A: T.Buffer((12,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((12,), "int32")
        for i in kind(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(12, i * 2 + a)
                    B[vi] = produce(A, vi)
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = consume(B, vi)

    return func


def twice(A, i):
    return A[i] * 2


def pair(B, i):
    return B[i] + B[i + 2]


def test_the_root_block():
    sch = schedule(pools)
    with pytest.raises(ScheduleError, match="root block"):
        sch.rolling_buffer("root", 0)


def test_a_buffer_that_is_not_written():
    refused(pools, "there is none of index 1", reference=1)


def test_windows_that_do_not_overlap():
    refused(pools, "moves a window that overlaps")
    sch = schedule(pools)
    c = sch.get_loops("C")[0]
    sch.compute_at("B", c)
    with pytest.raises(ScheduleError, match="moves a window that overlaps"):
        sch.rolling_buffer("B", 0)

    @T.prim_func
    def apart(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((8,), "int32")
        for i in range(4):
            for a in range(2):
                with T.block("B"):
                    vi = T.axis.spatial(8, i * 2 + a)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi]

    refused(apart, "moves a window that overlaps")


def test_windows_of_unknown_shape():
    @T.prim_func
    def backwards(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, 6 - i * 2 + a)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, 6 - i * 2 + b)
                    C[vi] = B[vi] + B[vi + 2]

    @T.prim_func
    def strided(A: T.Buffer((16,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((16,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(16, i * 2 + a * 2)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[i * 0 + vi // 2 * 2 + 2]

    @T.prim_func
    def later(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(1, 4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi + 1] + B[vi + 2]

    @T.prim_func
    def not_linear(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, (i * 2 + a) // 2)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi // 2] + B[vi // 2 + 1]

    for func in (backwards, later, not_linear):
        refused(func, "moves a window that overlaps")


def test_other_iterators_tell_instances_apart():
    @T.prim_func
    def before(A: T.Buffer((4, 10), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    vt = T.axis.spatial(4, i)
                    B[vi] = A[vt, vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi] + B[vi + 2]

    refused(before, "moves a window that overlaps")


def test_a_predicate_that_differs():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    T.where(i < 2 or a < 3)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi]

    refused(before, "moves a window that overlaps")


def test_a_buffer_that_is_small_already():
    @T.prim_func
    def before(A: T.Buffer((4,), "int32"), C: T.Buffer((2,), "int32")):
        B = T.alloc_buffer((4,), "int32")
        for i in range(1):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(4, i * 2 + a)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(2, i * 2 + b)
                    C[vi] = B[vi] + B[vi + 2]

    refused(before, "`B` is not larger than what one iteration needs")


def test_two_buffers():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), D: T.Buffer((10,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(10):
            with T.block("B"):
                vi = T.axis.spatial(10, i)
                B[vi] = A[vi]
                D[vi] = A[vi]

    refused(before, "block `B` writes more than one buffer")


def test_a_parameter():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), B: T.Buffer((10,), "int32")):
        for i in range(10):
            with T.block("B"):
                vi = T.axis.spatial(10, i)
                B[vi] = A[vi]

    refused(before, "`B` is not allocated in the scope of block `B`")


def test_several_elements():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((5,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(5):
            with T.block("B"):
                vi = T.axis.spatial(5, i)
                B[vi * 2] = A[vi]
                B[vi * 2 + 1] = A[vi]
        for i in range(5):
            with T.block("C"):
                vi = T.axis.spatial(5, i)
                C[vi] = B[vi]

    refused(before, "block `B` writes more than one element of `B`")


def test_another_writer():
    sch, _ = tiled(pools, [2, 4])
    sch.decompose_reduction("B", sch.get_loops("B")[2])
    with pytest.raises(ScheduleError, match="block `B_init` writes `B` as well"):
        sch.rolling_buffer("B_update", 0)


def test_no_reader():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(10):
            with T.block("B"):
                vi = T.axis.spatial(10, i)
                B[vi] = A[vi]

    refused(before, "no block reads `B`")


def test_a_view():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    T.reads(B[vi : vi + 3])
                    T.writes(C[vi])
                    D = T.match_buffer(B[vi : vi + 3], (3,), "int32", offset_factor=1)
                    C[vi] = D[0] + D[2]

    refused(before, "uses the memory of `B` by a pointer or a view")


def test_an_input_of_two_writers():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        X = T.alloc_buffer((10,), "int32")
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("X"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    X[vi] = A[vi]
            for a in range(4):
                with T.block("Y"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    X[vi] = A[vi] * 2
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    B[vi] = X[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi] + B[vi + 2]

    refused(before, "block `X` changes `X`, which block `B` reads")


def test_a_pointer():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    T.reads(B[vi : vi + 3])
                    T.writes(C[vi])
                    C[vi] = T.call_extern("int32", "f", B.data, vi)

    refused(before, "uses the memory of `B` by a pointer or a view")


def test_another_name_of_the_memory():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        B_1 = T.Buffer((5, 2), "int32", data=B.data)
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi] + B_1[vi // 2 + 1, vi % 2]

    refused(before, "`B` shares its memory with `B_1`")


def test_a_store_in_no_block():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    B[vi] = A[vi]
            B[i * 2] = 0
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi] + B[vi + 2]

    refused(before, "has accesses of `B` that are in no block")


def test_updates_of_old_values():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    B[vi] = B[vi] + A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi] + B[vi + 2]

    refused(before, "does not compute each element from other buffers alone")


def test_a_reduction_over_a_common_loop():
    @T.prim_func
    def before(A: T.Buffer((10, 3), "int32"), C: T.Buffer((8, 3), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for k, i in T.grid(3, 4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    vk = T.axis.reduce(3, k)
                    with T.init():
                        B[vi] = 0
                    B[vi] = B[vi] + A[vi, vk]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    vk = T.axis.spatial(3, k)
                    C[vi, vk] = B[vi] + B[vi + 2]

    refused(before, "loop `k` carries a part of the reduction of block `B`", wrong=True)


def test_bindings_that_read():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), N: T.Buffer((1,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    T.where(N[0] < 100)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi] + B[vi + 2]

    refused(before, "a binding or the predicate of block `B` reads memory")


def test_inputs_that_change():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    B[vi] = A[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi] + B[vi + 2]
            for b in range(10):
                with T.block("A"):
                    vb = T.axis.spatial(10, b)
                    vt = T.axis.spatial(4, i)
                    A[vb] = vb * 3 + vt

    refused(before, "block `A` changes `A`, which block `B` reads, inside of loop `i`", wrong=True)


def test_inputs_that_another_stage_changes():
    @T.prim_func
    def before(A: T.Buffer((12, 4), "int32"), C: T.Buffer((8,), "int32")):
        P = T.alloc_buffer((12,), "int32")
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for a in range(4):
                with T.block("P"):
                    vi = T.axis.spatial(12, i * 2 + a)
                    vt = T.axis.spatial(4, i)
                    P[vi] = A[vi, vt]
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    B[vi] = P[vi]
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi] + B[vi + 2]

    refused(before, "block `P` does not compute each element from other buffers alone", wrong=True)


@pytest.mark.parametrize("kind", [T.parallel, T.vectorized])
def test_a_window_moved_by_a_loop_that_is_not_serial(kind):
    refused(overlapping(twice, pair, kind), "loop `i` must be serial")


def test_a_parallel_loop_outside_that_shares_the_buffer():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((3, 8), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for t in T.parallel(3):
            for i in range(4):
                for a in range(4):
                    with T.block("B"):
                        vi = T.axis.spatial(10, i * 2 + a)
                        B[vi] = A[vi]
                for b in range(2):
                    with T.block("C"):
                        vt = T.axis.spatial(3, t)
                        vi = T.axis.spatial(8, i * 2 + b)
                        C[vt, vi] = B[vi] + B[vi + 2]

    refused(before, "loop `t` must be serial: its iterations share elements of `B`")


def test_reading_what_an_earlier_iteration_computed():
    func = overlapping(twice, lambda B, i: B[i // 2])
    text = "block `C` may read elements of `B` that block `B` does not compute before"
    refused(func, text, wrong=True)


def test_reading_before_writing():
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(4):
            for b in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 2 + b)
                    C[vi] = B[vi]
            for a in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(10, i * 2 + a)
                    B[vi] = A[vi]

    refused(before, "does not compute before in the same iteration of loop `i`")
