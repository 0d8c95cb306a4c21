"""Stages that are computed in the loops of others."""

import numpy as np
import pytest
from tests.te.schedule.checking import check, lowered_text, random_array

import tilewright as tvm
from tilewright import te
from tilewright.error import TEScheduleError


def product(m=16, n=16, k=16):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return a, b, c


def values(m=16, n=16, k=16):
    a, b = random_array((m, k), 1), random_array((k, n), 2)
    return [a, b], a @ b


def blocked(m=16, n=16, k=16):
    """The blocked product of the tutorials: a tile at a time, in memory of its own."""
    a, b, c = product(m, n, k)
    s = te.create_schedule(c.op)
    tile = s.cache_write(c, "global")
    _, j_outer, _, _ = s[c].tile(*s[c].op.axis, 4, 4)
    s[tile].compute_at(s[c], j_outer)
    i, j = s[tile].op.axis
    k_outer, k_inner = s[tile].split(s[tile].op.reduce_axis[0], 4)
    s[tile].reorder(k_outer, i, k_inner, j)
    s[tile].vectorize(j)
    s[tile].unroll(k_inner)
    s[c].parallel(s[c].leaf_iter_vars[0])
    return s, [a, b, c]


def test_the_text_of_a_blocked_product():
    assert lowered_text(*blocked()).split("for i_inner")[0].rstrip() == (
        """\
        for i_outer in T.parallel(4):
            for j_outer in range(4):
                C_global = T.allocate([16], "float32", "global")
                C_global_1 = T.Buffer((16,), data=C_global)
                for i_c_init in range(4):
                    for j_c_init in T.vectorized(4):
                        C_global_1[i_c_init * 4 + j_c_init] = T.float32(0.0)
                for k_outer, i_c in T.grid(4, 4):
                    for k_inner in T.unroll(4):
                        for j_c in T.vectorized(4):
                            cse_var_1: T.int32 = i_c * 4 + j_c
                            A_1 = T.Buffer((256,), data=A.data)
                            B_1 = T.Buffer((256,), data=B.data)
                            C_global_1[cse_var_1] = C_global_1[cse_var_1] + A_1[i_outer * 64 + i_c * 16 + k_outer * 4 + k_inner] * B_1[k_outer * 64 + k_inner * 16 + j_outer * 4 + j_c]"""  # noqa: E501
    )


@pytest.mark.parametrize("sizes", [(16, 16, 16), (10, 7, 9), (1, 5, 3)])
def test_a_blocked_product(sizes):
    schedule, args = blocked(*sizes)
    inputs, expected = values(*sizes)
    check(schedule, args, inputs, [expected])


def window(n=10, width=3):
    """A sum of neighbours: what two iterations read overlaps."""
    x = te.placeholder((n,), name="X")
    k = te.reduce_axis((0, 2), "k")
    y = te.compute((n,), lambda i: te.sum(x[i] * (k + 1).astype("float32"), axis=k), name="Y")
    w = te.reduce_axis((0, width), "w")
    z = te.compute((n - width + 1,), lambda i: te.sum(y[i + w], axis=w), name="Z")
    value = random_array((n,))
    return x, y, z, value, np.convolve(value * 3, np.ones(width), "valid").astype("float32")


@pytest.mark.parametrize("factor", [1, 3, 4, 20])
def test_what_several_iterations_need_is_computed_in_each(factor):
    x, y, z, value, expected = window()
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], factor)
    s[z].parallel(outer)
    s[y].compute_at(s[z], outer)
    check(s, [x, z], [value], [expected])


def test_only_what_is_needed_has_memory():
    x, y, z, _, _ = window()
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], 4)
    s[y].compute_at(s[z], outer)
    text = lowered_text(s, [x, z])
    assert 'Y = T.allocate([6], "float32", "global")' in text
    assert "for i_init in range(6)" in text or "for i in range(6)" in text


