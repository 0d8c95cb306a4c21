"""rfactor: partial results that are independent, and their reduction."""

import pytest
from tests.tir.schedule.checking import assert_refused, assert_same_meaning

from tilewright.ir.structural import assert_structural_equal_ignore_global_symbol
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def rowsum(A: T.Buffer((5, 32), "float32"), B: T.Buffer((5,), "float32")):
    for i, k_0, k_1 in T.grid(5, 8, 4):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            vk = T.axis.reduce(32, k_0 * 4 + k_1)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def factored(A: T.Buffer((5, 32), "float32"), B: T.Buffer((5,), "float32")):
    B_rf = T.alloc_buffer((4, 5))
    for i, k_0, k_1 in T.grid(5, 8, 4):
        with T.block("B_rf"):
            vk_1, vi, vk_0 = T.axis.remap("SSR", [k_1, i, k_0])
            T.reads(A[vi, vk_0 * 4 + vk_1])
            T.writes(B_rf[vk_1, vi])
            with T.init():
                B_rf[vk_1, vi] = T.float32(0)
            B_rf[vk_1, vi] = B_rf[vk_1, vi] + A[vi, vk_0 * 4 + vk_1]
    for i, k_1 in T.grid(5, 4):
        with T.block("B"):
            vk_1, vi = T.axis.remap("RS", [k_1, i])
            T.reads(B_rf[vk_1, vi])
            T.writes(B[vi])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + B_rf[vk_1, vi]


def schedule(func):
    return Schedule(func, debug_mask="all")


def only_function(sch):
    return sch.mod["main"]


def same(sch, expected):
    assert_structural_equal_ignore_global_symbol(only_function(sch), expected)


def check(func, block, factors, chosen, axis=0, loop=-1, sizes=None):
    """Split a loop, factorise one of the parts, compare; the schedule."""
    sch = schedule(func)
    parts = sch.split(sch.get_loops(block)[loop], factors)
    sch.rfactor(parts[chosen], axis)
    assert_same_meaning(func, sch, sizes=sizes)
    return sch


def test_the_result_prints_as_users_know_it():
    sch = schedule(rowsum)
    block = sch.get_block("B")
    loops = sch.get_loops(block)
    partial = sch.rfactor(loops[2], 0)
    same(sch, factored)
    assert sch.get(partial).name_hint == "B_rf"
    assert sch.get(block).name_hint == "B"
    assert [sch.get(loop).loop_var.name for loop in sch.get_loops(partial)] == ["i", "k_0", "k_1"]
    assert sch.get(loops[0]) is sch.get(sch.get_loops(block)[0])
    assert_same_meaning(rowsum, sch)


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
@pytest.mark.parametrize("chosen", [0, 1])
@pytest.mark.parametrize("factors", [[None, 4], [4, None], [4, 3], [5, 3]])
def test_tails(factors, chosen, axis):
    @T.prim_func
    def matmul(
        A: T.Buffer((2, 7), "float32"),
        B: T.Buffer((7, 3), "float32"),
        C: T.Buffer((2, 3), "float32"),
    ):
        for i, j, k in T.grid(2, 3, 7):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    sch = check(matmul, "C", factors, chosen, axis)
    (buffer,) = [b for b in only_function(sch).body.block.alloc_buffers if b.name == "C_rf"]
    assert len(buffer.shape) == 3
    position = axis if axis >= 0 else axis + 3
    assert [str(e) for n, e in enumerate(buffer.shape) if n != position] == ["2", "3"]


