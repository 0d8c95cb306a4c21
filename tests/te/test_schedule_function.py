"""The functions that schedules of tensor expressions become."""

import textwrap

import pytest

import tilewright as tvm
import tilewright.te as te
from tilewright.error import ArgumentError, TEScheduleError
from tilewright.ir.rewrite import walk
from tilewright.te.schedule import schedule_to_prim_func
from tilewright.tir import decl_buffer
from tilewright.tir.stmt import For


def expect(text):
    return textwrap.indent(textwrap.dedent(text).strip("\n"), "    ").lstrip()


def body_of(schedule, *args):
    """The text of the function below its signature and attributes."""
    text = schedule_to_prim_func(schedule, args).script()
    return text[text.index('# with T.block("root")') :]


def product(m=8, n=8, k=6):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), "r")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return a, b, c, te.create_schedule(c.op)


def test_initialisation_is_right_before_the_outermost_reduction_loop():
    a, b, c, s = product()
    i, j = c.op.axis
    (r,) = c.op.reduce_axis
    i_outer, i_inner = s[c].split(i, 4)
    r_outer, r_inner = s[c].split(r, 2)
    s[c].reorder(i_outer, r_outer, i_inner, r_inner, j)
    s[c].vectorize(j)
    s[c].parallel(i_outer)
    s[c].unroll(r_inner)
    assert body_of(s, a, b, c) == expect(
        """
        # with T.block("root"):
        for i_outer in T.parallel(2):
            for i_inner_init in range(4):
                for j_init in T.vectorized(8):
                    with T.block("C_init"):
                        v_i = T.axis.spatial(8, i_outer * 4 + i_inner_init)
                        v_j = T.axis.spatial(8, j_init)
                        T.reads()
                        T.writes(C[v_i, v_j])
                        C[v_i, v_j] = T.float32(0.0)
            for r_outer, i_inner in T.grid(3, 4):
                for r_inner in T.unroll(2):
                    for j in T.vectorized(8):
                        with T.block("C_update"):
                            v_i = T.axis.spatial(8, i_outer * 4 + i_inner)
                            v_j = T.axis.spatial(8, j)
                            v_r = T.axis.reduce(6, r_outer * 2 + r_inner)
                            T.reads(C[v_i, v_j], A[v_i, v_r], B[v_r, v_j])
                            T.writes(C[v_i, v_j])
                            C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_r] * B[v_r, v_j]
        """
    )


def test_a_factor_that_does_not_divide_gives_a_predicate():
    x = te.placeholder((10,), name="X")
    y = te.compute((10,), lambda i: x[i] + 1.0, name="Y")
    s = te.create_schedule(y.op)
    s[y].split(y.op.axis[0], 4)
    text = body_of(s, x, y)
    assert "T.grid(3, 4)" in text
    assert "T.where(i_outer * 4 + i_inner < 10)" in text


@pytest.mark.parametrize(
    ("extent", "options"),
    [
        (8, {"factor": 4}),
        (10, {"factor": 100}),
        (8, {"nparts": 2}),
        (te.var("n") * 4, {"factor": 4}),
    ],
)
def test_a_provable_predicate_is_left_out(extent, options):
    x = te.placeholder((extent,), name="X")
    y = te.compute((extent,), lambda i: x[i] + 1.0, name="Y")
    s = te.create_schedule(y.op)
    s[y].split(y.op.axis[0], **options)
    assert "T.where" not in body_of(s, x, y, *variables(extent))


def variables(extent):
    return [] if isinstance(extent, int) else [extent.a]


def test_disable_predication():
    x = te.placeholder((10,), name="X")
    y = te.compute((10,), lambda i: x[i] + 1.0, name="Y")
    s = te.create_schedule(y.op)
    s[y].split(y.op.axis[0], 4, disable_predication=True)
    assert "T.where" not in body_of(s, x, y)


def test_fused_halves_of_a_split_are_the_loop_again():
    x = te.placeholder((10, 4), name="X")
    y = te.compute((10, 4), lambda i, j: x[i, j] + 1.0, name="Y")
    s = te.create_schedule(y.op)
    s[y].fuse(*s[y].split(y.op.axis[0], 4))
    text = body_of(s, x, y)
    assert "for i_outer_i_inner_fused, j in T.grid(12, 4):" in text
    assert "T.where(i_outer_i_inner_fused < 10)" in text


