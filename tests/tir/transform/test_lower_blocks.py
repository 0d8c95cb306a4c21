"""Blocks become loops, and the initialisation of a reduction goes to the right place."""

import numpy as np
import pytest
from tests.passes import lower
from tests.tir.transform.programs import (
    TRUE,
    accesses,
    function,
    int_var,
    iterator,
    loop_names,
    loop_nest,
    matmul,
    matmul_block,
    of_kind,
    point,
)

from tilewright.error import LoweringError
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import const
from tilewright.script import tir as T
from tilewright.tir import (
    Allocate,
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    MatchBufferRegion,
    Range,
    SeqStmt,
    Var,
    decl_buffer,
    seq,
)
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.lower_blocks import lower_blocks


def test_init_goes_in_front_of_the_outermost_reduction_loop():
    order = ["m0", "n0", "k0", "m1", "k1", "n1"]
    body = lower_blocks(matmul(64, 64, 64, (16, 8, 8), order)).body
    assert not of_kind(body, (Block, IfThenElse))
    assert loop_names(body) == ["m0", "n0", "m1_init", "n1_init", "k0", "m1", "k1", "n1"]
    inner = body.body.body
    assert isinstance(inner, SeqStmt)
    assert loop_names(inner[0]) == ["m1_init", "n1_init"]


def test_init_of_a_plain_nest_has_no_loop():
    body = lower_blocks(matmul(4, 5, 6)).body
    first, reduction = body.body.body.seq
    assert isinstance(first, BufferStore)
    assert loop_names(reduction) == ["k"]


def test_init_nest_keeps_the_kind_of_data_parallel_loops():
    kinds = {"n": ForKind.VECTORIZED, "m": ForKind.PARALLEL}
    body = lower_blocks(matmul(4, 8, 6, order="kmn", kinds=kinds)).body
    found = {loop.loop_var.name: loop.kind for loop in of_kind(body, For)}
    assert found["m_init"] is ForKind.PARALLEL
    assert found["n_init"] is ForKind.VECTORIZED


def test_predicates_that_hold_are_dropped_and_others_also_guard_the_init():
    order = ["k0", "m0", "n0", "m1", "n1", "k1"]
    assert not of_kind(lower_blocks(matmul(32, 8, 8, (16, 8, 4), order)).body, IfThenElse)
    init, update = lower_blocks(matmul(20, 8, 9, (16, 8, 4), order)).body.seq
    assert len(of_kind(init, IfThenElse)) == 1
    assert {"m0_init", "m1_init"} <= set(loop_names(init))
    assert "k0" not in str(loop_names(init))
    assert len(of_kind(update, IfThenElse)) == 1


def test_reduction_of_one_iteration_initialises_without_a_condition():
    body = lower_blocks(matmul(4, 5, 1)).body
    assert loop_names(body) == ["m", "n"]
    assert len(of_kind(body, BufferStore)) == 2
    assert not of_kind(body, IfThenElse)


def sum_of_pairs(index, spatial_extent):
    """`S[index(v)] += A[v, r]`, with the reduction loop outside."""
    A, S = decl_buffer((spatial_extent, 4), name="A"), decl_buffer((spatial_extent,), name="S")
    v, r = iterator("v", spatial_extent), iterator("r", 4, reduce=True)
    i, j = int_var("i"), int_var("j")
    place = index(v.var)
    block = Block(
        (v, r), (point(A, v.var, r.var),), (point(S, place),), "S",
        BufferStore(S, S[place] + A[v.var, r.var], (place,)),
        init=BufferStore(S, const(0.0), (place,)),
    )  # fmt: skip
    realize = BlockRealize((i, j), TRUE, block)
    return function((A, S), loop_nest([(j, 4), (i, spatial_extent)], realize))