def test_splits_of_an_attached_stage_are_of_the_part_that_is_needed():
    x, y, z, value, expected = window()
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], 4)
    s[y].compute_at(s[z], outer)
    s[y].split(y.op.axis[0], 4)
    text = lowered_text(s, [x, z])
    assert "for i_outer_1, i_inner in T.grid(2, 4):" in text
    assert "if cse_var_1 < 6 and cse_var_1 + i_outer * 4 < 10:" in text
    check(s, [x, z], [value], [expected])


def test_a_stage_in_a_reduction_loop():
    x, y, z, value, expected = window()
    s = te.create_schedule(z.op)
    s[y].compute_at(s[z], z.op.reduce_axis[0])
    assert 'Y = T.allocate([1], "float32", "global")' in lowered_text(s, [x, z])
    check(s, [x, z], [value], [expected])


def test_stages_in_stages():
    a, b, c = product(6, 10, 5)
    d = te.compute((6, 10), lambda i, j: c[i, j] + 1.0, name="D")
    e = te.compute((6, 9), lambda i, j: d[i, j] * d[i, j + 1], name="E")
    s = te.create_schedule(e.op)
    outer, _ = s[e].split(e.op.axis[1], 4)
    s[d].compute_at(s[e], outer)
    s[c].compute_at(s[d], d.op.axis[1])
    (x, y), product_ = values(6, 10, 5)
    check(s, [a, b, e], [x, y], [(product_ + 1)[:, :-1] * (product_ + 1)[:, 1:]])


def test_readers_at_several_depths():
    a, b, c = product(6, 8, 5)
    d = te.compute((6, 8), lambda i, j: c[i, j] + 1.0, name="D")
    e = te.compute((6, 8), lambda i, j: c[i, j] * d[i, 7 - j], name="E")
    s = te.create_schedule(e.op)
    i, j = e.op.axis
    s[c].compute_at(s[e], i)
    s[d].compute_at(s[e], j)
    (x, y), found = values(6, 8, 5)
    check(s, [a, b, e], [x, y], [found * (found + 1)[:, ::-1]])


def test_a_convolution_with_padding_at_a_loop_and_inline():
    n, w = 9, 3
    x, f = te.placeholder((n, n), name="X"), te.placeholder((w, w), name="F")
    pad = te.compute(
        (n + 2, n + 2),
        lambda i, j: te.if_then_else(
            te.all(i >= 1, i < n + 1, j >= 1, j < n + 1), x[i - 1, j - 1], 0.0
        ),
        name="pad",
    )
    p, q = te.reduce_axis((0, w), "p"), te.reduce_axis((0, w), "q")
    y = te.compute((n, n), lambda i, j: te.sum(pad[i + p, j + q] * f[p, q], axis=[p, q]), name="Y")
    image, kernel = random_array((n, n), 1), random_array((w, w), 2)
    padded = np.pad(image, 1)
    expected = sum(
        padded[i : i + n, j : j + n] * kernel[i, j] for i in range(w) for j in range(w)
    ).astype("float32")
    for place in ("inline", "tile", "row", "element"):
        s = te.create_schedule(y.op)
        i_outer, j_outer, i_inner, _ = s[y].tile(*y.op.axis, 4, 4)
        if place == "inline":
            s[pad].compute_inline()
        else:
            s[pad].compute_at(s[y], {"tile": j_outer, "row": i_inner, "element": q}[place])
        if place == "tile":
            assert "pad = T.allocate([36]" in lowered_text(s, [x, f, y])
        if place == "inline":
            assert "allocate" not in lowered_text(s, [x, f, y])
        s[y].parallel(i_outer)
        check(s, [x, f, y], [image, kernel], [expected])


def test_symbolic_sizes():
    n = te.var("n")
    x = te.placeholder((n, 8), name="X")
    y = te.compute((n, 8), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((n, 8), lambda i, j: y[i, j] * y[i, 7 - j], name="Z")
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], 4)
    s[y].compute_at(s[z], outer)
    value = random_array((10, 8))
    assert 'Y = T.allocate([32], "float32", "global")' in lowered_text(s, [x, z])
    check(s, [x, z], [value], [(value + 1) * (value + 1)[:, ::-1]])


