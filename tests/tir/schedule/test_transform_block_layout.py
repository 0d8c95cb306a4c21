"""Other iterators of a block."""

import pytest
from tests.tir.schedule.checking import assert_equal_results, assert_same_meaning, results_of

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import IndexMap, Schedule, ScheduleError


@T.prim_func
def double(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6, 8), "float32")):
    for i, j in T.grid(6, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def flat(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6, 8), "float32")):
    for ax0 in range(48):
        with T.block("B"):
            v0 = T.axis.spatial(48, ax0)
            B[v0 // 8, v0 % 8] = A[v0 // 8, v0 % 8] * T.float32(2)


@T.prim_func
def matmul(
    A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 3), "float32"), C: T.Buffer((4, 3), "float32")
):
    for i, j, k in T.grid(4, 3, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def scan(A: T.Buffer((5, 9), "float32")):
    for i, j in T.grid(5, 8):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj + 1] = A[vi, vj] + A[vi, vj + 1]


@T.prim_func
def diagonal(A: T.Buffer((5, 5), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi + 1, vj] = A[vi, vj + 1] + A[vi + 1, vj]


def changed(func, block, index_map):
    sch = Schedule(func, debug_mask="all")
    sch.transform_block_layout(block, index_map)
    return sch


def test_two_iterators_become_one():
    sch = changed(double, "B", lambda i, j: (i * 8 + j,))
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], flat)
    assert_same_meaning(double, sch)


