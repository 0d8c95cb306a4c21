"""decompose_reduction: the init before the loops, where nothing notices."""

import numpy as np
import pytest
from tests.tir.schedule.checking import assert_refused, assert_same_meaning

import tilewright as tvm
from tilewright.ir.structural import assert_structural_equal_ignore_global_symbol
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError
from tilewright.tir.interpreter import interpret


@T.prim_func
def matmul(
    A: T.Buffer((5, 7), "float32"), B: T.Buffer((7, 6), "float32"), C: T.Buffer((5, 6), "float32")
):
    for i, j, k in T.grid(5, 6, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def decomposed(
    A: T.Buffer((5, 7), "float32"), B: T.Buffer((7, 6), "float32"), C: T.Buffer((5, 6), "float32")
):
    for i in range(5):
        for j_init in range(6):
            with T.block("C_init"):
                vi_init, vj_init = T.axis.remap("SS", [i, j_init])
                T.reads()
                T.writes(C[vi_init, vj_init])
                C[vi_init, vj_init] = T.float32(0)
        for j, k in T.grid(6, 7):
            with T.block("C_update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def decomposed_tiles(
    A: T.Buffer((5, 7), "float32"), B: T.Buffer((7, 6), "float32"), C: T.Buffer((5, 6), "float32")
):
    for i, j_0 in T.grid(5, 2):
        for j_1_init in range(4):
            with T.block("C_init"):
                vi_init = T.axis.spatial(5, i)
                vj_init = T.axis.spatial(6, j_0 * 4 + j_1_init)
                T.where(j_0 * 4 + j_1_init < 6)
                T.reads()
                T.writes(C[vi_init, vj_init])
                C[vi_init, vj_init] = T.float32(0)
        for k_0, k_1, j_1 in T.grid(2, 4, 4):
            with T.block("C_update"):
                vi = T.axis.spatial(5, i)
                vj = T.axis.spatial(6, j_0 * 4 + j_1)
                vk = T.axis.reduce(7, k_0 * 4 + k_1)
                T.where(j_0 * 4 + j_1 < 6 and k_0 * 4 + k_1 < 7)
                T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def schedule(func):
    return Schedule(func, debug_mask="all")


def only_function(sch):
    return sch.mod["main"]


def same(sch, expected):
    assert_structural_equal_ignore_global_symbol(only_function(sch), expected)


@T.prim_func
def tiles(
    A: T.Buffer((5, 7), "float32"), B: T.Buffer((7, 6), "float32"), C: T.Buffer((5, 6), "float32")
):
    for i, j_0, k_0, k_1, j_1 in T.grid(5, 2, 2, 4, 4):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            vj = T.axis.spatial(6, j_0 * 4 + j_1)
            vk = T.axis.reduce(7, k_0 * 4 + k_1)
            T.where(j_0 * 4 + j_1 < 6 and k_0 * 4 + k_1 < 7)
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_the_result_prints_as_users_know_it():
    sch = schedule(matmul)
    init = sch.decompose_reduction("C", sch.get_loops("C")[1])
    same(sch, decomposed)
    assert sch.get(init).name_hint == "C_init"
    assert_same_meaning(matmul, sch)


def test_the_block_goes_on_as_the_updates():
    sch = schedule(matmul)
    block = sch.get_block("C")
    loops = sch.get_loops(block)
    sch.decompose_reduction(block, loops[2])
    assert sch.get(block).name_hint == "C_update"
    assert [sch.get(loop).loop_var.name for loop in loops] == ["i", "j", "k"]


@pytest.mark.parametrize("depth", range(3))
def test_at_every_loop(depth):
    sch = schedule(matmul)
    sch.decompose_reduction("C", sch.get_loops("C")[depth])
    assert_same_meaning(matmul, sch)


def test_tails_of_spatial_loops_stay_in_the_predicate():
    sch = schedule(tiles)
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    same(sch, decomposed_tiles)
    assert_same_meaning(tiles, sch)


@pytest.mark.parametrize("depth", range(6))
def test_after_splits(depth):
    sch = schedule(matmul)
    i, j, k = sch.get_loops("C")
    loops = [*sch.split(i, [None, 2]), *sch.split(j, [4, None]), *sch.split(k, [None, 3])]
    if depth < 5:
        sch.decompose_reduction("C", loops[depth])
        assert_same_meaning(matmul, sch)
    else:
        with pytest.raises(ScheduleError, match="must be at or below loop `k_1`"):
            sch.decompose_reduction("C", loops[depth])


@T.prim_func
def triangle(A: T.Buffer((5, 5), "float32"), C: T.Buffer((5,), "float32")):
    for i in range(5):
        for k in range(i):
            with T.block("C"):
                vi = T.axis.spatial(5, i)
                vk = T.axis.reduce(5, k)
                with T.init():
                    C[vi] = T.float32(3)
                C[vi] = C[vi] + A[vi, vk]


@pytest.mark.parametrize("depth", range(2))
def test_a_row_without_updates_is_initialised(depth):
    sch = schedule(triangle)
    sch.decompose_reduction("C", sch.get_loops("C")[depth])
    assert_same_meaning(triangle, sch)


@T.prim_func
def symbolic(a: T.handle, c: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i, k in T.grid(n, m):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]


@pytest.mark.parametrize("depth", range(4))
def test_symbolic_sizes(depth):
    sch = schedule(symbolic)
    i, k = sch.get_loops("C")
    loops = [*sch.split(i, [None, 4]), *sch.split(k, [None, 3])]
    sch.decompose_reduction("C", loops[min(depth, 2)])
    assert_same_meaning(symbolic, sch, sizes={"n": 5, "m": 7})


@T.prim_func
def bias_and_both(
    A: T.Buffer((4, 6), "float32"),
    bias: T.Buffer((4,), "float32"),
    C: T.Buffer((4,), "float32"),
    D: T.Buffer((4,), "float32"),
):
    for i, k in T.grid(4, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = bias[vi]
                D[vi] = T.float32(-100)
            C[vi] = C[vi] + A[vi, vk]
            D[vi] = T.max(D[vi], A[vi, vk])


def test_an_init_may_read_and_write_several_buffers():
    sch = schedule(bias_and_both)
    init = sch.decompose_reduction("C", sch.get_loops("C")[0])
    assert str(sch.get(init).reads) == "(bias[vi_init],)"
    assert_same_meaning(bias_and_both, sch)


@T.prim_func
def blocks_in_blocks(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(2, 4):
        with T.block("tile"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi * 4 : vi * 4 + 4, vk * 2 : vk * 2 + 2])
            T.writes(C[vi * 4 : vi * 4 + 4])
            with T.init():
                for ii in range(4):
                    with T.block("point_init"):
                        wi = T.axis.spatial(4, ii)
                        C[vi * 4 + wi] = T.float32(0)
            for ii, kk in T.grid(4, 2):
                with T.block("point"):
                    wi, wk = T.axis.remap("SR", [ii, kk])
                    C[vi * 4 + wi] = C[vi * 4 + wi] + A[vi * 4 + wi, vk * 2 + wk]


def test_a_block_of_blocks():
    sch = schedule(blocks_in_blocks)
    init = sch.decompose_reduction("tile", sch.get_loops("tile")[0])
    assert sch.get(init).name_hint == "tile_init"
    assert [sch.get(b).name_hint for b in sch.get_child_blocks(init)] == ["point_init"]
    assert_same_meaning(blocks_in_blocks, sch)


@T.prim_func
def consumer_inside(
    A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32")
):
    for i in range(4):
        for k in range(6):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi] * T.float32(2)


def test_a_consumer_after_the_reduction_in_the_same_loop():
    sch = schedule(consumer_inside)
    sch.decompose_reduction("C", sch.get_loops("C")[0])
    assert_same_meaning(consumer_inside, sch)


@T.prim_func
def consumer_of_partial_sums(
    A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32"), D: T.Buffer((4, 6), "float32")
):
    for k in range(6):
        for i in range(4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
        for i in range(4):
            with T.block("D"):
                vi, vk = T.axis.remap("SS", [i, k])
                D[vi, vk] = C[vi]


def test_a_consumer_of_partial_sums():
    sch = schedule(consumer_of_partial_sums)
    sch.decompose_reduction("C", sch.get_loops("C")[0])
    assert_same_meaning(consumer_of_partial_sums, sch)


@T.prim_func
def halves(A: T.Buffer((8, 6), "float32"), D: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((8,))
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            C[vi + 4] = A[vi, 0]
        for k in range(6):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
    for i in range(4):
        with T.block("E"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi] + C[vi + 4]


def test_another_block_that_uses_other_elements():
    sch = schedule(halves)
    sch.decompose_reduction("C", sch.get_loops("C")[0])
    assert_same_meaning(halves, sch)


def test_kinds_and_annotations_of_copied_loops_stay():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
        for i in T.parallel(4, annotations={"pragma": 1}):
            for k in T.unroll(6):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]

    sch = schedule(before)
    init = sch.decompose_reduction("C", sch.get_loops("C")[0])
    (loop,) = map(sch.get, sch.get_loops(init))
    assert loop.loop_var.name == "i_init"
    assert loop.kind == T.parallel(4).kind
    assert dict(loop.annotations) == {"pragma": 1}
    assert_same_meaning(before, sch)


# --- blocks inside of blocks ----------------------------------------------------------------------


@T.prim_func
def sums_by_way_of_a_copy(A: T.Buffer((3, 64), "float32"), B: T.Buffer((3,), "float32")):
    for i, ko in T.grid(3, 2):
        with T.block("outer"):
            vi, vko = T.axis.remap("SR", [i, ko])
            C = T.alloc_buffer((32,))
            with T.init():
                B[vi] = T.float32(0)
            for ki in range(32):
                with T.block("copy"):
                    vki = T.axis.remap("S", [ki])
                    C[vki] = A[vi, vko * 32 + vki]
            for ki in range(32):
                with T.block("add"):
                    vki = T.axis.remap("R", [ki])
                    B[vi] += C[vki]


@T.prim_func
def sums_by_views(A: T.Buffer((3, 64), "float32"), B: T.Buffer((3,), "float32")):
    for i, ko in T.grid(3, 4):
        with T.block("outer"):
            vi, vko = T.axis.remap("SR", [i, ko])
            b = T.match_buffer(B[vi], (1,), offset_factor=1)
            a = T.match_buffer(A[vi, vko * 16 : vko * 16 + 16], (16,), offset_factor=1)
            with T.init():  # noqa: SIM117
                with T.block("start"):
                    T.reads(a[0])
                    T.writes(b[0])
                    b[0] = a[0]
            for k in range(16):
                with T.block("add"):
                    vk = T.axis.remap("R", [k])
                    b[0] += a[vk]


@T.prim_func
def sums_from_memory(A: T.Buffer((3, 64), "float32"), B: T.Buffer((3,), "float32")):
    for i, k in T.grid(3, 64):
        with T.block("outer"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, 0:64])
            T.writes(B[vi])
            start = T.alloc_buffer((2,))
            term = T.alloc_buffer((1,))
            view = T.match_buffer(start[0:2], (2,), offset_factor=1)
            with T.init():
                view[1] = A[vi, 0] * T.float32(2)
                B[vi] = start[1]
            term[0] = A[vi, vk]
            B[vi] += term[0]


@T.prim_func
def sums_of_a_row(A: T.Buffer((3, 64), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        with T.block("row"):
            vi = T.axis.spatial(3, i)
            C = T.alloc_buffer(())
            for k in range(64):
                with T.block("sum"):
                    vk = T.axis.remap("R", [k])
                    with T.init():
                        C[()] = T.float32(0)
                    C[()] += A[vi, vk]
            with T.block("result"):
                B[vi] = C[()]


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("func", [sums_by_way_of_a_copy, sums_by_views, sums_from_memory])
def test_blocks_with_memory_and_views(func, depth):
    sch = schedule(func)
    sch.decompose_reduction("outer", sch.get_loops("outer")[depth])
    assert_same_meaning(func, sch)
    assert_same_code(func, sch)


def test_each_part_keeps_the_memory_that_it_uses():
    sch = schedule(sums_from_memory)
    init = sch.get(sch.decompose_reduction("outer", sch.get_loops("outer")[1]))
    update = sch.get(sch.get_block("outer_update"))
    assert [buffer.name for buffer in init.alloc_buffers] == ["start"]
    assert [buffer.name for buffer in update.alloc_buffers] == ["term"]
    assert [len(block.match_buffers) for block in (init, update)] == [1, 0]


def test_a_reduction_inside_of_a_block():
    sch = schedule(sums_of_a_row)
    sch.decompose_reduction("sum", sch.get_loops("sum")[0])
    assert_same_meaning(sums_of_a_row, sch)
    assert_same_code(sums_of_a_row, sch)


def assert_same_code(func, sch):
    """Native code of the schedule computes what that of the function did."""
    value = np.random.default_rng(0).integers(-8, 9, (3, 64)).astype("float32")
    outputs = [np.zeros(3, "float32") for _ in range(2)]
    for program, output in zip((func, only_function(sch)), outputs, strict=True):
        tvm.build(program, target="llvm")(value, output)
    np.testing.assert_array_equal(*outputs)


# --- refusals -------------------------------------------------------------------------------------


def refused(func, match, depth=0, block="C", wrong=True, reason=""):
    """The refusal names the reason; without proof, the result is another one (if `wrong`)."""

    def step(sch):
        loop = sch.get_loops(block)[depth]
        return lambda: sch.decompose_reduction(block, loop)

    assert reason in assert_refused(func, step, match, differs=wrong)


def test_a_block_without_init():
    sch = schedule(matmul)
    sch.decompose_reduction("C", sch.get_loops("C")[0])
    with pytest.raises(ScheduleError, match="block `C_update` has no init"):
        sch.decompose_reduction("C_update", sch.get_loops("C_update")[0])


def test_a_loop_elsewhere():
    sch = schedule(consumer_of_partial_sums)
    with pytest.raises(ScheduleError, match="loop `i` is not around block `C`"):
        sch.decompose_reduction("C", sch.get_loops("D")[1])


def test_a_branch_in_between():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            if i < 2:
                for k in range(6):
                    with T.block("C"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        with T.init():
                            C[vi] = T.float32(0)
                        C[vi] = C[vi] + A[vi, vk]

    refused(before, "there is more than loops", wrong=False)


def test_a_reduction_loop_outside():
    sch = schedule(matmul)
    k = sch.get_loops("C")[2]
    _, k_1 = sch.split(k, [None, 4])
    with pytest.raises(ScheduleError, match="reduction loops of block `C`") as caught:
        sch.decompose_reduction("C", k_1)
    assert "C[0, 0]: written by C at (vi=0, vj=0, vk=0) in iteration k_0=0" in str(caught.value)


def test_memory_that_both_parts_use():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 6):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi])
                D = T.alloc_buffer((1,))
                with T.init():
                    D[0] = A[vi, 0]
                    C[vi] = D[0]
                D[0] = A[vi, vk]
                C[vi] = C[vi] + D[0]

    refused(before, "block `C` allocates D, which both its init and its updates", wrong=False)


def test_a_loop_around_the_block_outside():
    sch = schedule(sums_of_a_row)
    (i,) = sch.get_loops("row")
    with pytest.raises(ScheduleError, match="loop `i` is around block `row`, in which block `sum`"):
        sch.decompose_reduction("sum", i)


def test_the_init_of_the_block_outside():
    sch = schedule(tiles)
    sch.blockize(sch.get_loops("C")[3])
    with pytest.raises(ScheduleError, match="the init is that of block `C_o` around it"):
        sch.decompose_reduction("C", sch.get_loops("C")[0])


def test_threads_that_reduce():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            for k in T.thread_binding(6, thread="threadIdx.x"):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]

    refused(before, "must be serial", wrong=False)


