"""Reductions by way of partial results."""

import numpy as np
import pytest
from tests.te.schedule.checking import check, lowered_text, random_array

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import TEScheduleError
from tilewright.ir import walk


def row_sums(m=4, n=12, begin=0):
    x = te.placeholder((m, n), name="X")
    k = te.reduce_axis((begin, n), "k")
    y = te.compute((m,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    return x, y, k


def test_one_half_of_a_split_becomes_an_axis():
    x, y, k = row_sums()
    s = te.create_schedule(y.op)
    _, inner = s[y].split(k, 4)
    partial = s.rfactor(y, inner)
    assert partial.op.name == "Y_rf"
    assert [int(extent) for extent in partial.shape] == [4, 4]
    names = [axis.name for axis in (*partial.op.axis, *partial.op.reduce_axis)]
    assert names == ["k_inner", "i", "k_outer"]
    assert [axis.name for axis in s[y].op.axis] == ["ax0"]
    assert [axis.name for axis in s[y].op.reduce_axis] == ["k_inner_v"]
    value = random_array((4, 12))
    check(s, [x, y], [value], [value.sum(1)])
    s[partial].compute_at(s[y], s[y].op.reduce_axis[0])
    assert lowered_text(s, [x, y]) == (
        """\
        for ax0 in range(4):
            Y[ax0] = T.float32(0.0)
            for k_inner_v in range(4):
                Y_rf = T.allocate([1], "float32", "global")
                Y_rf_1 = T.Buffer((1,), data=Y_rf)
                Y_rf_1[0] = T.float32(0.0)
                for k_outer in range(3):
                    X_1 = T.Buffer((48,), data=X.data)
                    Y_rf_1[0] = Y_rf_1[0] + X_1[ax0 * 12 + k_outer * 4 + k_inner_v]
                Y[ax0] = Y[ax0] + Y_rf_1[0]"""
    )
    check(s, [x, y], [value], [value.sum(1)])


@pytest.mark.parametrize("factor_axis", [0, 1, -1, -2])
@pytest.mark.parametrize("n", [12, 10])
@pytest.mark.parametrize("half", [0, 1])
def test_where_the_new_axis_goes(factor_axis, n, half):
    x, y, k = row_sums(3, n, begin=1)
    s = te.create_schedule(y.op)
    partial = s.rfactor(y, s[y].split(k, 4)[half], factor_axis)
    assert partial.op.axis[factor_axis].name == ("k_inner" if half else "k_outer")
    value = random_array((3, n))
    check(s, [x, y], [value], [value[:, 1:].sum(1)], native=False)


def test_a_whole_axis_leaves_nothing_to_reduce():
    x, y, k = row_sums(begin=2)
    s = te.create_schedule(y.op)
    partial = s.rfactor(y, k)
    assert partial.op.reduce_axis == ()
    value = random_array((4, 12))
    check(s, [x, y], [value], [value[:, 2:].sum(1)])


def test_guards_of_a_split_without_anything_to_reduce():
    x = te.placeholder((5,), name="X")
    k = te.reduce_axis((0, 5), "k")
    y = te.compute((1,), lambda _: te.max(x[k], axis=k, where=k.var != 1), name="Y")
    s = te.create_schedule(y.op)
    s.rfactor(y, s[y].fuse(*s[y].split(k, 2)))
    value = np.array([1, 9, 2, 3, 4], "float32")
    check(s, [x, y], [value], [np.array([4], "float32")])


def test_other_reduction_axes_keep_their_loops():
    x = te.placeholder((4, 6, 8), name="X")
    p, q = te.reduce_axis((0, 6), "p"), te.reduce_axis((0, 8), "q")
    y = te.compute((4,), lambda i: te.sum(x[i, p, q], axis=[p, q], init=x[i, 0, 0]), name="Y")
    s = te.create_schedule(y.op)
    q_outer, _ = s[y].split(q, 3)
    p_outer, p_inner = s[y].split(p, 4)
    s[y].unroll(p_inner)
    s[y].unroll(q_outer)
    partial = s.rfactor(y, p_outer)
    names = [leaf.name for leaf in s[partial].leaf_iter_vars]
    assert names == ["p_outer", "i", "p_inner", "q_outer", "q_inner"]
    assert partial.op.reduce_axis[1] is q
    text = lowered_text(s, [x, y])
    assert "for p_inner in T.unroll(4)" in text
    assert "for q_outer in T.unroll(3)" in text
    value = random_array((4, 6, 8))
    check(s, [x, y], [value], [value.sum((1, 2)) + value[:, 0, 0]])


def test_pairs():
    x = te.placeholder((3, 10), name="X")
    k = te.reduce_axis((0, 10), "k")
    argmax = te.comm_reducer(
        lambda a, b: (te.select(a[1] >= b[1], a[0], b[0]), te.max(a[1], b[1])),
        lambda index, value: (te.const(-1, index), te.const(float("-inf"), value)),
    )
    where, best = te.compute((3,), lambda i: argmax((k.var, x[i, k]), axis=k), name="M")
    s = te.create_schedule(where.op)
    partial = s.rfactor(where, s[where].split(k, 4)[0])
    assert [tensor.name for tensor in partial] == ["M_rf_v0", "M_rf_v1"]
    value = np.random.default_rng(3).permutation(30).reshape(3, 10).astype("float32")
    check(s, [x, where, best], [value], [value.argmax(1).astype("int32"), value.max(1)])


def test_readers_follow():
    x, y, k = row_sums()
    z = te.compute((4,), lambda i: y[i] * 2.0, name="Z")
    s = te.create_schedule(z.op)
    s[s.rfactor(y, s[y].split(k, 5)[1])].parallel(s.stages[1].leaf_iter_vars[0])
    s[y].compute_at(s[z], z.op.axis[0])
    value = random_array((4, 12))
    check(s, [x, z], [value], [value.sum(1) * 2])
    check(s, [x, y, z], [value], [value.sum(1), value.sum(1) * 2])


def matrix_sums(m=6, n=10, length=12):
    x = te.placeholder((m, n, length), name="X")
    k = te.reduce_axis((0, length), "k")
    y = te.compute((m, n), lambda i, j: te.sum(x[i, j, k], axis=k), name="Y")
    return x, y, k


@pytest.mark.parametrize("factor_axis", [0, 1, 2])
def test_transformed_loops_over_elements_stay_with_the_partial_results(factor_axis):
    x, y, k = matrix_sums()
    s = te.create_schedule(y.op)
    i_outer, j_outer, i_inner, j_inner = s[y].tile(*y.op.axis, 4, 4)
    k_outer, k_inner = s[y].split(k, 5)
    s[y].reorder(i_outer, j_outer, k_outer, i_inner, j_inner, k_inner)
    s[y].parallel(i_outer)
    s[y].unroll(k_inner)
    partial = s.rfactor(y, k_outer, factor_axis)
    names = ["i_outer", "j_outer", "i_inner", "j_inner", "k_inner"]
    names.insert((0, 1, 4)[factor_axis], "k_outer")
    assert [leaf.name for leaf in s[partial].leaf_iter_vars] == names
    assert [leaf.name for leaf in s[y].leaf_iter_vars] == ["ax0", "ax1", "k_outer_v"]
    text = lowered_text(s, [x, y])
    assert "for i_outer in T.parallel(2)" in text
    assert "for k_inner in T.unroll(5)" in text
    value = random_array((6, 10, 12))
    check(s, [x, y], [value], [value.sum(2)])


def test_fused_loops_over_elements():
    x, y, k = matrix_sums()
    s = te.create_schedule(y.op)
    s[y].split(s[y].fuse(*y.op.axis), 7)
    partial = s.rfactor(y, s[y].split(k, 4)[1])
    assert [leaf.name for leaf in s[partial].leaf_iter_vars] == [
        "k_inner", "i_j_fused_outer", "i_j_fused_inner", "k_outer",
    ]  # fmt: skip
    s[partial].compute_at(s[y], s[y].op.reduce_axis[0])
    value = random_array((6, 10, 12))
    check(s, [x, y], [value], [value.sum(2)])


def test_the_loop_of_the_new_dimension_keeps_what_was_asked_for_it():
    x, y, k = row_sums()
    s = te.create_schedule(y.op)
    outer, inner = s[y].split(k, 4)
    s[y].bind(inner, te.thread_axis("threadIdx.x"))
    s[y].pragma(outer, "hot")
    s.rfactor(y, inner)
    func = tvm.lower(s, [x, y])["main"]
    loops = {loop.loop_var.name: loop for loop in walk(func.body) if isinstance(loop, tir.For)}
    assert loops["k_inner"].thread_binding.thread_tag == "threadIdx.x"
    assert loops["k_outer"].annotations["pragma_hot"] == 1
    value = random_array((4, 12))
    check(s, [x, y], [value], [value.sum(1)], native=False)


@pytest.mark.parametrize("place", ["i_outer", "k_outer", "k_inner"])
def test_what_is_computed_in_the_loops_follows(place):
    a = te.placeholder((8, 12), name="A")
    x = te.compute((8, 12), lambda i, j: a[i, j] * 2.0, name="X")
    k = te.reduce_axis((0, 12), "k")
    y = te.compute((8,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    s = te.create_schedule(y.op)
    i_outer, _ = s[y].split(y.op.axis[0], 4)
    outer, inner = s[y].split(k, 4)
    s[x].compute_at(s[y], {"i_outer": i_outer, "k_outer": outer, "k_inner": inner}[place])
    partial = s.rfactor(y, inner)
    assert s[x].attach_stage is s[partial]
    value = random_array((8, 12))
    check(s, [a, y], [value], [value.sum(1) * 2])


def test_starting_values_are_not_computed_in_the_loops_of_partial_results():
    a = te.placeholder((8,), name="A")
    x = te.compute((8,), lambda i: a[i] * 2.0, name="X")
    k = te.reduce_axis((0, 8), "k")
    y = te.compute((8,), lambda i: te.sum(x[k], axis=k, init=x[i]), name="Y")
    s = te.create_schedule(y.op)
    s[x].compute_at(s[y], y.op.axis[0])
    s.rfactor(y, s[y].split(k, 4)[1])
    with pytest.raises(TEScheduleError, match="but stage Y_repl, which reads it, is computed out"):
        tvm.lower(s, [a, y])


def fused_with_axis(s, x, y, k):
    s.rfactor(y, s[y].fuse(y.op.axis[0], k))


MISTAKES = [
    (lambda s, x, y, k: s.rfactor(x, k), "rfactor on stage X: it is not a reduction"),
    (lambda s, x, y, k: s.rfactor(y, y.op.axis[0]), "i is not a reduction axis"),
    (lambda s, x, y, k: s.rfactor(y, te.reduce_axis((0, 2), "z")), "z that is not part of"),
    (lambda s, x, y, k: s.rfactor(y, k, 2), "factor_axis is 2, but the partial results have 2"),
    (lambda s, x, y, k: s.rfactor(y, k, "0"), "factor_axis is '0'"),
    (fused_with_axis, "i_k_fused is fused with axes of the result"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_refusals(mistake, message):
    x, y, k = row_sums()
    s = te.create_schedule(y.op)
    with pytest.raises(TEScheduleError, match=message):
        mistake(s, x, y, k)
    assert len(s.stages) == 2
