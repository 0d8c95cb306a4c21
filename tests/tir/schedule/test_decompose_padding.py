"""decompose_padding: a constant everywhere, then what is inside."""

import pytest
from tests.tir.schedule.checking import assert_refused, assert_same_meaning

from tilewright.ir.structural import assert_structural_equal_ignore_global_symbol
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def pad(A: T.Buffer((8,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        with T.block("pad"):
            vi = T.axis.spatial(14, i)
            B[vi] = T.if_then_else(vi >= 4 and vi < 12, A[vi - 4], 7)


@T.prim_func
def decomposed(A: T.Buffer((8,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        with T.block("pad_pad_const"):
            vi = T.axis.spatial(14, i)
            T.reads()
            T.writes(B[vi])
            B[vi] = 7
    for i in range(8):
        with T.block("pad"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.writes(B[vi + 4])
            B[vi + 4] = A[vi]


@T.prim_func
def pad2d(A: T.Buffer((2, 3, 4), "float32"), B: T.Buffer((2, 5, 6), "float32")):
    for c, i, j in T.grid(2, 5, 6):
        with T.block("pad"):
            vc, vi, vj = T.axis.remap("SSS", [c, i, j])
            B[vc, vi, vj] = T.if_then_else(
                1 <= vi and vi <= 3 and 0 < vj and 5 > vj,  # noqa: SIM300
                A[vc, vi - 1, vj - 1],
                T.float32(0),
            )


@T.prim_func
def decomposed2d(A: T.Buffer((2, 3, 4), "float32"), B: T.Buffer((2, 5, 6), "float32")):
    for c, i in T.grid(2, 5):
        for j in range(6):
            with T.block("pad_pad_const"):
                vc, vi, vj = T.axis.remap("SSS", [c, i, j])
                T.reads()
                T.writes(B[vc, vi, vj])
                B[vc, vi, vj] = T.float32(0)
        for j in range(4):
            with T.block("pad"):
                vc, vi, vj = T.axis.remap("SSS", [c, i, j])
                T.where(1 <= i and i <= 3)  # noqa: SIM300
                T.reads(A[vc, vi - 1, vj])
                T.writes(B[vc, vi, vj + 1])
                B[vc, vi, vj + 1] = A[vc, vi - 1, vj]


def schedule(func):
    return Schedule(func, debug_mask="all")


def only_function(sch):
    return sch.mod["main"]


def check(func, depth, sizes=None, kind=None):
    sch = schedule(func)
    loop = sch.get_loops("pad")[depth]
    if kind is not None:
        sch.bind(loop, kind)
    assert sch.can_decompose_padding("pad", loop)
    block = sch.get_block("pad")
    fill = sch.decompose_padding(block, loop)
    assert sch.get(fill).name_hint == "pad_pad_const"
    assert sch.get(block).name_hint == "pad"
    assert_same_meaning(func, sch, sizes=sizes)
    return sch


def test_the_result_prints_as_users_know_it():
    sch = check(pad, 0)
    assert_structural_equal_ignore_global_symbol(only_function(sch), decomposed)


def test_bounds_of_loops_outside_become_a_predicate():
    sch = check(pad2d, 2)
    assert_structural_equal_ignore_global_symbol(only_function(sch), decomposed2d)


@pytest.mark.parametrize("depth", [0, 1])
def test_two_dimensions(depth):
    sch = check(pad2d, depth)
    extents = [str(sch.get(loop).extent) for loop in sch.get_loops("pad")]
    assert extents == ["2", "3", "4"]


@pytest.mark.parametrize("factors", [[None, 2], [None, 3], [5, None]])
def test_after_splits(factors):
    sch = schedule(pad2d)
    _, i, j = sch.get_loops("pad")
    parts = sch.split(i, factors)
    sch.split(j, factors)
    sch.decompose_padding("pad", parts[1])
    assert_same_meaning(pad2d, sch)


def test_after_fuse():
    sch = schedule(pad2d)
    loop = sch.fuse(*sch.get_loops("pad"))
    sch.decompose_padding("pad", loop)
    assert_same_meaning(pad2d, sch)


def test_symbolic_sizes():
    @T.prim_func
    def before(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n + T.int64(4),), "float32")
        for i in range(n + T.int64(4)):
            with T.block("pad"):
                vi = T.axis.spatial(n + T.int64(4), i)
                B[vi] = T.if_then_else(
                    T.int64(3) <= vi and vi < n + T.int64(3), A[vi - T.int64(3)], T.float32(0)
                )

    sch = check(before, 0, sizes={"n": 5})
    (loop,) = sch.get_loops("pad")
    assert str(sch.get(loop).extent) == "n"


def test_a_value_that_is_computed():
    @T.prim_func
    def before(A: T.Buffer((4,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                B[vi] = T.if_then_else(vi >= 1 and vi < 5, A[vi - 1] * 2 + vi, -1)

    check(before, 0)


def test_other_conditions_become_a_predicate():
    @T.prim_func
    def before(A: T.Buffer((4, 6), "int32"), B: T.Buffer((6, 6), "int32")):
        for i, j in T.grid(6, 6):
            with T.block("pad"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.if_then_else(
                    vi >= 1 and vi < 5 and vi + vj < 7 and vj % 2 == 0, A[vi - 1, vj], -1
                )

    check(before, 0)
    check(before, 1)

    @T.prim_func
    def scaled(A: T.Buffer((4,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                B[vi] = T.if_then_else(vi * 2 >= 3 and vi < 5, A[vi - 1], -1)

    check(scaled, 0)


def test_conditions_that_the_domain_implies():
    @T.prim_func
    def before(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                B[vi] = T.if_then_else(vi >= -3 and vi < 9, A[vi], -1)

    sch = check(before, 0)
    (loop,) = sch.get_loops("pad")
    assert str(sch.get(loop).extent) == "6"


def test_a_loop_that_is_longer_than_the_domain():
    @T.prim_func
    def before(A: T.Buffer((4,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(8):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                T.where(i < 6)
                B[vi] = T.if_then_else(vi >= 1 and vi < 5, A[vi - 1], -1)

    check(before, 0)

    @T.prim_func
    def unbounded(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(8):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                T.where(i < 6)
                B[vi] = T.if_then_else(vi >= 2, A[vi - 2], -1)

    check(unbounded, 0)


def test_loops_that_are_used_otherwise_keep_their_extent():
    @T.prim_func
    def twice(A: T.Buffer((6, 6), "int32"), B: T.Buffer((6, 6), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi, vj = T.axis.remap("SS", [i, i])
                B[vi, vj] = T.if_then_else(vi >= 1 and vi < 5 and vj < 3, A[vi - 1, vj], -1)

    @T.prim_func
    def bounds(A: T.Buffer((6, 6), "int32"), B: T.Buffer((6, 6), "int32")):
        for i in range(6):
            for j in range(i):
                with T.block("pad"):
                    vi = T.axis.spatial(6, i)
                    vj = T.axis.spatial(6, j)
                    B[vi, vj] = T.if_then_else(vi >= 1 and vi < 5 and vj < 3, A[vi - 1, vj], -1)

    @T.prim_func
    def later(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(1, 6):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                B[vi] = T.if_then_else(vi >= 2 and vi < 5, A[vi - 1], -1)

    @T.prim_func
    def later_domain(A: T.Buffer((6,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.spatial((2, 8), i + 2)
                B[vi] = T.if_then_else(vi >= 4 and vi < 7, A[vi - 3], -1)

    @T.prim_func
    def threads(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        for i in T.thread_binding(6, thread="threadIdx.x"):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                B[vi] = T.if_then_else(vi >= 2 and vi < 5, A[vi - 1], -1)

    for func in (twice, bounds, later, later_domain, threads):
        check(func, 0)
    loop = schedule(threads)
    loop.decompose_padding("pad", loop.get_loops("pad")[0])
    assert [str(loop.get(item).extent) for item in loop.get_loops("pad")] == ["6"]


# --- refusals -------------------------------------------------------------------------------------


def refused(func, match, depth=0, wrong=False):
    def step(sch):
        loop = sch.get_loops("pad")[depth]
        return lambda: sch.decompose_padding("pad", loop)

    assert_refused(func, step, match, differs=wrong)
    sch = schedule(func)
    loop = sch.get_loops("pad")[depth]
    before, steps = only_function(sch), str(sch.trace)
    assert not sch.can_decompose_padding("pad", loop)
    assert str(sch.trace) == steps
    assert only_function(sch) is before


def storing(value, conditional=True):
    """A block that stores `value(A, B, vi)`."""

    @T.prim_func
    def func(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                B[vi] = value(A, B, vi)

    return func


def test_other_values():
    refused(storing(lambda A, B, i: A[i]), "does not store T.if_then_else")
    select = storing(lambda A, B, i: T.Select(i < 3, A[i], 0))
    refused(select, "does not store T.if_then_else")
    both = storing(lambda A, B, i: T.if_then_else(i < 3, A[i], A[5 - i]))
    refused(both, r"pads with `A\[5 - vi\]`, which is not a constant")
    memory = storing(lambda A, B, i: T.if_then_else(A[i] < 3, A[i], 0))
    refused(memory, "condition of block `pad` reads memory")
    itself = storing(lambda A, B, i: T.if_then_else(i < 3, B[i], 0))
    refused(itself, "reads the buffer that it writes", wrong=False)
    never = storing(lambda A, B, i: T.if_then_else(T.all(i < 3, i > 4), A[i], 0))
    refused(never, "the condition of block `pad` never holds for `vi`")


def test_more_than_a_store():
    @T.prim_func
    def branch(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                if vi < 3:
                    B[vi] = T.if_then_else(vi > 1, A[vi], 0)

    @T.prim_func
    def own(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                T.reads(A[vi])
                T.writes(B[vi])
                C = T.alloc_buffer((1,), "int32")
                C[0] = A[vi]
                B[vi] = T.if_then_else(vi > 1, C[0], 0)

    @T.prim_func
    def init(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                with T.init():
                    B[vi] = 0
                B[vi] = T.if_then_else(vi > 1, A[vi], 0)

    for func in (branch, own, init):
        refused(func, "is more than one store")


def test_a_reduction_iterator():
    @T.prim_func
    def before(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.reduce(6, i)
                B[vi] = T.if_then_else(vi > 1, A[vi], 0)

    refused(before, "has a reduction iterator")


def test_a_loop_elsewhere():
    @T.prim_func
    def before(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                B[vi] = T.if_then_else(vi > 1, A[vi], 0)
        for i in range(6):
            with T.block("C"):
                vi = T.axis.spatial(6, i)
                C[vi] = B[vi]

    sch = schedule(before)
    with pytest.raises(ScheduleError, match="loop `i` is not around block `pad`"):
        sch.decompose_padding("pad", sch.get_loops("C")[0])
    check(before, 0)


def test_another_block_in_the_loop():
    @T.prim_func
    def before(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                B[vi] = T.if_then_else(vi > 1, A[vi], 0)
            with T.block("C"):
                vi = T.axis.spatial(6, i)
                C[vi] = B[vi]

    refused(before, "loop `i` contains more than block `pad`")


def test_instances_that_share_an_element():
    @T.prim_func
    def before(A: T.Buffer((6,), "int32"), B: T.Buffer((3,), "int32")):
        for i in range(6):
            with T.block("pad"):
                vi = T.axis.spatial(6, i)
                B[vi // 2] = T.if_then_else(vi % 2 == 0, A[vi], 0)

    refused(before, "two instances of block `pad` may write the same element of `B`", wrong=True)


def test_the_question_about_an_unknown_block():
    sch = schedule(pad)
    with pytest.raises(ScheduleError, match="Cannot find a block"):
        sch.can_decompose_padding("nothing", sch.get_loops("pad")[0])
