"""Full tiles run without conditions."""

import numpy as np
import pytest
from tests.passes import lower
from tests.tir.transform.programs import function, int_var, loop_names, loop_nest, matmul, of_kind

from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import const
from tilewright.ir.expr import Call, IntImm, Var
from tilewright.tir import (
    Allocate,
    BufferLoad,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    decl_buffer,
    seq,
)
from tilewright.tir.interpreter import interpret
from tilewright.tir.op import if_then_else
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.ranges import conjuncts
from tilewright.tir.transform.building.allocations import allocation
from tilewright.tir.transform.simplify import inline_lets
from tilewright.tir.transform.split_full_tiles import split_full_tiles

ORDER = ["m0", "n0", "k0", "m1", "k1", "n1"]


def split(func):
    return split_full_tiles(inline_lets(lower(func))).body


def test_the_question_is_asked_once_per_tile():
    body = split(matmul(20, 12, 8, (6, 4, 4), ORDER, {"m0": ForKind.PARALLEL}))
    (branch,) = [node for node in of_kind(body, IfThenElse) if node.else_case is not None]
    assert body.body is branch
    assert not of_kind(branch.then_case, IfThenElse)
    # Initialisation and update share the question.
    assert isinstance(branch.then_case.body, SeqStmt)
    assert len(of_kind(branch.else_case, IfThenElse)) == 2
    assert branch.condition.a.a is body.loop_var


def test_the_only_tile_that_is_not_full_comes_after_the_loop():
    full, last = split(matmul(20, 12, 8, (6, 4, 4), ORDER)).seq
    assert int(full.extent) == 3
    assert not of_kind(full, IfThenElse)
    assert "m0" not in loop_names(last)
    assert len(of_kind(last, IfThenElse)) == 2


def test_a_single_full_tile_is_no_loop():
    first, last = split(matmul(8, 12, 8, (6, 4, 4), ORDER)).seq
    assert "m0" not in loop_names(first) + loop_names(last)
    assert [len(of_kind(part, IfThenElse)) for part in (first, last)] == [0, 2]