@T.prim_func
def tail_after(A: T.Buffer((2, 5), "float32"), B: T.Buffer((2,), "float32")):
    B_rf = T.alloc_buffer((4, 2))
    for i, k_0, k_1 in T.grid(2, 4, 3):
        with T.block("B_rf"):
            vk_0, vi, vk_1 = T.axis.remap("SSR", [k_0, i, k_1])
            T.reads(A[vi, vk_0 * 3 + vk_1])
            T.writes(B_rf[vk_0, vi])
            with T.init():
                B_rf[vk_0, vi] = T.float32(0)
            if vk_0 * 3 + vk_1 < 5:
                B_rf[vk_0, vi] = B_rf[vk_0, vi] + A[vi, vk_0 * 3 + vk_1]
    for i, k_0 in T.grid(2, 4):
        with T.block("B"):
            vk_0, vi = T.axis.remap("RS", [k_0, i])
            T.reads(B_rf[vk_0, vi])
            T.writes(B[vi])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + B_rf[vk_0, vi]


def test_parts_without_any_value_are_initialised():
    @T.prim_func
    def before(A: T.Buffer((2, 5), "float32"), B: T.Buffer((2,), "float32")):
        for i, k in T.grid(2, 5):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    same(check(before, "B", [4, 3], 0), tail_after)


def test_a_predicate_of_spatial_loops_is_kept_in_both():
    sch = schedule(rowsum)
    i, _, k_1 = sch.get_loops("B")
    sch.split(i, [None, 3])
    partial = sch.rfactor(k_1, 0)
    for block in (partial, sch.get_block("B")):
        realize = sch.get_sref(block)
        assert str(realize.tree.realize(realize.stmt).predicate) == "i_0 * 3 + i_1 < 5"
    assert_same_meaning(rowsum, sch)