def test_a_loop_of_both_kinds():
    @T.prim_func
    def before(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, i])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    refused(before, "both reduction and other iterators")


def test_bounds_that_depend_on_the_reduction():
    @T.prim_func
    def before(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
        for k in range(4):
            for i in range(k, 4):
                with T.block("C"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(4, k)
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]

    refused(before, "depend on a reduction loop", wrong=False)


def test_a_loop_that_repeats_the_block():
    @T.prim_func
    def before(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
        for _t, i, k in T.grid(2, 4, 4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    refused(
        before,
        "no iterator of block `C` is bound to loop `_t`",
        reason="C at (vi=0, vk=0) runs in iterations (_t=0, i=0, k=0) and (_t=1, i=0, k=0)",
    )


def test_bindings_that_are_not_affine():
    @T.prim_func
    def before(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
        for i, j, k in T.grid(2, 2, 4):
            with T.block("C"):
                vi = T.axis.spatial(4, i * j)
                vk = T.axis.reduce(4, k)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    refused(before, "not affine")


def test_bindings_that_repeat():
    @T.prim_func
    def before(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 4):
            with T.block("C"):
                vi = T.axis.spatial(4, i // 2)
                vk = T.axis.reduce(4, k)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    refused(before, "do not tell all iterations of i apart")


def test_fused_bindings_that_repeat():
    @T.prim_func
    def before(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
        for i, j, k in T.grid(4, 2, 4):
            with T.block("C"):
                vi = T.axis.spatial(4, (i * 2 + j) % 4)
                vk = T.axis.reduce(4, k)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    refused(before, "do not tell all iterations")


def test_a_reduction_that_counts_down():
    @T.prim_func
    def before(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(4, 3 - k)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    refused(before, "does not begin with the start of `vk`")


def test_a_reduction_that_starts_later():
    @T.prim_func
    def before(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 3):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(4, k + 1)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    refused(before, "does not begin with the start of `vk`")


def test_instances_that_share_an_element():
    @T.prim_func
    def before(A: T.Buffer((4, 4), "float32"), C: T.Buffer((2,), "float32")):
        for i, k in T.grid(4, 4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi // 2] = T.float32(0)
                C[vi // 2] = C[vi // 2] + A[vi, vk]

    refused(before, "two instances of block `C` may write the same element of `C`")


def test_regions_that_overlap():
    @T.prim_func
    def before(A: T.Buffer((4, 4), "float32"), C: T.Buffer((8,), "float32")):
        for i, k in T.grid(4, 4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi * 2 : vi * 2 + 3])
                with T.init():
                    for t in range(T.min(3, 8 - vi * 2)):
                        C[vi * 2 + t] = T.float32(0)
                for t in range(T.min(3, 8 - vi * 2)):
                    C[vi * 2 + t] = C[vi * 2 + t] + A[vi, vk]

    refused(before, "two instances of block `C` may write")


def test_reading_the_neighbour():
    @T.prim_func
    def before(A: T.Buffer((4, 4), "float32"), C: T.Buffer((5,), "float32")):
        for i, k in T.grid(4, 4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(C[vi : vi + 2], A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk] * C[vi + 1]

    refused(before, "reads `C` not only where it writes it")


def test_another_block_changes_what_the_init_reads():
    @T.prim_func
    def before(
        A: T.Buffer((4, 4), "float32"),
        bias: T.Buffer((4,), "float32"),
        C: T.Buffer((4,), "float32"),
    ):
        for i in range(4):
            with T.block("bias"):
                vi = T.axis.spatial(4, i)
                bias[vi] = A[vi, 0]
            for k in range(4):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = bias[vi]
                    C[vi] = C[vi] + A[vi, vk]

    refused(before, "block `bias` writes `bias`, which the init of block `C` reads")


def test_another_block_reads_before():
    @T.prim_func
    def before(
        A: T.Buffer((4, 4), "float32"), D: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")
    ):
        for i in range(4):
            with T.block("D"):
                vi = T.axis.spatial(4, i)
                D[vi] = C[vi]
            for k in range(4):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]

    refused(
        before,
        "block `D` below loop `i` uses elements of `C`",
        reason="D at (vi=0) reads C[0]; then C at (vi=0, vk=0) writes C[0]",
    )


def test_another_block_reads_the_next_elements():
    @T.prim_func
    def before(
        A: T.Buffer((4, 4), "float32"), D: T.Buffer((4,), "float32"), C: T.Buffer((5,), "float32")
    ):
        for i in range(4):
            for k in range(4):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]
            with T.block("D"):
                vi = T.axis.spatial(4, i)
                D[vi] = C[vi + 1]

    refused(before, "block `D` below loop `i` uses elements of `C`")


def test_another_block_writes_elements_of_gaps():
    @T.prim_func
    def before(A: T.Buffer((2, 4), "float32"), C: T.Buffer((5,), "float32")):
        for i in range(2):
            for j, k in T.grid(2, 4):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        C[vi + vj * 2] = T.float32(0)
                    C[vi + vj * 2] = C[vi + vj * 2] + A[vi, vk]
            with T.block("D"):
                vi = T.axis.spatial(2, i)
                C[vi + 1] = T.float32(7)

    refused(before, "block `D` below loop `i` uses elements of `C`")


def test_a_predicate_over_unit_loops_that_nothing_is_bound_to():
    @T.prim_func
    def unit_loops(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        for i, u, k in T.grid(4, 1, 8):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.where(u + i < 4)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    sch = Schedule(unit_loops, debug_mask="all")
    sch.decompose_reduction("C", sch.get_loops("C")[0])
    assert_same_meaning(unit_loops, sch)


@T.prim_func
def cut_triangle(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i_0, i_1 in T.grid(2, 2):
        for k_0, k_1 in T.grid((i_0 * 2 + i_1 + 2) // 2, 2):
            with T.block("B"):
                vi = T.axis.spatial(4, i_0 * 2 + i_1)
                vk = T.axis.reduce(4, k_0 * 2 + k_1)
                T.where(k_0 * 2 + k_1 < i_0 * 2 + i_1 + 1)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]


def test_the_condition_of_the_init_is_the_same_without_proofs():
    found = []
    for checked in (True, False):
        sch = Schedule(cut_triangle, debug_mask="all", enable_check=checked)
        sch.decompose_reduction("B", sch.get_loops("B")[0])
        found.append(sch.mod)
    tvm.ir.assert_structural_equal(*found)
    assert_same_meaning(cut_triangle, sch)


@T.prim_func
def counted(L: T.Buffer((1,), "int32"), A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        for j in range(L[0]):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.reduce(4, j)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vj]


def test_a_loop_of_which_memory_tells_the_extent_may_have_no_iteration():
    sch = Schedule(counted, debug_mask="all")
    sch.decompose_reduction("C", sch.get_loops("C")[1])
    for count in (0, 3):
        results = []
        for mod in (counted, sch.mod["main"]):
            c = np.full(4, 7, "float32")
            interpret(mod, np.array([count], "int32"), np.arange(4, dtype="float32"), c)
            results.append(c)
        np.testing.assert_array_equal(*results)


@T.prim_func
def masked_sum(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(k < 1 or k < i)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


def test_an_init_that_mentions_the_reduction():
    sch = Schedule(masked_sum, debug_mask="all")
    (i_0, i_1), (k_0, k_1) = (sch.split(loop, [None, 2]) for loop in sch.get_loops("B"))
    sch.reorder(i_0, k_0, i_1, k_1)
    tile = sch.blockize(i_1)
    sch.decompose_reduction(tile, i_0)
    assert_same_meaning(masked_sum, sch)
