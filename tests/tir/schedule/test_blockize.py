"""Making a block of a tile, or of several blocks."""

import pytest
from tests.tir.schedule.checking import assert_refused, assert_same_meaning

import tilewright as tvm
from tilewright.error import ArgumentError
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError

# --- loops --------------------------------------------------------------------------------------


@T.prim_func
def double(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32")):
    for i_0, j_0, i_1, j_1 in T.grid(2, 3, 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(8, i_0 * 4 + i_1)
            vj = T.axis.spatial(12, j_0 * 4 + j_1)
            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def double_in_tiles(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32")):
    for i_0, j_0 in T.grid(2, 3):
        with T.block("B_o"):
            vi_o, vj_o = T.axis.remap("SS", [i_0, j_0])
            T.reads(A[vi_o * 4 : vi_o * 4 + 4, vj_o * 4 : vj_o * 4 + 4])
            T.writes(B[vi_o * 4 : vi_o * 4 + 4, vj_o * 4 : vj_o * 4 + 4])
            for i_1, j_1 in T.grid(4, 4):
                with T.block("B"):
                    vi_i, vj_i = T.axis.remap("SS", [i_1, j_1])
                    T.reads(A[vi_o * 4 + vi_i, vj_o * 4 + vj_i])
                    T.writes(B[vi_o * 4 + vi_i, vj_o * 4 + vj_i])
                    B[vi_o * 4 + vi_i, vj_o * 4 + vj_i] = A[
                        vi_o * 4 + vi_i, vj_o * 4 + vj_i
                    ] * T.float32(2)


@T.prim_func
def matmul(
    A: T.Buffer((8, 6), "float32"), B: T.Buffer((6, 12), "float32"), C: T.Buffer((8, 12), "float32")
):
    for i, j, k in T.grid(8, 12, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def matmul_in_tiles(
    A: T.Buffer((8, 6), "float32"), B: T.Buffer((6, 12), "float32"), C: T.Buffer((8, 12), "float32")
):
    for i_0, j_0, k_0 in T.grid(2, 3, 3):
        with T.block("C_o"):
            vi_o, vj_o, vk_o = T.axis.remap("SSR", [i_0, j_0, k_0])
            with T.init():
                for i_1, j_1 in T.grid(4, 4):
                    with T.block("C_init"):
                        vi_init, vj_init = T.axis.remap("SS", [i_1, j_1])
                        C[vi_o * 4 + vi_init, vj_o * 4 + vj_init] = T.float32(0)
            for i_1, j_1, k_1 in T.grid(4, 4, 2):
                with T.block("C"):
                    vi_i, vj_i, vk_i = T.axis.remap("SSR", [i_1, j_1, k_1])
                    C[vi_o * 4 + vi_i, vj_o * 4 + vj_i] = (
                        C[vi_o * 4 + vi_i, vj_o * 4 + vj_i]
                        + A[vi_o * 4 + vi_i, vk_o * 2 + vk_i] * B[vk_o * 2 + vk_i, vj_o * 4 + vj_i]
                    )


@T.prim_func
def guarded(A: T.Buffer((7, 10), "float32"), B: T.Buffer((7,), "float32")):
    for i_0, k_0, i_1, k_1 in T.grid(2, 3, 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(7, i_0 * 4 + i_1)
            vk = T.axis.reduce(10, k_0 * 4 + k_1)
            T.where(i_0 * 4 + i_1 < 7 and k_0 * 4 + k_1 < 10)
            with T.init():
                B[vi] = T.float32(1)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def guarded_outside(A: T.Buffer((6, 4), "float32"), B: T.Buffer((6, 4), "float32")):
    for i_0, i_1, j in T.grid(2, 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(6, i_0 * 4 + i_1)
            vj = T.axis.spatial(4, j)
            T.where(i_0 * 4 + i_1 < 6)
            B[vi, vj] = A[vi, vj] + T.float32(1)


@T.prim_func
def fused_outside(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 11), "float32")):
    for f in range(6):
        for i_1, j_1 in T.grid(4, 4):
            with T.block("B"):
                vi = T.axis.spatial(8, f // 3 * 4 + i_1)
                vj = T.axis.spatial(11, f % 3 * 4 + j_1)
                T.where(f % 3 * 4 + j_1 < 11)
                B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def triangular(A: T.Buffer((6, 6), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        for k in range(i + 1):
            with T.block("B"):
                vi = T.axis.spatial(6, i)
                vk = T.axis.reduce(6, k)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i_0, i_1 in T.grid((n + T.int64(3)) // T.int64(4), T.int64(4)):
        with T.block("B"):
            vi = T.axis.spatial(n, i_0 * T.int64(4) + i_1)
            T.where(i_0 * T.int64(4) + i_1 < n)
            B[vi] = A[vi] * T.float32(2)


@T.prim_func
def upside_down(A: T.Buffer((2, 9), "float32"), B: T.Buffer((2, 9), "float32")):
    for i in range(2):
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(2, i)
                vj = T.axis.spatial(9, 7 - j)
                B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def shifted(A: T.Buffer((2, 9), "float32"), B: T.Buffer((2, 9), "float32")):
    for i in range(2):
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(2, i)
                vj = T.axis.spatial(9, j * 2 + 1)
                B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def units(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i_0, i_1, j_0, j_1 in T.grid(1, 4, 1, 1):
        with T.block("B"):
            vi = T.axis.spatial(4, i_0 * 4 + i_1)
            vj = T.axis.spatial(1, j_0 + j_1)
            B[vi + vj] = A[vi] * T.float32(2)


@T.prim_func
def units_kept(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i_0 in range(1):
        with T.block("B_o"):
            _vi_o = T.axis.spatial(1, i_0)
            _vj_o = T.axis.spatial(1, 0)
            T.reads(A[0:4])
            T.writes(B[0:4])
            for i_1, j_0, j_1 in T.grid(4, 1, 1):
                with T.block("B"):
                    vi_i = T.axis.spatial(4, i_1)
                    vj_i = T.axis.spatial(1, j_0 + j_1)
                    B[vi_i + vj_i] = A[vi_i] * T.float32(2)


@T.prim_func
def units_dropped(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for _i_0 in range(1):
        with T.block("B_o"):
            _vi_o = T.axis.spatial(1, 0)
            _vj_o = T.axis.spatial(1, 0)
            T.reads(A[0:4])
            T.writes(B[0:4])
            for i_1, _j_0, _j_1 in T.grid(4, 1, 1):
                with T.block("B"):
                    vi_i = T.axis.spatial(4, i_1)
                    B[vi_i] = A[vi_i] * T.float32(2)


def blockized(func, block, position, **options):
    sch = Schedule(func, debug_mask="all")
    return sch, sch.blockize(sch.get_loops(block)[position], **options)


def assert_becomes(sch, name, expected):
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], expected)


def test_a_tile_becomes_a_block():
    sch, outer = blockized(double, "B", 2)
    assert_becomes(sch, "double", double_in_tiles)
    assert sch.get(outer).name_hint == "B_o"
    assert len(sch.get_loops(outer)) == 2
    assert [sch.get(loop).loop_var.name for loop in sch.get_loops("B")] == ["i_1", "j_1"]
    assert_same_meaning(double, sch)


def test_the_initialisation_of_a_reduction_covers_the_tile():
    sch = Schedule(matmul, debug_mask="all")
    i, j, k = sch.get_loops("C")
    i_0, i_1 = sch.split(i, [None, 4])
    j_0, j_1 = sch.split(j, [None, 4])
    k_0, k_1 = sch.split(k, [None, 2])
    sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
    sch.blockize(i_1)
    assert_becomes(sch, "matmul", matmul_in_tiles)
    assert_same_meaning(matmul, sch)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_every_part_of_a_nest_becomes_a_block(position):
    sch, _ = blockized(matmul, "C", position)
    assert_same_meaning(matmul, sch)


@pytest.mark.parametrize("position", [1, 2, 3])
def test_conditions_become_those_of_the_tile(position):
    sch = Schedule(guarded, debug_mask="all")
    sch.blockize(sch.get_loops("B")[position])
    assert_same_meaning(guarded, sch)


def test_a_condition_on_the_outer_loops_stays_outside():
    sch, _ = blockized(guarded_outside, "B", 2)
    script = sch.mod.script()
    assert script.index("T.where(i_0 * 4 + i_1 < 6)") < script.index("for j in")
    assert_same_meaning(guarded_outside, sch)


def test_a_condition_on_both_is_told_by_the_new_iterators():
    sch, _ = blockized(guarded_outside, "B", 1)
    assert "T.where(vi_o * 4 + i_1 < 6)" in sch.mod.script()
    assert "A[vi_o * 4:vi_o * 4 + (T.min(vi_o * 4 + 3, 5) - vi_o * 4 + 1), 0:4]" in str(sch.mod)
    assert_same_meaning(guarded_outside, sch)


def test_outer_loops_that_were_fused():
    sch, _ = blockized(fused_outside, "B", 1)
    assert "vi_o = T.axis.spatial(2, f // 3)" in sch.mod.script()
    assert_same_meaning(fused_outside, sch)


def test_bounds_inside_are_told_by_the_new_iterators():
    sch, _ = blockized(triangular, "B", 1)
    assert "for k in range(vi_o + 1)" in sch.mod.script()
    assert_same_meaning(triangular, sch)


def test_a_part_of_the_domain_only():
    sch, _ = blockized(upside_down, "B", 1)
    assert "vj_i = T.axis.spatial(9, 7 - j)" in sch.mod.script()
    assert_same_meaning(upside_down, sch)
    sch, _ = blockized(shifted, "B", 1)
    assert "vj_i = T.axis.spatial(8, j * 2)" in sch.mod.script()
    assert_same_meaning(shifted, sch)


def test_symbolic_sizes():
    sch, _ = blockized(symbolic, "B", 1)
    assert_same_meaning(symbolic, sch, sizes={"n": 10})


def test_loops_of_one_iteration():
    sch, _ = blockized(units, "B", 1)
    assert_becomes(sch, "units", units_kept)
    assert_same_meaning(units, sch)
    sch, _ = blockized(units, "B", 1, preserve_unit_iters=False)
    assert_becomes(sch, "units", units_dropped)
    assert_same_meaning(units, sch)


def test_a_tile_of_tiles():
    sch = Schedule(matmul, debug_mask="all")
    i, j, k = sch.get_loops("C")
    i_0, i_1 = sch.split(i, [None, 4])
    j_0, j_1 = sch.split(j, [None, 5])
    k_0, k_1 = sch.split(k, [None, 2])
    sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
    outer = sch.blockize(i_1)
    sch.blockize(sch.get_loops(outer)[1])
    assert sch.get(sch.get_block("C_o_o")).init is not None
    assert sch.get(outer).init is None
    assert_same_meaning(matmul, sch)


# --- refused loops ------------------------------------------------------------------------------


def refused(func, block, position, message, differs=False):
    def step(sch):
        loop = sch.get_loops(block)[position]
        return lambda: sch.blockize(loop)

    assert_refused(func, step, message, differs=differs)


@T.prim_func
def strided(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i_1, i_0 in T.grid(4, 2):
        with T.block("B"):
            vi = T.axis.spatial(8, i_0 * 4 + i_1)
            B[vi] = A[vi]


@T.prim_func
def not_affine(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(2, 2):
        with T.block("B"):
            vi = T.axis.spatial(4, i * j)
            B[vi] = A[vi]


@T.prim_func
def offset_tile(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")):
    for i, j, k in T.grid(2, 2, 2):
        with T.block("B"):
            vi = T.axis.spatial(9, i * 5 + j * 3 + k)
            B[vi] = A[vi]


@T.prim_func
def downwards(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i_0, i_1 in T.grid(2, 4):
        with T.block("B"):
            vi = T.axis.spatial(8, i_0 * 4 + (3 - i_1))
            B[vi] = A[vi]


@pytest.mark.parametrize(
    ("func", "position"), [(strided, 1), (not_affine, 1), (offset_tile, 2), (downwards, 1)]
)
def test_bindings_that_cannot_be_divided_are_refused(func, position):
    refused(func, "B", position, r"of block `B` is not a multiple of a tile plus a position in it")


@T.prim_func
def two_in_a_loop(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi] = A[vi] + T.float32(1)
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * T.float32(2)


def test_two_blocks_in_a_loop_are_refused():
    refused(two_in_a_loop, "A", 0, "loop `i` contains 2 blocks; a tile is made of one")


@T.prim_func
def condition_between(n: T.int32, A: T.Buffer((4,), "float32")):
    for i in range(4):
        if n > 2:
            for j in range(1):
                with T.block("A"):
                    vi = T.axis.spatial(4, i + j)
                    A[vi] = A[vi] + T.float32(1)


def test_more_than_loops_inside_is_refused():
    refused(condition_between, "A", 0, "there is more than loops between loop `i` and block `A`")


@T.prim_func
def repeated(A: T.Buffer((4,), "float32")):
    for r in range(3):
        for i in range(4):
            with T.block("A"):
                vi = T.axis.spatial(4, i)
                T.where(i <= r)
                A[vi] = A[vi] * T.float32(2)


def test_conditions_on_loops_that_no_iterator_gives_are_refused():
    refused(repeated, "A", 1, "depends on loop `r`, whose variable no iterators of block `A` give")


# --- refused initialisations --------------------------------------------------------------------


@T.prim_func
def starts_late(A: T.Buffer((2, 9), "float32"), B: T.Buffer((2,), "float32")):
    for i, k_0, k_1 in T.grid(2, 2, 4):
        with T.block("B"):
            vi = T.axis.spatial(2, i)
            vk = T.axis.reduce(9, k_0 * 4 + k_1 + 1)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


def test_a_reduction_that_starts_elsewhere_is_refused():
    refused(starts_late, "B", 2, "the reduction over `vk` of block `B` does not start in the first")
    refused(starts_late, "B", 0, "the reduction over `vk` of block `B` does not start in the first")


@T.prim_func
def runs_twice(A: T.Buffer((2, 8), "float32"), B: T.Buffer((2,), "float32")):
    for k_0 in range(2):
        for _r, i, k_1 in T.grid(2, 2, 4):
            with T.block("B"):
                vi = T.axis.spatial(2, i)
                vk = T.axis.reduce(8, k_0 * 4 + k_1)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk] + T.float32(1)


def test_a_tile_that_runs_twice_is_refused():
    refused(
        runs_twice,
        "B",
        1,
        "the loops in a tile of block `B` do not run over its iterators",
        differs=True,
    )


@T.prim_func
def both_kinds(A: T.Buffer((2, 8), "float32"), B: T.Buffer((2,), "float32")):
    for k_0, f in T.grid(2, 8):
        with T.block("B"):
            vi = T.axis.spatial(2, f // 4)
            vk = T.axis.reduce(8, k_0 * 4 + f % 4)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk] + T.float32(1)


def test_a_loop_that_is_reduction_and_spatial_is_refused():
    refused(
        both_kinds,
        "B",
        1,
        "loop `f` is both of the reduction and spatial in block `B`",
        differs=True,
    )


@T.prim_func
def scan(A: T.Buffer((5, 8), "float32"), B: T.Buffer((5,), "float32")):
    for k_0, i, k_1 in T.grid(2, 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(8, k_0 * 4 + k_1)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk] + B[vi + 1]


def test_reading_neighbours_that_are_initialised_first_is_refused():
    refused(
        scan, "B", 1, "block `B` accesses other elements of `B` than it initialises", differs=True
    )


@T.prim_func
def init_reads(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    S = T.alloc_buffer((1,))
    with T.block("S"):
        S[0] = T.float32(0)
    for k_0, i, k_1 in T.grid(2, 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(8, k_0 * 4 + k_1)
            T.reads(A[vi, vk], S[0])
            T.writes(B[vi], S[0])
            with T.init():
                B[vi] = S[0]
            B[vi] = B[vi] + A[vi, vk]
            S[0] = S[0] + T.float32(1)


@T.prim_func
def init_by_reduction(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k_0, k_1 in T.grid(4, 2, 4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(8, k_0 * 4 + k_1)
            with T.init():
                B[vi] = A[vi, vk]
            B[vi] = B[vi] + A[vi, vk]


def test_an_initialisation_that_depends_on_the_computation_is_refused():
    refused(init_reads, "B", 1, "the initialisation of block `B` depends on what", differs=True)
    refused(init_by_reduction, "B", 2, "the initialisation of block `B` depends on what")


@T.prim_func
def same_element(A: T.Buffer((4, 8), "float32"), B: T.Buffer((2,), "float32")):
    for k_0, i, k_1 in T.grid(2, 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(8, k_0 * 4 + k_1)
            with T.init():
                B[vi // 2] = T.float32(0)
            B[vi // 2] = B[vi // 2] + A[vi, vk] + T.float32(1)


@T.prim_func
def overlapping(A: T.Buffer((4, 8), "float32"), B: T.Buffer((5,), "float32")):
    for k_0, i, k_1 in T.grid(2, 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(8, k_0 * 4 + k_1)
            T.reads(A[vi, vk])
            T.writes(B[vi : vi + 2])
            with T.init():
                for x in range(2):
                    B[vi + x] = T.float32(0)
            for x in range(2):
                B[vi + x] = B[vi + x] + A[vi, vk] + T.float32(1)


@T.prim_func
def indirect(
    I: T.Buffer((4,), "int32"), A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")
):
    for k_0, i, k_1 in T.grid(2, 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(8, k_0 * 4 + k_1)
            with T.init():
                B[I[vi] % 4] = T.float32(0)
            B[I[vi] % 4] = B[I[vi] % 4] + A[vi, vk]


@pytest.mark.parametrize("func", [same_element, overlapping])
def test_elements_that_several_instances_initialise_are_refused(func):
    refused(
        func, "B", 1, "several instances of block `B` in a tile initialise the same", differs=True
    )


def test_initialising_an_element_that_depends_on_data_is_refused():
    refused(indirect, "B", 1, "several instances of block `B` in a tile initialise the same")


@T.prim_func
def overlapping_in_one_tile(A: T.Buffer((4, 8), "float32"), B: T.Buffer((2,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi // 2] = T.float32(0)
            B[vi // 2] = B[vi // 2] + A[vi, vk] + T.float32(1)


def test_where_the_whole_reduction_is_in_the_tile_its_initialisation_may_stay():
    sch, outer = blockized(overlapping_in_one_tile, "B", 0)
    assert sch.get(outer).init is None
    assert sch.get(sch.get_block("B")).init is not None
    assert_same_meaning(overlapping_in_one_tile, sch)


# --- several blocks -----------------------------------------------------------------------------


@T.prim_func
def pair(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    B = T.alloc_buffer((8, 6))
    for i in range(8):
        for j in range(6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + B[vi, 5 - vj]


@T.prim_func
def pair_joined(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    B = T.alloc_buffer((8, 6))
    for i in range(8):
        with T.block("outer_B_C_"):
            vi_o = T.axis.spatial(8, i)
            _vj_o = T.axis.spatial(1, 0)
            T.reads(A[vi_o, 0:6], B[vi_o, 0:6])
            T.writes(B[vi_o, 0:6], C[vi_o, 0:6])
            for j in range(6):
                with T.block("B"):
                    vj_i = T.axis.spatial(6, j)
                    B[vi_o, vj_i] = A[vi_o, vj_i] * T.float32(2)
            for j in range(6):
                with T.block("C"):
                    vj_i = T.axis.spatial(6, j)
                    C[vi_o, vj_i] = B[vi_o, vj_i] + B[vi_o, 5 - vj_i]


@T.prim_func
def three(
    A: T.Buffer((4, 5), "float32"), D: T.Buffer((4,), "float32"), E: T.Buffer((5,), "float32")
):
    B = T.alloc_buffer((4, 5))
    for i, j in T.grid(4, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(4, 5):
        with T.block("D"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                D[vi] = T.float32(0)
            D[vi] = D[vi] + B[vi, vj]
    for j in range(5):
        with T.block("E"):
            vj = T.axis.spatial(5, j)
            E[vj] = B[0, vj]


@T.prim_func
def sums(
    A: T.Buffer((4, 6), "float32"), D: T.Buffer((4,), "float32"), E: T.Buffer((4,), "float32")
):
    for i, k_0 in T.grid(4, 2):
        for k_1 in range(3):
            with T.block("D"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(6, k_0 * 3 + k_1)
                with T.init():
                    D[vi] = T.float32(0)
                D[vi] = D[vi] + A[vi, vk]
        with T.block("E"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(2, k_0)
            E[vi] = D[vi] + T.Cast("float32", vk)


def test_two_blocks_become_one():
    sch = Schedule(pair, debug_mask="all")
    joint = sch.blockize(["B", "C"])
    assert_becomes(sch, "pair", pair_joined)
    assert sch.get(joint).name_hint == "outer_B_C_"
    assert_same_meaning(pair, sch)


@pytest.mark.parametrize("names", [["B"], ["B", "D"], ["D", "E"], ["E", "D", "B"]])
def test_blocks_next_to_each_other_become_one(names):
    sch = Schedule(three, debug_mask="all")
    joint = sch.blockize([sch.get_block(name) for name in names])
    assert len(sch.get_child_blocks(joint)) == len(names)
    assert_same_meaning(three, sch)


def test_a_list_that_makes_no_block_is_refused():
    sch = Schedule(three)
    with pytest.raises(ScheduleError, match="needs a loop, or a list of at least one block"):
        sch.blockize([])
    with pytest.raises(ScheduleError, match="needs a loop, or a list of at least one block"):
        sch.blockize(sch.get_loops("B"))
    with pytest.raises(ArgumentError, match="`target` must be a LoopRV, or a list of BlockRVs"):
        sch.blockize(3)
    with pytest.raises(ScheduleError, match="a block is given more than once"):
        sch.blockize(["B", "B"])
    with pytest.raises(ScheduleError, match="block `root` is the root block"):
        sch.blockize(["root"])
    with pytest.raises(ScheduleError, match="the blocks are inside of each other"):
        sch.blockize(["B", "root"])
    with pytest.raises(ScheduleError, match="not next to each other: something else runs between"):
        sch.blockize(["B", "E"])


def test_blocks_that_share_loops_with_others_are_refused():
    sch = Schedule(pair)
    sch.add_unit_loop(sch.get_loops("B")[0])
    inner = Schedule(two_and_one)
    with pytest.raises(ScheduleError, match="the blocks must each have loops of their own"):
        inner.blockize(["B", "D"])


@T.prim_func
def two_and_one(A: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,))
    C = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * T.float32(2)
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi] * T.float32(2)
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi] * T.float32(2)


def test_a_reduction_that_goes_on_in_the_next_tile_is_refused():
    sch = Schedule(sums)
    with pytest.raises(ScheduleError, match="the reduction of block `D` goes on from one tile"):
        sch.blockize(["D", "E"])


def test_a_reduction_that_starts_elsewhere_is_refused_in_a_joint_block():
    @T.prim_func
    def backwards(
        A: T.Buffer((4, 6), "float32"), D: T.Buffer((4,), "float32"), E: T.Buffer((4,), "float32")
    ):
        for i in range(4):
            for k in range(6):
                with T.block("D"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(6, 5 - k)
                    with T.init():
                        D[vi] = T.float32(0)
                    D[vi] = D[vi] + A[vi, vk]
            with T.block("E"):
                vi = T.axis.spatial(4, i)
                E[vi] = D[vi]

    with pytest.raises(ScheduleError, match="does not start in the first iteration"):
        Schedule(backwards).blockize(["D", "E"])


@T.prim_func
def unevenly_split(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    for i_0, i_1 in T.grid(2, 3):
        with T.block("B"):
            vi = T.axis.spatial(5, i_0 * 3 + i_1)
            T.where(i_0 * 3 + i_1 < 5)
            B[vi] = A[vi] + T.float32(1)


def test_a_block_alone_keeps_its_condition_around_the_new_one():
    sch = Schedule(unevenly_split, debug_mask="all")
    sch.blockize("B")
    assert_same_meaning(unevenly_split, sch)


@T.prim_func
def different_conditions(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    C = T.alloc_buffer((6,))
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = T.float32(2)
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            T.where(i < 5)
            B[vi] = A[vi] + C[vi]


def test_blocks_with_different_conditions_are_refused_where_iterators_need_them():
    sch = Schedule(different_conditions, debug_mask="all")
    with pytest.raises(ScheduleError, match="`vi_o` of the new block would leave its domain"):
        sch.blockize(["C", "B"])


@T.prim_func
def sum_in_a_unit_loop(A: T.Buffer((4, 2), "float32"), B: T.Buffer((4,), "float32")):
    for i, k, _ in T.grid(4, 2, 1):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


def test_where_the_init_goes_is_the_same_without_proofs():
    found = []
    for checked in (True, False):
        sch = Schedule(sum_in_a_unit_loop, debug_mask="all", enable_check=checked)
        pairs = [sch.split(loop, [None, 2]) for loop in sch.get_loops("B")]
        sch.reorder(*(pair[0] for pair in pairs), *(pair[1] for pair in pairs))
        sch.blockize(pairs[0][1])
        found.append(sch.mod)
    tvm.ir.assert_structural_equal(*found)
    assert_same_meaning(sum_in_a_unit_loop, sch)


@T.prim_func
def triangle_of_any_width(a: T.handle, B: T.Buffer((2,), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (2, n), "float32")
    for i in range(2):
        for k in range(i + 1):
            with T.block("B"):
                vi = T.axis.spatial(2, i)
                vk = T.axis.reduce(2, k)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]


def test_a_region_has_one_type_of_integers():
    sch = Schedule(triangle_of_any_width, debug_mask="all")
    sch.blockize(sch.get_loops("B")[1])
    assert_same_meaning(triangle_of_any_width, sch, sizes={"n": 3})


def test_tiles_that_begin_behind_the_end_are_not_in_the_domain():
    @T.prim_func
    def vectors(A: T.Buffer((40,), "float32"), B: T.Buffer((40,), "float32")):
        for i in range(40):
            with T.block("B"):
                vi = T.axis.spatial(40, i)
                B[vi] = A[vi] * T.float32(2)

    sch = Schedule(vectors)
    i, lane = sch.split(sch.get_loops("B")[0], [None, 8])
    sch.split(i, [None, 3])  # six vectors, of which there are five
    sch.blockize(lane)
    assert "T.axis.spatial(5, i_0_0 * 3 + i_0_1)" in sch.mod["main"].script()
    assert_same_meaning(vectors, sch)