@pytest.mark.parametrize(
    "index_map",
    [
        lambda i, j: (j, i),
        lambda i, j: (j // 4, i // 2, i % 2, j % 4),
        lambda i, j: (0, j, i),
        IndexMap.from_func(lambda i, j: [j * 6 + i]),
        lambda i, j: (i, j),
    ],
)
def test_iterators_are_split_joined_and_reordered(index_map):
    assert_same_meaning(double, changed(double, "B", index_map))


@pytest.mark.parametrize(
    "index_map",
    [
        lambda i, j, k: (i * 3 + j, k),
        lambda i, j, k: (k // 2, j, k % 2, i),
        lambda i, j, k: (k, j, i),
    ],
)
def test_reductions(index_map):
    sch = changed(matmul, "C", index_map)
    assert_same_meaning(matmul, sch)


def test_an_order_that_keeps_dependences():
    assert_same_meaning(scan, changed(scan, "A", lambda i, j: (j, i)))
    assert_same_meaning(diagonal, changed(diagonal, "A", lambda i, j: (i * 4 + j,)))


def test_an_outer_loop_of_another_block():
    sch = Schedule(double, debug_mask="all")
    i, _ = sch.get_loops("B")
    sch.add_unit_loop(i)
    sch.transform_block_layout("B", lambda i, j: (i * 8 + j,))
    assert len(sch.get_loops("B")) == 2
    assert_same_meaning(double, sch)


# --- refusals -----------------------------------------------------------------------------------


def refused(func, block, index_map, message):
    with pytest.raises(ScheduleError, match=message):
        Schedule(func).transform_block_layout(block, index_map)


def test_an_order_that_breaks_a_dependence_is_refused():
    refused(diagonal, "A", lambda i, j: (j, i), "the new order breaks a dependence")
    sch = Schedule(diagonal, enable_check=False)
    sch.transform_block_layout("A", lambda i, j: (j, i))
    with pytest.raises(AssertionError):
        assert_equal_results(results_of(diagonal), results_of(sch.mod["main"]))


@pytest.mark.parametrize(
    "index_map",
    [
        lambda i, j: (i, j // 2),
        lambda i, j: (i, j // 3, j % 3),
        lambda i, j: (i, j * 2),
        lambda i, j: (i * j,),
    ],
)
def test_a_map_that_is_no_bijection_is_refused(index_map):
    refused(double, "B", index_map, "the index map is not a bijection")


def test_what_is_no_map_of_the_iterators_is_refused():
    refused(double, "B", lambda i: i, "2")
    refused(double, "B", "ij", "expected an index map or a function")


def test_an_iterator_that_is_spatial_and_a_reduction_is_refused():
    refused(matmul, "C", lambda i, j, k: (i, j * 6 + k), "would be both spatial and a reduction")


def backwards(i, j, k):
    return i, j, 5 - k


def test_a_reduction_that_starts_elsewhere_is_refused():
    index_map = IndexMap.from_func(backwards, inverse_index_map=backwards)
    refused(matmul, "C", index_map, "the reduction of block `C` would start at another instance")
    spatial = IndexMap.from_func(lambda i, j: (i, 7 - j), inverse_index_map=lambda i, j: (i, 7 - j))
    assert_same_meaning(double, changed(double, "B", spatial))


def test_an_inverse_that_is_none_is_refused():
    wrong = IndexMap.from_func(lambda i, j: (j, i), inverse_index_map=lambda i, j: (i, j))
    refused(double, "B", wrong, "the inverse_index_map of the index map is not known to be its")
    wide = IndexMap.from_func(lambda i, j: (i, j * 2), inverse_index_map=lambda i, j: (i, j // 2))
    refused(double, "B", wide, "is not a bijection: it maps 48 instances to 90 places")


@T.prim_func
def by_one_loop(A: T.Buffer((3, 4), "float32")):
    for f in range(12):
        with T.block("A"):
            vi = T.axis.spatial(3, f // 4)
            vj = T.axis.spatial(4, f % 4)
            A[vi, vj] = T.float32(1)


@T.prim_func
def by_the_same_loop(A: T.Buffer((3, 3), "float32")):
    for i in range(3):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, i])
            A[vi, vj] = T.float32(1)


@T.prim_func
def guarded(A: T.Buffer((3, 4), "float32")):
    for i, j in T.grid(3, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i + j < 5)
            A[vi, vj] = T.float32(1)


@T.prim_func
def with_more_loops(A: T.Buffer((3, 4), "float32")):
    for i, _r, j in T.grid(3, 2, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] + T.Cast("float32", vi)


@T.prim_func
def parts_of_domains(A: T.Buffer((3, 4), "float32")):
    for i in range(3):
        for j in range(1, 4):
            with T.block("A"):
                vi = T.axis.spatial(3, i)
                vj = T.axis.spatial(4, j)
                A[vi, vj] = T.float32(1)


@T.prim_func
def two_in_a_loop(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32")):
    for i, j in T.grid(3, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.float32(1)
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (by_one_loop, "not every iterator of block `A` is bound to a loop of its own"),
        (by_the_same_loop, "not every iterator of block `A` is bound to a loop of its own"),
        (guarded, "block `A` has a condition"),
        (with_more_loops, "loop `_r` is between the loops of block `A`"),
        (parts_of_domains, "loop `j` does not go from 0 over the domain of `vj`"),
        (two_in_a_loop, "there is more than loops between loop `i` and block `A`"),
    ],
)
def test_loops_that_do_not_go_over_the_iterators_are_refused(func, message):
    refused(func, "A", lambda i, j: (j, i), message)


def test_annotations_of_loops_would_be_lost():
    sch = Schedule(double)
    sch.annotate(sch.get_loops("B")[1], "key", 1)
    with pytest.raises(ScheduleError, match="loop `j` has annotations, which would be lost"):
        sch.transform_block_layout("B", lambda i, j: (j, i))


def test_a_shifted_iterator_is_refused():
    refused(double, "B", lambda i, j: (i + 2, j), "it maps 48 instances to 64 places")


@T.prim_func
def indices_of_two_dtypes(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (2, n))
    B = T.match_buffer(b, (2, n))
    for i, j in T.grid(2, n):
        with T.block("B"):
            vi = T.axis.spatial(2, i)
            vj = T.axis.spatial(n, j)
            B[vi, vj] = T.if_then_else(vi == 0, A[vi, vj], T.float32(2))


def test_iterators_keep_their_dtypes():
    sch = Schedule(indices_of_two_dtypes, debug_mask="all")
    sch.transform_block_layout("B", lambda i, j: (j, i))
    assert_same_meaning(indices_of_two_dtypes, sch, sizes={"n": 3})


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    m = T.int32()
    n = T.int32()
    A = T.match_buffer(a, (m, n))
    B = T.match_buffer(b, (m, n))
    for i, j in T.grid(m, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


@pytest.mark.parametrize("sizes", [{"m": 3, "n": 5}, {"m": 0, "n": 5}, {"m": 3, "n": 0}])
def test_symbolic_extents_become_one(sizes):
    n = symbolic.buffer_map[symbolic.params[0]].shape[1]
    sch = Schedule(symbolic, debug_mask="all")
    sch.transform_block_layout("B", lambda x, y: (x * n + y,))
    assert len(sch.get_loops("B")) == 1
    assert_same_meaning(symbolic, sch, sizes=sizes)


def test_a_refusal_without_a_shape_to_look_for_holes_in():
    n = symbolic.buffer_map[symbolic.params[0]].shape[1]
    with pytest.raises(ScheduleError, match="the extent m is not a multiple of n"):
        Schedule(symbolic).transform_block_layout("B", lambda x, y: (x // n, y))