OPERATORS = {
    "sum": (lambda x, y: x + y, 5, 0),
    "sum from 0": (lambda x, y: x + y, 0, 0),
    "difference": (lambda x, y: x - y, 3, 0),
    "product": (lambda x, y: x * y, 2, 1),
    "maximum": (lambda x, y: T.max(x, y), 3, 3),
    "minimum": (lambda x, y: T.min(x, y), -100, -100),
    "bits": (lambda x, y: T.bitwise_or(x, y), 1, 1),
    "exclusive": (lambda x, y: T.bitwise_xor(x, y), 1, 0),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_and_their_initial_values(name):
    combine, initial, neutral = OPERATORS[name]

    @T.prim_func
    def before(A: T.Buffer((3, 5), "int32"), B: T.Buffer((3,), "int32")):
        for i, k in T.grid(3, 5):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = initial
                B[vi] = combine(B[vi], A[vi, vk])

    sch = check(before, "B", [None, 2], 0)
    assert sch.get(sch.get_block("B_rf")).init.value.value == neutral
    assert sch.get(sch.get_block("B")).init.value.value == initial
    check(before, "B", [3, 3], 0)


def test_an_initial_value_from_memory():
    @T.prim_func
    def before(
        A: T.Buffer((3, 6), "float32"),
        bias: T.Buffer((3,), "float32"),
        B: T.Buffer((3,), "float32"),
    ):
        for i, k in T.grid(3, 6):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = bias[vi]
                B[vi] = B[vi] + A[vi, vk]

    check(before, "B", [None, 2], 1)


def test_updates_under_a_condition():
    @T.prim_func
    def before(A: T.Buffer((3, 6), "float32"), B: T.Buffer((3,), "float32")):
        for i, k in T.grid(3, 6):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                if vk % 2 == 0:
                    B[vi] = B[vi] + A[vi, vk]

    check(before, "B", [None, 2], 1)


@T.prim_func
def argmax(
    index: T.Buffer((3, 7), "int32"),
    value: T.Buffer((3, 7), "float32"),
    best: T.Buffer((3,), "int32"),
    most: T.Buffer((3,), "float32"),
):
    for i, k in T.grid(3, 7):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                best[vi] = -1
                most[vi] = T.min_value("float32")
            v_best: T.int32 = T.Select(most[vi] >= value[vi, vk], best[vi], index[vi, vk])
            v_most: T.float32 = T.Select(most[vi] >= value[vi, vk], most[vi], value[vi, vk])
            best[vi] = v_best
            most[vi] = v_most


@T.prim_func
def argmax_factored(
    index: T.Buffer((3, 7), "int32"),
    value: T.Buffer((3, 7), "float32"),
    best: T.Buffer((3,), "int32"),
    most: T.Buffer((3,), "float32"),
):
    best_rf = T.alloc_buffer((3, 2), "int32")
    most_rf = T.alloc_buffer((3, 2))
    for i, k_0, k_1 in T.grid(3, 2, 4):
        with T.block("argmax_rf"):
            vk_0, vi, vk_1 = T.axis.remap("SSR", [k_0, i, k_1])
            T.where(k_0 * 4 + k_1 < 7)
            T.reads(value[vi, vk_0 * 4 + vk_1], index[vi, vk_0 * 4 + vk_1])
            T.writes(best_rf[vi, vk_0], most_rf[vi, vk_0])
            with T.init():
                best_rf[vi, vk_0] = -1
                most_rf[vi, vk_0] = T.min_value("float32")
            v_best: T.int32 = T.Select(
                most_rf[vi, vk_0] >= value[vi, vk_0 * 4 + vk_1],
                best_rf[vi, vk_0],
                index[vi, vk_0 * 4 + vk_1],
            )
            v_most: T.float32 = T.Select(
                most_rf[vi, vk_0] >= value[vi, vk_0 * 4 + vk_1],
                most_rf[vi, vk_0],
                value[vi, vk_0 * 4 + vk_1],
            )
            best_rf[vi, vk_0] = v_best
            most_rf[vi, vk_0] = v_most
    for i, k_0 in T.grid(3, 2):
        with T.block("argmax"):
            vk_0, vi = T.axis.remap("RS", [k_0, i])
            T.reads(most_rf[vi, vk_0], best_rf[vi, vk_0])
            T.writes(best[vi], most[vi])
            with T.init():
                best[vi] = -1
                most[vi] = T.min_value("float32")
            v_best: T.int32 = T.Select(most[vi] >= most_rf[vi, vk_0], best[vi], best_rf[vi, vk_0])
            v_most: T.float32 = T.Select(most[vi] >= most_rf[vi, vk_0], most[vi], most_rf[vi, vk_0])
            best[vi] = v_best
            most[vi] = v_most


def test_the_argument_of_a_maximum():
    same(check(argmax, "argmax", [None, 4], 0, axis=1), argmax_factored)


def test_several_independent_results():
    @T.prim_func
    def before(
        A: T.Buffer((3, 6), "float32"), B: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32")
    ):
        for i, k in T.grid(3, 6):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(7)
                    C[vi] = T.float32(-3)
                B[vi] = B[vi] + A[vi, vk]
                C[vi] = T.max(C[vi], A[vi, vk])

    check(before, "B", [None, 2], 1)
    check(before, "B", [5, 3], 0)


def test_a_reduction_to_one_element():
    @T.prim_func
    def before(A: T.Buffer((6, 4), "float32"), B: T.Buffer((), "float32")):
        for i, j in T.grid(6, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("RR", [i, j])
                with T.init():
                    B[()] = T.float32(0)
                B[()] = B[()] + A[vi, vj] * A[vi, vj]

    sch = check(before, "B", [None, 2], 0)
    check(before, "B", [None, 4], 0, loop=0)
    assert [v.var.name for v in sch.get(sch.get_block("B_rf")).iter_vars] == ["vj_0", "vi", "vj_1"]
    fused = schedule(before)
    loop = fused.fuse(*fused.get_loops("B"))
    fused.rfactor(fused.split(loop, [None, 8])[1], 0)
    assert_same_meaning(before, fused)


def test_iterators_that_share_a_loop():
    @T.prim_func
    def before(A: T.Buffer((2, 3, 4), "float32"), B: T.Buffer((2,), "float32")):
        for i, f, g in T.grid(2, 6, 2):
            with T.block("B"):
                vi = T.axis.spatial(2, i)
                vj = T.axis.reduce(3, f // 2)
                vk = T.axis.reduce(4, f % 2 * 2 + g)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vj, vk]

    for loop in (1, 2):
        sch = schedule(before)
        sch.rfactor(sch.get_loops("B")[loop], 0)
        assert_same_meaning(before, sch)


def test_reduction_loops_outside_of_spatial_ones():
    sch = schedule(rowsum)
    i, k_0, _ = sch.get_loops("B")
    sch.split(i, [None, 2])
    sch.rfactor(k_0, -1)
    assert_same_meaning(rowsum, sch)

    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
        for k_0, i, k_1 in T.grid(3, 4, 2):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(6, k_0 * 2 + k_1)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    for loop in (0, 2):
        sch = schedule(before)
        sch.rfactor(sch.get_loops("B")[loop], 0)
        assert_same_meaning(before, sch)


def test_a_loop_that_starts_later():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            for k_0, k_1 in T.grid(T.int32(3), 2):
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(6, k_0 * 2 + k_1)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]

    @T.prim_func
    def later(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            for k in range(2, 6):
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce((2, 6), k)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]

    check(before, "B", [None, 2], 0, loop=1)
    sch = schedule(later)
    sch.rfactor(sch.get_loops("B")[1], 0)
    assert_same_meaning(later, sch)


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, k in T.grid(n, m):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@pytest.mark.parametrize("chosen", [0, 1])
def test_symbolic_sizes(chosen):
    sch = check(symbolic, "B", [None, 4], chosen, sizes={"n": 3, "m": 9})
    assert_same_meaning(symbolic, sch, sizes={"n": 3, "m": 2})


@T.prim_func
def fused_consumer(
    A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32")
):
    for i in range(4):
        for k_0, k_1 in T.grid(3, 2):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(6, k_0 * 2 + k_1)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = B[vi] * T.float32(2)


def test_a_consumer_in_the_same_loop():
    sch = schedule(fused_consumer)
    partial = sch.rfactor(sch.get_loops("B")[1], 0)
    assert len(sch.get_loops(partial)) == 3
    assert sch.get(sch.get_loops(partial)[0]) is not sch.get(sch.get_loops("D")[0])
    assert_same_meaning(fused_consumer, sch)


def test_a_producer_in_the_same_loop():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
        P = T.alloc_buffer((4, 6))
        for i in range(4):
            for k in range(6):
                with T.block("P"):
                    vi, vk = T.axis.remap("SS", [i, k])
                    P[vi, vk] = A[vi, vk] * T.float32(2)
            for k_0, k_1 in T.grid(3, 2):
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(6, k_0 * 2 + k_1)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + P[vi, vk]

    sch = schedule(before)
    partial = sch.rfactor(sch.get_loops("B")[1], 0)
    assert sch.get(sch.get_loops(partial)[0]) is sch.get(sch.get_loops("P")[0])
    assert_same_meaning(before, sch)


def test_a_producer_in_the_factorised_loop():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
        P = T.alloc_buffer((4, 6))
        for k_0 in range(3):
            for i, k_1 in T.grid(4, 2):
                with T.block("P"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.spatial(6, k_0 * 2 + k_1)
                    P[vi, vk] = A[vi, vk] * T.float32(2)
            for i, k_1 in T.grid(4, 2):
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(6, k_0 * 2 + k_1)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + P[vi, vk]

    sch = schedule(before)
    sch.rfactor(sch.get_loops("B")[0], 0)
    assert_same_meaning(before, sch)
    sch = schedule(before)
    with pytest.raises(ScheduleError, match="loop `k_0` contains more than block `B`"):
        sch.rfactor(sch.get_loops("B")[2], 0)


def test_twice():
    sch = schedule(rowsum)
    _, k_0, k_1 = sch.get_loops("B")
    partial = sch.rfactor(k_1, 0)
    loops = sch.get_loops(partial)
    sch.rfactor(loops[1], 0)
    assert k_0 is not None
    assert_same_meaning(rowsum, sch)


# --- refusals -------------------------------------------------------------------------------------


def refused(func, match, loop=-1, axis=0, block="B", wrong=False):
    """The refusal names the reason; without proof, the result is another one (if `wrong`)."""

    def step(sch):
        chosen = sch.get_loops(block)[loop]
        return lambda: sch.rfactor(chosen, axis)

    assert_refused(func, step, match, differs=wrong)


def test_a_spatial_loop():
    refused(rowsum, "no reduction iterator of a block is bound to loop `i`", loop=0)


@pytest.mark.parametrize("axis", [-3, 2])
def test_an_axis_out_of_range(axis):
    refused(rowsum, f"factor_axis {axis} is not between -2 and 1", axis=axis)


def test_a_loop_that_reduces_two_blocks():
    @T.prim_func
    def before(
        A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((1,), "float32")
    ):
        for k in range(6):
            with T.block("B"):
                vk = T.axis.reduce(6, k)
                with T.init():
                    B[0] = T.float32(0)
                B[0] = B[0] + A[vk]
            with T.block("C"):
                vk = T.axis.reduce(6, k)
                with T.init():
                    C[0] = T.float32(0)
                C[0] = C[0] + A[vk]

    refused(before, "loop `k` reduces several blocks: block `B`, block `C`")


def test_a_block_without_init():
    sch = schedule(rowsum)
    k_1 = sch.get_loops("B")[2]
    sch.decompose_reduction("B", sch.get_loops("B")[0])
    with pytest.raises(ScheduleError, match="block `B_update` has no init"):
        sch.rfactor(k_1, 0)


def test_a_block_with_its_own_buffers():
    @T.prim_func
    def before(A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32")):
        for k in range(6):
            with T.block("B"):
                vk = T.axis.reduce(6, k)
                T.reads(A[vk])
                T.writes(B[0])
                D = T.alloc_buffer((1,))
                with T.init():
                    B[0] = T.float32(0)
                D[0] = A[vk]
                B[0] = B[0] + D[0]

    refused(before, "declares buffers of its own")


def test_no_commutative_operator():
    @T.prim_func
    def before(A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32")):
        for k in range(6):
            with T.block("B"):
                vk = T.axis.reduce(6, k)
                with T.init():
                    B[0] = T.float32(0)
                B[0] = A[vk] - B[0]

    refused(before, "does not combine a value into an element by a commutative")


def test_an_init_that_is_not_a_store_per_element():
    @T.prim_func
    def before(A: T.Buffer((6,), "float32"), B: T.Buffer((2,), "float32")):
        for k in range(6):
            with T.block("B"):
                vk = T.axis.reduce(6, k)
                with T.init():
                    B[0] = T.float32(0)
                    B[1] = T.float32(0)
                B[0] = B[0] + A[vk]

    @T.prim_func
    def elsewhere(A: T.Buffer((6,), "float32"), B: T.Buffer((2,), "float32")):
        for k in range(6):
            with T.block("B"):
                vk = T.axis.reduce(6, k)
                with T.init():
                    B[1] = T.float32(0)
                B[0] = B[0] + A[vk]

    @T.prim_func
    def more(
        A: T.Buffer((6,), "float32"), B: T.Buffer((2,), "float32"), C: T.Buffer((2,), "float32")
    ):
        for k in range(6):
            with T.block("B"):
                vk = T.axis.reduce(6, k)
                with T.init():
                    B[0] = T.float32(0)
                    C[0] = T.float32(0)
                B[0] = B[0] + A[vk]

    for func in (before, elsewhere, more):
        refused(func, "init of block `B` is not one store for each element")


def test_buffers_of_different_dimensions():
    @T.prim_func
    def before(
        A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((1, 1), "float32")
    ):
        for k in range(6):
            with T.block("B"):
                vk = T.axis.reduce(6, k)
                with T.init():
                    B[0] = T.float32(0)
                    C[0, 0] = T.float32(0)
                B[0] = B[0] + A[vk]
                C[0, 0] = C[0, 0] + A[vk]

    refused(before, "differ in their number of dimensions")


def test_a_loop_that_runs_in_parallel():
    @T.prim_func
    def before(A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32")):
        for k in T.thread_binding(6, thread="threadIdx.x"):
            with T.block("B"):
                vk = T.axis.reduce(6, k)
                with T.init():
                    B[0] = T.float32(0)
                B[0] = B[0] + A[vk]

    refused(before, "must be serial")


def test_instances_that_share_an_element():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), B: T.Buffer((2,), "float32")):
        for k, i in T.grid(6, 4):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi // 2] = T.float32(0)
                B[vi // 2] = B[vi // 2] + A[vi, vk]

    refused(before, "may write the same element", loop=0, wrong=True)


def test_bounds_that_depend_on_a_loop():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            for k in range(i + 1):
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(6, k)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]

    @T.prim_func
    def other(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            for k_0 in range(i + 1):
                for k_1 in range(1):
                    with T.block("B"):
                        vi = T.axis.spatial(4, i)
                        vk = T.axis.reduce(6, k_0 + k_1)
                        with T.init():
                            B[vi] = T.float32(0)
                        B[vi] = B[vi] + A[vi, vk]

    refused(before, "and so would the size of the partial")
    refused(other, r"bounds of loop `k_0` depend on another loop\n")


def test_a_predicate_that_excludes_the_init():
    @T.prim_func
    def before(A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32")):
        for k in range(6):
            with T.block("B"):
                vk = T.axis.reduce(6, k)
                T.where(k > 0)
                with T.init():
                    B[0] = T.float32(0)
                B[0] = B[0] + A[vk]

    refused(before, "may exclude the instances of block `B` in which its init runs")
    refused(before, r"Counterexample: B at \(vk=1\) reads B\[0\] before B at \(vk=1\) writes it")


def test_a_predicate_that_mixes():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 6):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.where(k <= i)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    refused(before, "mixes reduction loops with others")


def test_a_producer_between_reduction_loops():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
        P = T.alloc_buffer((4,))
        for i, k in T.grid(4, 6):
            with T.block("P"):
                vi, vk = T.axis.remap("SS", [i, k])
                P[vi] = A[vi, vk]
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + P[vi]

    refused(before, "block `P` writes what block `B` reads, next to it")


def test_a_store_in_no_block_in_the_loop():
    @T.prim_func
    def before(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            for k in range(3):
                A[i, 2] = A[i, 2] * T.float32(2)
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]

    refused(before, "has accesses of `A` that are in no block")


def test_a_producer_in_the_loop_by_another_name():
    @T.prim_func
    def before(A: T.Buffer((12,), "float32"), B: T.Buffer((4,), "float32")):
        A_1 = T.Buffer((4, 3), "float32", data=A.data)
        for i in range(4):
            for k in range(3):
                with T.block("A"):
                    vi, vk = T.axis.remap("SS", [i, k])
                    A_1[vi, vk] = A_1[vi, vk] + T.float32(1)
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi * 3 + vk]

    refused(before, "block `A` writes what block `B` reads, next to it")


@T.prim_func
def indexed_by_step(A: T.Buffer((1,), "float32"), B: T.Buffer((1, 4), "float32")):
    """The only step of the reduction is an index of what it writes."""
    for i, k in T.grid(4, 1):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vk, vi] = T.float32(0)
            B[vk, vi] = B[vk, vi] + A[vk]


def test_an_index_that_depends_on_the_reduction_is_refused():
    message = "an index of `B` in block `B` depends on an iterator of the reduction"
    assert_refused(
        indexed_by_step, lambda sch: lambda: sch.rfactor(sch.get_loops("B")[1], 0), message
    )