def test_init_stays_guarded_where_several_instances_share_an_element():
    body = lower_blocks(sum_of_pairs(lambda v: v // 2, 6)).body
    assert loop_names(body) == ["j", "i"]
    (guard,) = of_kind(body, IfThenElse)
    assert isinstance(guard.then_case, BufferStore)


def test_init_is_hoisted_for_a_strided_element():
    assert loop_names(lower_blocks(sum_of_pairs(lambda v: v, 6)).body) == ["i_init", "j", "i"]


def test_init_is_hoisted_where_rows_stick_out_and_lanes_are_an_index_of_their_own():
    """The position alone does not tell that elements differ: rows that are left out would be those
    of the next one."""
    S = decl_buffer((2, 5, 2, 4), name="S")
    h, w, f = (iterator(name, extent) for name, extent in zip("hwf", (2, 5, 8), strict=True))
    r, j, y, i, k, g, u = (iterator("r", 3, reduce=True), *map(int_var, "jyikgu"))
    place = (h.var, w.var, floordiv(f.var, const(4)), floormod(f.var, const(4)))
    block = Block(
        (h, w, f, r), (), (point(S, *place),), "S",
        BufferStore(S, S[place] + 1.0, place), init=BufferStore(S, const(0.0), place),
    )  # fmt: skip
    column = i * 3 + k
    realize = BlockRealize((y, column, g * 4 + u, j), column < 5, block)
    loops = [(j, 3), (y, 2), (i, 2), (k, 3), (g, 2), (u, 4)]
    body = lower_blocks(function((S,), loop_nest(loops, realize))).body
    assert loop_names(body)[:5] == ["y_init", "i_init", "k_init", "g_init", "u_init"]


def test_init_stays_guarded_where_a_statement_in_the_reduction_loop_reads_the_result():
    A, S, T = (decl_buffer((4,), name=name) for name in "AST")
    r, j = iterator("r", 4, reduce=True), int_var("j")
    total = Block(
        (r,), (point(A, r.var),), (point(S, 0),), "S",
        BufferStore(S, S[0] + A[r.var], (const(0),)), init=BufferStore(S, const(0.0), (const(0),)),
    )  # fmt: skip
    v = iterator("v", 4)
    copy = Block(
        (v,), (point(S, 0),), (point(T, v.var),), "T", BufferStore(T, S[0], (v.var,))
    )  # fmt: skip
    both = seq(BlockRealize((j,), TRUE, copy), BlockRealize((j,), TRUE, total))
    body = lower_blocks(function((A, S, T), loop_nest([(j, 4)], both))).body
    assert isinstance(body, For)
    assert len(of_kind(body, IfThenElse)) == 1


def test_allocated_buffers_get_memory_where_their_block_is():
    A, B = decl_buffer((8,), name="A"), decl_buffer((8,), name="B")
    C = decl_buffer((8,), name="C")
    i, j = int_var("i"), int_var("j")
    body = seq(
        loop_nest([(i, 8)], BufferStore(C, A[i] * A[i], (i,))),
        loop_nest([(j, 8)], BufferStore(B, C[j] + 1.0, (j,))),
    )
    lowered = lower_blocks(function((A, B), body, allocated=[C])).body
    assert isinstance(lowered, Allocate)
    assert lowered.buffer_var is C.data
    assert [int(extent) for extent in lowered.extents] == [8]


def test_blocks_of_several_statements_give_one_flat_sequence():
    A = decl_buffer((8,), name="A")
    stores = [BufferStore(A, const(float(k)), (const(k),)) for k in range(4)]
    blocks = [Block((), (), (), "b", seq(*stores[k : k + 2])) for k in (0, 2)]
    body = seq(*(BlockRealize((), TRUE, block) for block in blocks))
    lowered = lower_blocks(function((A,), body)).body
    assert isinstance(lowered, SeqStmt)
    assert lowered.seq == tuple(stores)


def view_of_row(view_shape):
    """Writes row 3 of A through a view of it."""
    A = decl_buffer((8, 16), name="A")
    row = decl_buffer(view_shape, name="row")
    region = BufferRegion(
        A, (Range.from_min_extent(const(3), const(1)), Range.from_min_extent(const(4), const(8)))
    )
    i = int_var("i")
    body = loop_nest([(i, 8)], BufferStore(row, const(1.0), (i,)))
    block = Block((), (), (region,), "b", body, match_buffers=(MatchBufferRegion(row, region),))
    return function((A,), BlockRealize((), TRUE, block))


def test_views_become_accesses_of_what_they_view():
    (store,) = accesses(lower_blocks(view_of_row((8,))).body, "A")
    row, column = store.indices
    assert int(row) == 3
    assert column.b.value == 4


def test_a_view_of_the_wrong_shape_is_refused():
    with pytest.raises(LoweringError, match=r"row\.shape\[0\] is 9"):
        lower_blocks(view_of_row((9,)))
    with pytest.raises(LoweringError, match="3 dimensions"):
        func = view_of_row((8,))
        block = func.body.block.body.block
        match = block.match_buffers[0]
        wide = decl_buffer((2, 2, 2), name="row")
        bad = block.replace(match_buffers=(match.replace(buffer=wide),))
        root = func.body.block.replace(body=BlockRealize((), TRUE, bad))
        lower_blocks(func.with_body(BlockRealize((), TRUE, root)))


def fused_matmul(*, reduction_first):
    """A product whose two data-parallel loops are one, `f`."""
    A, B, C = (
        decl_buffer(shape, name=n) for n, shape in zip("ABC", [(6, 5), (5, 4), (6, 4)], strict=True)
    )
    f, k = int_var("f"), int_var("k")
    realize = BlockRealize((f // 4, f % 4, k), TRUE, matmul_block(A, B, C, 6, 4, 5))
    loops = [(k, 5), (f, 24)] if reduction_first else [(f, 24), (k, 5)]
    return function((A, B, C), loop_nest(loops, realize))


def test_fused_loops_initialise_in_front_and_have_simple_indices():
    lowered = lower(fused_matmul(reduction_first=True))
    assert loop_names(lowered.body) == ["f_init", "k", "f"]
    assert not of_kind(lowered.body, IfThenElse)
    for access in accesses(lowered.body, "C"):
        assert isinstance(access.indices[0], Var)


def test_symbolic_bounds_decide_conditions():
    n, i = int_var("n"), int_var("i")
    A = decl_buffer((n,), name="A")
    body = loop_nest([(i, n)], IfThenElse(i < n, BufferStore(A, const(1.0), (i,))))
    assert not of_kind(lower_blocks(function((A,), body)).body, IfThenElse)


@pytest.mark.parametrize(("private", "index"), [(True, lambda p, i: i), (False, lambda p, i: p)])
def test_memory_that_parallel_iterations_would_share_is_allocated_in_each(private, index):
    A, T = decl_buffer((8, 8), name="A"), decl_buffer((8,), name="T")
    p, i, j = int_var("p"), int_var("i"), int_var("j")
    body = seq(
        loop_nest([(i, 8)], BufferStore(T, A[p, i], (index(p, i),))),
        loop_nest([(j, 8)], BufferStore(A, T[index(p, j)] + 1.0, (p, j))),
    )
    nest = loop_nest([(p, 8)], body, {"p": ForKind.PARALLEL})
    lowered = lower_blocks(function((A,), nest, allocated=[T])).body
    assert isinstance(lowered, For) is private
    assert isinstance(lowered.body, Allocate) is private


def test_memory_of_an_iteration_is_not_for_the_initialisation_of_an_empty_reduction():
    """A sum of nothing is 0; the buffer that each iteration has is not part of that."""

    @T.prim_func
    def sums(a: T.handle, total: T.Buffer((4,), "float32")):
        n = T.int32()
        A = T.match_buffer(a, (n, 4))
        for k in range(n):
            with T.block("iteration"):
                vk = T.axis.reduce(n, k)
                T.reads(A[vk, 0:4], total[0:4])
                T.writes(total[0:4])
                doubled = T.alloc_buffer((4,))
                for j in range(4):
                    with T.block("doubled"):
                        v = T.axis.spatial(4, j)
                        doubled[v] = A[vk, v] * T.float32(2)
                for j in range(4):
                    with T.block("total"):
                        v = T.axis.spatial(4, j)
                        T.axis.reduce(n, k)
                        T.reads(doubled[v])
                        T.writes(total[v])
                        with T.init():
                            total[v] = T.float32(0)
                        total[v] = total[v] + doubled[v]

    lowered = lower_blocks(sums)
    assert len(of_kind(lowered.body, Allocate)) == 1
    for count in (3, 0):
        result = np.full(4, 9, "float32")
        interpret(lowered, np.ones((count, 4), "float32"), result)
        np.testing.assert_array_equal(result, 2.0 * count)