def test_fused_loops_divide():
    x = te.placeholder((10, 4), name="X")
    y = te.compute((10, 4), lambda i, j: x[i, j] + 1.0, name="Y")
    s = te.create_schedule(y.op)
    s[y].fuse(*y.op.axis)
    text = body_of(s, x, y)
    assert "v_i = T.axis.spatial(10, i_j_fused // 4)" in text
    assert "v_j = T.axis.spatial(4, i_j_fused % 4)" in text


def test_a_reduction_from_another_begin():
    x = te.placeholder((10,), name="X")
    k = te.reduce_axis((2, 10), "k")
    y = te.compute((1,), lambda i: te.sum(x[k], axis=k), name="Y")
    s = te.create_schedule(y.op)
    assert "for k in range(2, 10):" in body_of(s, x, y)
    s[y].split(k, 4)
    assert "v_k = T.axis.reduce((2, 10), k_outer * 4 + k_inner + 2)" in body_of(s, x, y)


def test_pragmas_are_annotations_of_loops():
    a, b, c, s = product()
    s[c].pragma(c.op.axis[0], "auto_unroll_max_step", 16)
    s[c].pragma(c.op.axis[0], "unroll_explicit")
    assert (
        'T.serial(8, annotations={"pragma_auto_unroll_max_step": 16, "pragma_unroll_explicit": 1})'
    ) in body_of(s, a, b, c)


def test_tensors_that_are_no_parameters_are_allocated():
    a, b, _, s = product()
    assert "C = T.alloc_buffer((8, 8))" in body_of(s, a, b)


def test_buffers_can_be_given():
    a, b, c, s = product()
    strided = decl_buffer((8, 8), name="out", strides=(16, 1))
    func = schedule_to_prim_func(s, [a, b, c], "product", {c: strided})
    assert func.global_symbol == "product"
    assert func.buffer_map[func.params[2]] is strided
    with pytest.raises(ArgumentError, match="cannot hold tensor C"):
        schedule_to_prim_func(s, [a, b, c], binds={c: decl_buffer((8, 8), "float64")})


def test_loops_of_two_functions_are_their_own():
    a, b, c, s = product()
    first, second = (schedule_to_prim_func(s, [a, b, c]) for _ in range(2))
    assert first.body.block.body.loop_var is not second.body.block.body.loop_var


def test_two_operations_may_reduce_over_one_axis():
    x = te.placeholder((4, 6), name="X")
    k = te.reduce_axis((0, 6), "k")
    y = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    z = te.compute((4,), lambda i: te.max(x[i, k] - y[i], axis=k), name="Z")
    s = te.create_schedule(z.op)
    s[y].split(k, 4)
    text = body_of(s, x, z)
    assert "k_outer" in text
    assert "for k in range(6):" in text


def test_stages_inside_a_scan_can_be_scheduled_but_for_the_step():
    state, x = te.placeholder((5, 8), name="S"), te.placeholder((5, 8), name="X")
    update = te.compute((5, 8), lambda t, i: state[t - 1, i] + x[t, i], name="U")
    out = te.scan(te.compute((1, 8), lambda _, i: 0.0, name="Z"), update, state, name="out")
    s = te.create_schedule(out.op)
    step, i = update.op.axis
    s[update].vectorize(s[update].split(i, 4)[1])
    assert "for i_inner in T.vectorized(4):" in body_of(s, x, out)
    s[update].split(step, 2)
    with pytest.raises(TEScheduleError, match="t is the step of"):
        body_of(s, x, out)


def test_a_fused_loop_with_more_iterations_than_int32_counts():
    a = te.placeholder((50000, 50000), "int8", name="A")
    b = te.compute(a.shape, lambda i, j: a[i, j] + a[i, j], name="B")
    s = te.create_schedule(b.op)
    s[b].fuse(*b.op.axis)
    body = tvm.lower(s, [a, b])["main"].body
    (loop,) = [node for node in walk(body) if isinstance(node, For)]
    assert loop.loop_var.dtype == "int64"
    assert loop.extent.value == 50000 * 50000