def test_an_index_that_depends_on_data_needs_the_whole_dimension():
    x, index = te.placeholder((6,), name="X"), te.placeholder((4,), "int32", "index")
    y = te.compute((6,), lambda i: x[i] * 2.0, name="Y")
    z = te.compute((4,), lambda i: y[index[i]], name="Z")
    s = te.create_schedule(z.op)
    s[y].compute_at(s[z], z.op.axis[0])
    value, where = random_array((6,)), np.array([5, 0, 3, 3], "int32")
    check(s, [x, index, z], [value, where], [value[where] * 2])


def test_an_intermediate_tensor_among_the_parameters_is_computed_there():
    x = te.placeholder((8,), name="X")
    y = te.compute((8,), lambda i: x[i] + 1.0, name="Y")
    z = te.compute((8,), lambda i: y[i] * 2.0, name="Z")
    s = te.create_schedule(z.op)
    s[y].compute_at(s[z], z.op.axis[0])
    assert "allocate" not in lowered_text(s, [x, y, z])
    value = random_array((8,))
    check(s, [x, y, z], [value], [value + 1, (value + 1) * 2])


def test_parallel_iterations_do_not_add_up_one_parameter():
    x, y, z, value, expected = window()
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], 4)
    s[y].compute_at(s[z], outer)
    check(s, [x, y, z], [value], [value * 3, expected])
    s[z].parallel(outer)
    check(s, [x, z], [value], [expected])
    with pytest.raises(TEScheduleError) as refused:
        tvm.lower(s, [x, y, z])
    heading, counterexample, _, *program = str(refused.value).split("\n")
    assert heading.startswith("parallel on stage Z: the iterations of loop `i_outer` cannot run")
    assert counterexample.startswith("Counterexample: Y[4]: written by Y_init at (v_i=4)")
    assert "    for i_outer in T.parallel(2):" in program
    halves = te.compute((8,), lambda i: y[i // 2] * 2.0, name="halves")
    s = te.create_schedule(halves.op)
    (i,) = halves.op.axis
    s[y].compute_at(s[halves], i)
    s[halves].parallel(i)
    with pytest.raises(TEScheduleError, match=r"in iteration i=0 and written by .* i=1"):
        tvm.lower(s, [x, y, halves])  # both loops are called i
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], 4)
    s[y].compute_at(s[z], outer)
    s[z].bind(outer, te.thread_axis("threadIdx.x"))
    with pytest.raises(TEScheduleError, match="the threads of loop i_outer of stage Z would add"):
        tvm.lower(s, [x, y, z])
    a, b, c = product()
    d = te.compute((16, 16), lambda i, j: c[i, j] + 1.0, name="D")
    s = te.create_schedule(d.op)
    outer, _ = s[d].split(d.op.axis[0], 4)
    s[c].compute_at(s[d], outer)
    s[d].parallel(outer)
    inputs, found = values()
    check(s, [a, b, c, d], inputs, [found, found + 1])


def test_the_part_of_a_tensor_that_nobody_reads_is_not_computed():
    x = te.placeholder((8,), name="X")
    y = te.compute((8,), lambda i: x[i] + 1.0, name="Y")
    z = te.compute((3,), lambda i: y[i + 2] * 2.0, name="Z")
    s = te.create_schedule(z.op)
    assert "for i in range(3):" in lowered_text(s, [x, z])
    value = random_array((8,))
    check(s, [x, z], [value], [(value[2:5] + 1) * 2])
    check(s, [x, y, z], [value], [value + 1, (value[2:5] + 1) * 2])