def rows_of_vectors(columns):
    """A copy of rows in tiles of three vectors of 8 lanes."""
    A, C = decl_buffer((4, columns), name="A"), decl_buffer((4, columns), name="C")
    y, tile, vector, lane = map(int_var, ("y", "tile", "vector", "lane"))
    column = tile * 24 + vector * 8 + lane
    store = BufferStore(C, A[y, column], (y, column))
    nest = loop_nest(
        [(y, 4), (tile, -(-columns // 24)), (vector, 3), (lane, 8)],
        IfThenElse(column < columns, store),
        {"vector": ForKind.UNROLLED, "lane": ForKind.VECTORIZED},
    )
    return split(function((A, C), nest))


@pytest.mark.parametrize(("columns", "has_masks"), [(40, False), (1000, False), (41, True)])
def test_guards_of_whole_vectors_do_not_ask_for_lanes(columns, has_masks):
    guards = [node.condition for node in of_kind(rows_of_vectors(columns), IfThenElse)]
    assert guards
    assert any("lane" in map(str, variables_of(guard)) for guard in guards) == has_masks


def long_tiles_of_vectors(kind):
    """A copy of 5000 elements in tiles of 45 vectors of 16 lanes."""
    A, C = decl_buffer((5000,), name="A"), decl_buffer((5000,), name="C")
    tile, vector, lane = map(int_var, ("tile", "vector", "lane"))
    place = tile * 720 + vector * 16 + lane
    nest = loop_nest(
        [(tile, 7), (vector, 45), (lane, 16)],
        IfThenElse(place < 5000, BufferStore(C, A[place], (place,))),
        {"tile": kind, "lane": ForKind.VECTORIZED},
    )
    return split(function((A, C), nest))


def is_cut(last):
    """Whether 42 vectors of a tile have no guards, and the others have."""
    free, guarded = last.seq
    extents = [int(free.extent), int(guarded.extent)]
    return extents == [42, 3] and not of_kind(free, IfThenElse) and of_kind(guarded, IfThenElse)


def test_a_loop_in_the_last_tile_is_cut_where_its_guards_no_longer_hold():
    full, *last = long_tiles_of_vectors(ForKind.SERIAL).seq
    assert int(full.extent) == 6
    assert not of_kind(full, IfThenElse)
    assert is_cut(SeqStmt(tuple(last)))


def test_the_same_in_a_branch_of_a_parallel_loop():
    branch = long_tiles_of_vectors(ForKind.PARALLEL).body
    assert not of_kind(branch.then_case, IfThenElse)
    assert is_cut(branch.else_case)


def test_a_tile_with_memory_of_its_own_that_is_not_full_comes_after_the_loop_as_well():
    A, B, T = (
        decl_buffer((14,), name="A"),
        decl_buffer((14,), name="B"),
        decl_buffer((5,), name="T"),
    )
    tile, row, other = map(int_var, ("tile", "row", "other"))
    double = IfThenElse(tile * 5 + row < 14, BufferStore(T, A[tile * 5 + row] * 2.0, (row,)))
    copy = IfThenElse(tile * 5 + other < 14, BufferStore(B, T[other], (tile * 5 + other,)))
    body = SeqStmt([loop_nest([(row, 5)], double), loop_nest([(other, 5)], copy)])
    full, last = split(function((A, B), loop_nest([(tile, 3)], allocation(body, T)))).seq
    assert int(full.extent) == 2
    assert not of_kind(full, IfThenElse)
    guards = [node.condition for node in of_kind(last, IfThenElse)]
    assert not any("tile" in map(str, variables_of(guard)) for guard in guards)
    (first_memory,), (last_memory,) = (of_kind(part, Allocate) for part in (full, last))
    assert first_memory.buffer_var is not last_memory.buffer_var


@pytest.mark.parametrize(("inside", "left"), [(26, 1), (18, 2), (10, 3)])
def test_the_last_two_tiles_of_vectors_that_are_filled_up_come_after_the_loop(inside, left):
    A, C = decl_buffer((inside,), name="A"), decl_buffer((32,), name="C")
    tile, lane = map(int_var, ("tile", "lane"))
    place = tile * 8 + lane
    value = if_then_else(place < inside, A[place], const(0.0))
    nest = loop_nest(
        [(tile, 4), (lane, 8)],
        BufferStore(C, value, (place,)),
        {"lane": ForKind.VECTORIZED},
    )
    body = split(function((A, C), nest))
    if left > 2:
        assert int(body.extent) == 4
        return
    first, *last = body.seq
    assert int(first.extent) == 4 - left
    assert not of_kind(first, IfThenElse)
    assert not any(isinstance(store.value, Call) for store in of_kind(first, BufferStore))
    assert [int(loop.extent) for loop in last if loop.loop_var.name == "tile"] == [2] * (left - 1)


def choose_along(columns, extent, low, high):
    """Vectors of 8 lanes along rows of `columns`, from a row where `low <= column < high`."""
    A, C = decl_buffer((4, columns), name="A"), decl_buffer((4, columns), name="C")
    y, piece, lane = map(int_var, ("y", "piece", "lane"))
    column = piece * 8 + lane
    inside = logical_and(logical_and(y >= 1, column >= low), column < high)
    value = if_then_else(inside, A[y - 1, column - low], const(0.0))
    nest = loop_nest(
        [(y, 4), (piece, extent), (lane, 8)],
        BufferStore(C, value, (y, column)),
        {"lane": ForKind.VECTORIZED},
    )
    return split(function((A, C), nest))


def test_vectors_inside_of_a_padding_choose_nothing():
    body = choose_along(32, 4, 1, 31)
    (branch,) = of_kind(body, IfThenElse)
    assert branch.then_case.loop_var.name == "lane"
    assert not isinstance(branch.then_case.body.value, Call)
    assert isinstance(branch.else_case.body.value, Call)
    asked = {str(part) for part in conjuncts(branch.condition)}
    assert asked == {"y >= 1", "piece * 8 >= 1"}
    # The vector that lies outside in part, in each row, comes after the others.
    first, last = body.body.seq
    assert int(first.extent) == 3
    assert last.loop_var.name == "lane"
    assert isinstance(last.body.value, Call)


def test_a_row_of_which_no_vector_lies_inside_is_not_doubled():
    assert not of_kind(choose_along(8, 1, 1, 7), IfThenElse)


def test_vectors_of_arrays_side_by_side_read_one_of_them():
    y, piece, lane = map(int_var, ("y", "piece", "lane"))
    A, B, C = (decl_buffer((4, extent), name=n) for extent, n in ((20, "A"), (30, "B"), (50, "C")))
    D = decl_buffer((4, 100), name="D")
    column = piece * 8 + lane
    rest = if_then_else(column < 50, B[y, column - 20], C[y, column - 50])
    nest = loop_nest(
        [(y, 4), (piece, 12), (lane, 8)],
        BufferStore(D, if_then_else(column < 20, A[y, column], rest), (y, column)),
        {"lane": ForKind.VECTORIZED},
    )
    loops = of_kind(split(function((A, B, C, D), nest)), For)
    vectors = [loop for loop in loops if loop.kind is ForKind.VECTORIZED]
    read = [{load.buffer.name for load in of_kind(loop, BufferLoad)} for loop in vectors]
    assert read == [{"A"}, {"B"}, {"C"}, {"B", "C"}, {"A", "B", "C"}]


def test_a_reduction_loop_is_cut_in_two():
    body = split(matmul(6, 4, 10, (6, 4, 4), ORDER))
    first, rest = [node for node in body.seq if "k1" in loop_names(node)]
    assert not of_kind(first, IfThenElse)
    assert int(first.extent) == 2
    assert "k0" not in loop_names(rest)
    assert len(of_kind(rest, IfThenElse)) == 1


def test_the_steps_of_the_last_block_of_a_sum_are_cut_in_two():
    A, C = decl_buffer((4, 21), name="A"), decl_buffer((4,), name="C")
    block, m, step, inner = map(int_var, ("block", "m", "step", "inner"))
    k = block * 12 + step * 4 + inner
    body = IfThenElse(k < 21, BufferStore(C, C[m] + A[m, k], (m,)))
    nest = loop_nest([(block, 2), (m, 4), (step, 3), (inner, 4)], body, {"inner": ForKind.UNROLLED})
    full, last = split(function((A, C), nest)).seq
    assert not of_kind(full, IfThenElse)
    steps, rest = last.body.seq
    assert int(steps.extent) == 2
    assert not of_kind(steps, IfThenElse)
    assert loop_names(rest) == ["inner"]


def test_a_condition_that_does_not_change_in_a_loop_leaves_it():
    A = decl_buffer((8,), name="A")
    i, n = int_var("i"), int_var("n")
    loop = loop_nest([(i, 8)], IfThenElse(n < 5, BufferStore(A, i.astype("float32"), (i,))))
    body = split(function((A,), loop, scalars=[n]))
    assert isinstance(body, IfThenElse)
    assert body.else_case is None
    assert not of_kind(body.then_case, IfThenElse)


def test_parallel_loops_are_not_cut():
    func = matmul(20, 12, 8, (6, 4, 4), ORDER, {"m0": ForKind.PARALLEL})
    body = split(func)
    assert loop_names(body).count("m0") == 1


def test_a_function_without_conditions_is_left_alone():
    func = inline_lets(lower(matmul(12, 12, 8, (6, 4, 4), ORDER)))
    assert split_full_tiles(func) is func


def test_a_condition_that_reads_memory_stays():
    A, F = decl_buffer((8,), name="A"), decl_buffer((1,), "int32", name="F")
    i = int_var("i")
    store = BufferStore(F, i, (const(0),))
    loop = loop_nest([(i, 8)], IfThenElse(F[0] < 5, store))
    func = inline_lets(lower(function((A, F), loop)))
    assert split_full_tiles(func) is func


def nested_branches(branch):
    """The cases of a branch, in order, each as the conditions left in it."""
    return [len(of_kind(case, IfThenElse)) for case in (branch.then_case, branch.else_case)]


TILE = ["m0", "n0", "k0", "k1", "m1", "n1"]
LANES = {"m1": ForKind.UNROLLED, "n1": ForKind.VECTORIZED}
PARALLEL = {"m0": ForKind.PARALLEL, "n0": ForKind.PARALLEL, **LANES}


def test_tiles_that_are_full_in_one_dimension_are_copies_of_their_own():
    body = split(matmul(20, 60, 64, (6, 16, 8), TILE, PARALLEL))
    rows = body.body
    assert isinstance(rows, IfThenElse)
    # Rows are asked first: what is left of the columns become masks, which are cheaper.
    assert rows.condition.a.a is body.loop_var
    columns, other = rows.then_case.body, rows.else_case.body
    assert isinstance(columns, IfThenElse)
    assert nested_branches(columns) == [0, 2]
    assert nested_branches(other) == [2, 2]


def test_a_guard_is_asked_for_the_smallest_tile_outside_of_the_reduction():
    """The columns of a block of panels are asked for panel by panel."""
    A, C = decl_buffer((8, 300), name="A"), decl_buffer((300,), name="C")
    block, panel, row, lane = map(int_var, ("block", "panel", "row", "lane"))
    column = block * 128 + panel * 32 + lane
    store = BufferStore(C, C[column] + A[row, column], (column,))
    loops = [(block, 3), (panel, 4), (row, 80), (lane, 32)]
    nest = loop_nest(loops, IfThenElse(column < 300, store), {"lane": ForKind.VECTORIZED})
    body = split(function((A, C), nest))
    branch = body.body.body
    assert isinstance(branch, IfThenElse)
    assert branch.then_case.loop_var is row
    assert nested_branches(branch) == [0, 1]


def test_a_small_tile_is_not_worth_a_test_of_its_own():
    C = decl_buffer((300,), name="C")
    block, panel, lane = map(int_var, ("block", "panel", "lane"))
    column = block * 128 + panel * 32 + lane
    store = BufferStore(C, column.astype("float32"), (column,))
    loops = [(block, 3), (panel, 4), (lane, 32)]
    nest = loop_nest(loops, IfThenElse(column < 300, store), {"lane": ForKind.VECTORIZED})
    body = split(function((C,), nest))
    full, last = body.seq
    assert [len(of_kind(part, IfThenElse)) for part in (full, last)] == [0, 1]


def test_tiles_of_a_part_of_the_reduction_are_asked_in_each_part():
    order = ["k0", "m0", "n0", "k1", "m1", "n1"]
    body = split(matmul(20, 64, 64, (6, 16, 8), order, PARALLEL))
    (part,) = [node for node in of_kind(body, For) if node.loop_var.name == "k0"]
    rows = part.body.body
    assert isinstance(rows, IfThenElse)
    assert nested_branches(rows) == [0, 1]


def test_a_tile_that_is_never_full_is_not_asked_for_in_each_step():
    body = split(matmul(12, 13, 64, (6, 32, 64), TILE, LANES))
    assert not [node for node in of_kind(body, IfThenElse) if node.else_case is not None]


def test_the_sum_of_a_tile_without_some_of_its_vectors_is_cut_in_two_as_well():
    """Such a tile ends with the vector that lacks lanes: it is not asked whether there is one."""
    panel, step, part, vector, lane = map(int_var, ("panel", "step", "part", "vector", "lane"))
    A, B, X = (decl_buffer((n,), name=name) for n, name in ((272, "A"), (257, "B"), (4, "X")))
    C, column, place = (
        decl_buffer((257,), name="C"),
        panel * 48 + vector * 16 + lane,
        step * 4 + part,
    )
    kinds = {"vector": ForKind.UNROLLED, "lane": ForKind.VECTORIZED, "part": ForKind.VECTORIZED}
    filled = BufferStore(X, if_then_else(place < 257, B[place], 0.0), (part,))
    added = BufferStore(A, A[column] + X[0], (column,))
    whole = IfThenElse(panel * 3 + vector < 17, added)
    steps = seq(
        loop_nest([(part, 4)], filled, kinds), loop_nest([(vector, 3), (lane, 16)], whole, kinds)
    )
    stored = IfThenElse(column < 257, BufferStore(C, A[column], (column,)))
    body = seq(loop_nest([(step, 65)], steps), loop_nest([(vector, 3), (lane, 16)], stored, kinds))
    split_body = split(function((A, B, C, X), loop_nest([(panel, 6)], body)))
    loops = [int(loop.extent) for loop in of_kind(split_body, For) if loop.loop_var.name == "step"]
    assert set(loops) == {64}


def sums_of_windows(guard):
    """``C[i] += A[i, k]`` for those of 40 steps where ``guard(i, k)`` holds."""
    A, C = decl_buffer((9, 40), name="A"), decl_buffer((9,), name="C")
    i, k = int_var("i"), int_var("k")
    store = BufferStore(C, C[i] + A[i, k], (i,))
    nest = loop_nest([(i, 9), (k, 40)], IfThenElse(guard(i, k), store))
    before = function((A, C), nest)
    return before, split_full_tiles(inline_lets(lower(before)))


@pytest.mark.parametrize(
    "guard",
    [
        lambda i, k: k < (i * 40 + 8) // 9 + 1,
        lambda i, k: k <= i,
        lambda i, k: (i * 7) // 2 - 3 > k,
        lambda i, k: logical_and(k < 41 - i * 3, k % 3 < i),
    ],
)
def test_a_loop_over_a_window_ends_with_it(guard):
    before, after = sums_of_windows(guard)
    (loop,) = [node for node in of_kind(after.body, For) if node.loop_var.name == "k"]
    assert not isinstance(loop.extent, IntImm)
    data = np.random.default_rng(0).integers(0, 9, (9, 40)).astype("float32")
    results = [np.zeros(9, "float32") for _ in range(2)]
    for func, result in zip((before, after), results, strict=True):
        interpret(func, data, result)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("includes", [True, False])
def test_the_end_of_a_window_may_be_the_largest_number(dtype, includes):
    A, n, k = decl_buffer((40,), name="A"), Var("n", dtype), Var("k", dtype)
    store = BufferStore(A, A[k] + 1.0, (k,))
    body = loop_nest([(k, const(40, dtype))], IfThenElse(k <= n if includes else k < n, store))
    func = split_full_tiles(inline_lets(lower(function((A,), body, scalars=(n,)))))
    for end in (-1, 0, 7, int(np.iinfo(dtype).max)):
        result = np.zeros(40, "float32")
        interpret(func, result, end)
        assert result.sum() == max(0, min(40, end + includes))


@pytest.mark.parametrize(
    "guard",
    [
        lambda i, k: i * 40 + k < 300,  # of a tile, which most are full
        lambda i, k: k % 5 < i,  # holds again later
        lambda i, k: k > i,  # holds at the end
    ],
)
def test_other_guards_leave_the_loop_as_it_is(guard):
    _, after = sums_of_windows(guard)
    loops = [node for node in of_kind(after.body, For) if node.loop_var.name == "k"]
    assert all(isinstance(loop.extent, IntImm) for loop in loops)