def test_a_stage_in_a_vectorized_loop():
    x = te.placeholder((4, 8), name="X")
    y = te.compute((4, 8), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((4, 8), lambda i, j: y[i, j] * 2.0, name="Z")
    s = te.create_schedule(z.op)
    s[y].compute_at(s[z], z.op.axis[1])
    s[z].vectorize(z.op.axis[1])
    value = random_array((4, 8))
    check(s, [x, z], [value], [(value + 1) * 2])


def test_compute_root_undoes_it():
    x, y, z, value, expected = window()
    s = te.create_schedule(z.op)
    before = lowered_text(s, [x, z])
    s[y].compute_at(s[z], z.op.axis[0])
    assert lowered_text(s, [x, z]) != before
    s[y].compute_root()
    assert lowered_text(s, [x, z]) == before
    check(s, [x, z], [value], [expected])


def steps():
    """A scan, and a tensor that each step reads."""
    x, state = te.placeholder((5, 8), name="X"), te.placeholder((5, 8), name="S")
    y = te.compute((5, 8), lambda t, i: x[t, i] + 1.0, name="Y")
    twice = te.compute((5, 8), lambda t, i: state[t - 1, i] * 2.0, name="twice")
    update = te.compute((5, 8), lambda t, i: twice[t, i] + y[t, 7 - i], name="U")
    first = te.compute((1, 8), lambda _, i: x[0, i], name="first")
    scan = te.scan(first, update, state, inputs=[x], name="steps")
    value = random_array((5, 8))
    expected = value.copy()
    for t in range(1, 5):
        expected[t] = expected[t - 1] * 2 + (value[t] + 1)[::-1]
    return x, y, twice, update, scan, value, expected


@pytest.mark.parametrize("place", ["update", "step", "both", "nested"])
def test_stages_inside_of_a_scan(place):
    x, y, twice, update, scan, value, expected = steps()
    s = te.create_schedule(scan.op)
    outer, _ = s[update].split(update.op.axis[1], 3)
    if place in ("update", "both", "nested"):
        s[twice].compute_at(s[update], outer)
    if place in ("step", "both"):
        s[y].compute_at(s[scan], scan.op.scan_axis)
    if place == "nested":
        s[y].compute_at(s[update], outer)
    check(s, [x, scan], [value], [expected])


def test_a_stage_is_not_computed_outside_of_where_it_is_read():
    a, b, c = product()
    d = te.compute((16, 16), lambda i, j: c[i, j] + 1.0, name="D")
    e = te.compute((16, 16), lambda i, j: c[i, j] * d[i, j], name="E")
    s = te.create_schedule(e.op)
    s[c].compute_at(s[e], e.op.axis[0])
    with pytest.raises(
        TEScheduleError,
        match="compute_at on stage C: it is computed in loop i of stage E, but stage D, which "
        "reads it, is computed outside",
    ):
        tvm.lower(s, [a, b, e])


def split_later(s, d):
    i, j = d.op.axis
    _, inner = s[d].split(i, 5)
    s[d].reorder(inner, j)
    return inner


def fuse_later(s, d):
    return s[d].fuse(*d.op.axis)


def split_and_fuse_later(s, d):
    i, j = d.op.axis
    outer, inner = s[d].split(i, nparts=3)
    return s[d].fuse(s[d].fuse(outer, inner), j)


def layout_later(s, d):
    return s[d].transform_layout(lambda i, j: [j, i])[-1]


@pytest.mark.parametrize("later", [split_later, fuse_later, split_and_fuse_later, layout_later])
def test_a_loop_that_is_transformed_afterwards(later):
    a, b, c = product()
    d = te.compute((16, 16), lambda i, j: c[i, j] + 1.0, name="D")
    s, same = te.create_schedule(d.op), te.create_schedule(d.op)
    s[c].compute_at(s[d], d.op.axis[0])
    later(s, d)
    same[c].compute_at(same[d], later(same, d))
    assert lowered_text(s, [a, b, d]) == lowered_text(same, [a, b, d])
    x, found = values()
    if later is not layout_later:
        check(s, [a, b, d], x, [found + 1])


def test_a_loop_of_a_group_that_is_split_afterwards():
    a, b, c = product()
    d = te.compute((16, 16), lambda i, j: c[i, j] + 1.0, name="D")
    e = te.compute((16, 16), lambda i, j: d[i, j] * 2.0, name="E")
    s = te.create_schedule(e.op)
    s.create_group(d, c, include_inputs=True).compute_at(s[e], e.op.axis[1])
    _, inner = s[e].split(e.op.axis[1], 4)
    s[e].split(inner, 2)
    assert "j_inner_inner in T.grid(16, 4, 2, 2)" in lowered_text(s, [a, b, e]).split("C = ")[0]
    x, found = values()
    check(s, [a, b, e], x, [(found + 1) * 2])


def test_a_stage_that_is_inlined_has_no_loops():
    a, b, c = product()
    d = te.compute((16, 16), lambda i, j: c[i, j] + 1.0, name="D")
    e = te.compute((16, 16), lambda i, j: d[i, j] * 2.0, name="E")
    s = te.create_schedule(e.op)
    s[c].compute_at(s[d], d.op.axis[0])
    s[d].compute_inline()
    with pytest.raises(TEScheduleError, match="stage D is inlined and has no loops"):
        tvm.lower(s, [a, b, e])


def test_stages_inside_of_each_other():
    a, b, c = product()
    d = te.compute((16, 16), lambda i, j: c[i, j] + 1.0, name="D")
    e = te.compute((16, 16), lambda i, j: d[i, j] * 2.0, name="E")
    s = te.create_schedule(e.op)
    s[c].compute_at(s[d], d.op.axis[0])
    with pytest.raises(TEScheduleError, match="stage C is computed inside of it"):
        s[d].compute_at(s[c], c.op.axis[0])
    s[c].compute_root()
    s[d].compute_at(s[e], e.op.axis[0])
    s[c].compute_at(s[d], d.op.axis[0])
    x, found = values()
    check(s, [a, b, e], x, [(found + 1) * 2])


def test_starting_values_are_read_in_front_of_the_reduction():
    x = te.placeholder((4, 6), name="X")
    y = te.compute((4,), lambda i: x[i, 0] * 2.0, name="Y")
    k = te.reduce_axis((0, 6), "k")
    z = te.compute((4,), lambda i: te.sum(x[i, k], axis=k, init=y[i]), name="Z")
    value = random_array((4, 6))
    s = te.create_schedule(z.op)
    s[y].compute_at(s[z], z.op.axis[0])
    check(s, [x, z], [value], [value.sum(1) + value[:, 0] * 2])
    s[y].compute_at(s[z], k)
    with pytest.raises(TEScheduleError, match="the starting values of stage Z read it"):
        tvm.lower(s, [x, z])


MISTAKES = [
    (lambda s, c, d: s[d].compute_at(s[c], c.op.axis[0]), "it is an output"),
    (lambda s, c, d: s[c.op.input_tensors[0]].compute_at(s[c], c.op.axis[0]), "it is an input"),
    (
        lambda s, c, d: s[c].compute_at(d, d.op.axis[0]),
        r"the parent must be a stage such as s\[C\]",
    ),
    (lambda s, c, d: s[c].compute_at(s[c], c.op.axis[0]), "stage C is computed inside of it"),
    (
        lambda s, c, d: s[c].compute_at(s[d], c.op.axis[0]),
        r"cannot find the axis i in the leaf_iter_vars \(i, j\) of stage D",
    ),
    (lambda s, c, d: s[c].compute_at(s[d], "i"), "cannot find the axis 'i'"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_refusals(mistake, message):
    _, _, c = product()
    d = te.compute((16, 16), lambda i, j: c[i, j] + 1.0, name="D")
    with pytest.raises(TEScheduleError, match="compute_at on stage .*" + message):
        mistake(te.create_schedule(d.op), c, d)
