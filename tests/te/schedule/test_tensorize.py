"""Loops that become intrinsics."""

import pytest
from tests.te.schedule.checking import check, random_array

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import ArgumentError, TEScheduleError
from tilewright.te.schedule import schedule_to_prim_func


def loops(extents, body):
    """Serial loops around ``body(*variables)``."""
    variables = [tir.Var(f"x{d}", "int32") for d in range(len(extents))]
    stmt = body(*variables)
    for var, extent in reversed(list(zip(variables, extents, strict=True))):
        stmt = tir.For(var, tir.const(0), tir.const(extent), tir.ForKind.SERIAL, stmt)
    return stmt


def dense(m=4, k=4, parts="body init update", name="dense"):
    """An intrinsic for a product of a matrix and a vector: y[i] = sum of w[i, k] * x[k]."""
    w, x = te.placeholder((m, k), name="w"), te.placeholder((k,), name="x")
    r = te.reduce_axis((0, k), "r")
    y = te.compute((m,), lambda i: te.sum(w[i, r] * x[r], axis=r), name="y")

    def statements(ins, outs):
        a, b = ins
        (c,) = outs

        def start():
            return loops((m,), lambda i: c.vstore((i,), tir.const(0.0, "float32")))

        def update():
            return loops((m, k), lambda i, j: c.vstore((i,), c[i] + a[i, j] * b[j]))

        return (
            tir.SeqStmt((start(), update())) if "body" in parts else None,
            start() if "init" in parts else None,
            update() if "update" in parts else None,
        )

    strided = tir.decl_buffer((m, k), name="w", strides=(te.var("s"), 1), offset_factor=1)
    return te.decl_tensor_intrin(y.op, statements, name, binds={w: strided})


def product(m=8, n=6, k=8):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((n, k), name="B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute((n, m), lambda j, i: te.sum(a[i, r] * b[j, r], axis=r), name="C")
    x, y = random_array((m, k), 1), random_array((n, k), 2)
    return [a, b, c], [x, y], y @ x.T


@pytest.mark.parametrize("parts", ["body init update", "body update", "init update"])
def test_a_reduction_loop_outside(parts):
    args, inputs, expected = product()
    c = args[-1]
    s = te.create_schedule(c.op)
    i_outer, i = s[c].split(c.op.axis[1], 4)
    k_outer, k = s[c].split(c.op.reduce_axis[0], 4)
    s[c].reorder(c.op.axis[0], k_outer, i_outer, i, k)
    s[c].tensorize(i, dense(parts=parts))
    text = schedule_to_prim_func(s, args).script()
    assert "w = T.match_buffer(A[" in text
    assert "i_outer_init" in text if "init" in parts else "if v_k_outer == 0" in text
    check(s, args, inputs, [expected])


def test_the_whole_reduction_inside():
    args, inputs, expected = product()
    c = args[-1]
    s = te.create_schedule(c.op)
    _, i = s[c].split(c.op.axis[1], 4)
    s[c].tensorize(i, dense(4, 8, "body"))
    check(s, args, inputs, [expected])


def test_tiles_of_caches():
    args, inputs, expected = product()
    a, _, c = args
    s = te.create_schedule(c.op)
    near = s.cache_read(a, "local", [c])
    tile = s.cache_write(c, "local")
    i_outer, _ = s[c].split(s[c].op.axis[1], 4)
    s[c].reorder(i_outer, s[c].op.axis[0])
    s[tile].compute_at(s[c], s[c].op.axis[0])
    s[near].compute_at(s[c], i_outer)
    s[tile].tensorize(s[tile].op.axis[1], dense(4, 8, "body"))
    check(s, args, inputs, [expected])


def test_elementwise():
    x = te.placeholder((4, 2), name="p")
    y = te.compute((4, 2), lambda i, j: x[i, j] * 2.0, name="q")

    def statements(ins, outs):
        return loops((4, 2), lambda i, j: outs[0].vstore((i, j), ins[0][i, j] + ins[0][i, j]))

    strides = {"strides": (te.var("s"), te.var("t"))}
    double = te.decl_tensor_intrin(y.op, statements, "double", default_buffer_params=strides)
    a = te.placeholder((3, 8, 6), name="A")
    b = te.compute((3, 8, 6), lambda h, i, j: a[h, i, j] * 2.0, name="B")
    s = te.create_schedule(b.op)
    h, i, j = b.op.axis
    i_outer, i = s[b].split(i, 4)
    j_outer, j = s[b].split(j, 2)
    s[b].reorder(i_outer, j_outer, h, i, j)
    s[b].tensorize(i, double)
    value = random_array((3, 8, 6))
    check(s, [a, b], [value], [value * 2])


def pointers(**options):
    """An intrinsic that is a call which gets addresses."""
    x = te.placeholder((4,), name="p")
    y = te.compute((4,), lambda i: x[i] + 1.0, name="q")

    def statements(ins, outs):
        address = [
            tir.tvm_access_ptr("float32", b.data, b.elem_offset, 4, mask)
            for b, mask in ((ins[0], 1), (outs[0], 2))
        ]
        return tir.call_extern("int32", "increment", *address)

    return te.decl_tensor_intrin(y.op, statements, "increment", **options)


def rows(n=8):
    a = te.placeholder((n, n), name="A")
    b = te.compute((n, n), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    return a, b, s


def test_addresses_are_of_the_boxes():
    a, b, s = rows()
    _, j = s[b].split(b.op.axis[1], 4)
    s[b].tensorize(j, pointers())
    text = tvm.lower(s, [a, b], simple_mode=True).script()
    assert (
        'T.call_extern("int32", "increment", '
        'T.tvm_access_ptr(T.type_annotation("float32"), A.data, i * 8 + j_outer * 4, 4, 1), '
    ) in text


def test_where_boxes_start():
    for options, message in (
        ({"offset_factor": 0}, "wants p to start at 0, but the box of A starts elsewhere"),
        ({"offset_factor": 8}, "does not start at a multiple of 8 elements"),
    ):
        a, b, s = rows()
        s[b].tensorize(s[b].split(b.op.axis[1], 4)[1], pointers(default_buffer_params=options))
        with pytest.raises(TEScheduleError, match=message):
            tvm.lower(s, [a, b])


def test_addresses_of_memory_in_a_loop():
    a, _, _ = rows()
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8, 8), lambda i, j: b[i, j] * 2.0, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    s[b].tensorize(s[b].split(b.op.axis[1], 4)[1], pointers())
    text = tvm.lower(s, [a, c], simple_mode=True).script()
    assert "B = T.allocate([8, 8]" in text
    assert "B, i * 8 + j_outer * 4, 4, 2)" in text


def copies(shape):
    x = te.placeholder(shape, name="p")
    y = te.compute(shape, lambda *i: x(*i) + 1.0, name="q")

    def statements(ins, outs):
        return tir.call_extern("int32", "copy", ins[0].data, outs[0].data)

    return te.decl_tensor_intrin(y.op, statements, "copy")


def test_compact_memory():
    for shape, factors, compact in (((4, 8), (4, 8), True), ((4, 4), (4, 4), False)):
        a, b, s = rows()
        _, _, i, _ = s[b].tile(*b.op.axis, *factors)
        s[b].tensorize(i, copies(shape))
        if compact:
            assert "copy" in tvm.lower(s, [a, b]).script()
        else:
            with pytest.raises(
                TEScheduleError, match="wants p in compact memory, but the box of A"
            ):
                tvm.lower(s, [a, b])


FORMULAS = {
    "same": lambda a, b, k: lambda j, i: te.sum(a[i, k] * b[j, k], axis=k),
    "swapped": lambda a, b, k: lambda j, i: te.sum(b[j, k] * a[i, k], axis=k),
    "halved": lambda a, b, k: lambda j, i: te.sum(0.5 * a[i, k] * b[j, k], axis=k),
    "max": lambda a, b, k: lambda j, i: te.max(a[i, k] * b[j, k], axis=k),
    "init": lambda a, b, k: lambda j, i: te.sum(a[i, k] * b[j, k], axis=k, init=1.0),
    "one": lambda a, b, k: lambda j, i: te.sum(a[i, k] * a[i, k], axis=k),
    "where": lambda a, b, k: lambda j, i: te.sum(a[i, k] * b[j, k], axis=k, where=k.var > 0),
    "plain": lambda a, b, k: lambda j, i: a[i, j] * b[j, i],
}


def lower_with(transform, formula="same", n=8, intrin=None):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    c = te.compute((n, n), FORMULAS[formula](a, b, te.reduce_axis((0, n), "k")), name="C")
    s = te.create_schedule(c.op)
    transform(s, c, intrin or dense())
    tvm.lower(s, [a, b, c])


def tiled(s, c, intrin):
    i_outer, i = s[c].split(c.op.axis[1], 4)
    k_outer, k = s[c].split(c.op.reduce_axis[0], 4)
    s[c].reorder(c.op.axis[0], k_outer, i_outer, i, k)
    s[c].tensorize(i, intrin)


def at_elements(s, c, intrin):
    s[c].tensorize(c.op.axis[1], intrin)


def at_rows(s, c, intrin):
    s[c].tensorize(c.op.axis[0], intrin)


def with_thread(s, c, intrin):
    tiled(s, c, intrin)
    s[c].bind(s[c].leaf_iter_vars[-2], te.thread_axis("threadIdx.x"))


def skewed(s, c, intrin):
    fused = s[c].fuse(*c.op.axis)
    _, inner = s[c].split(fused, 4)
    k_outer, k = s[c].split(c.op.reduce_axis[0], 4)
    s[c].reorder(k_outer, inner, k)
    s[c].tensorize(inner, intrin)


MISMATCHES = [
    (
        tiled,
        {"formula": "swapped"},
        r"it reads a box \(1, 4\) of B float32, the intrinsic \(4, 4\)",
    ),
    (tiled, {"formula": "halved"}, "it does not compute what dense does: `.* is not `w"),
    (tiled, {"formula": "max"}, "the reductions differ"),
    (tiled, {"formula": "init"}, "the reductions differ"),
    (tiled, {"formula": "where"}, "is not `w"),
    (tiled, {"formula": "one"}, "it reads 1 tensors, the intrinsic 2"),
    (at_elements, {"formula": "plain"}, "one of them is a reduction and the other is not"),
    (tiled, {"n": 10}, "some tiles are not whole"),
    (at_elements, {}, "axis i has extent 8, axis i of the intrinsic 4"),
    (at_rows, {}, "axis j has extent 8 and is not an axis of it"),
    (with_thread, {}, "something else happens in loop i_inner"),
    (tiled, {"intrin": dense(parts="body")}, "no statement that continues a reduction"),
    (tiled, {"intrin": dense(parts="update")}, "no statement that starts a reduction"),
    (tiled, {"intrin": dense(4, 2)}, "axis k has extent 4, axis r of the intrinsic 2"),
    (skewed, {"n": 6}, "tiles are not whole|over a box|extent"),
]


@pytest.mark.parametrize(("transform", "options", "message"), MISMATCHES)
def test_what_does_not_match(transform, options, message):
    with pytest.raises(TEScheduleError, match=message):
        lower_with(transform, **options)


def test_a_whole_statement_is_needed_without_outer_reduction():
    args, _, _ = product()
    c = args[-1]
    s = te.create_schedule(c.op)
    s[c].tensorize(s[c].split(c.op.axis[1], 4)[1], dense(4, 8, "init update"))
    with pytest.raises(TEScheduleError, match="dense has no statement for the whole"):
        tvm.lower(s, args)


def nothing(ins, outs):
    return None


DECLARATIONS = [
    (lambda y: te.decl_tensor_intrin(y.op.input_tensors[0].op, nothing), "expected the operation"),
    (lambda y: te.decl_tensor_intrin(y.op, nothing), "fcompute gives a statement, or three"),
    (lambda y: te.decl_tensor_intrin(y.op, lambda i, o: (None, None)), "or three"),
    (lambda y: te.decl_tensor_intrin(y.op, lambda i, o: 3), "must give a statement or a call"),
    (
        lambda y: te.decl_tensor_intrin(y.op, nothing, scalar_params=[te.var("n")]),
        "scalar parameters are not supported",
    ),
    (
        lambda y: te.decl_tensor_intrin(y.op, nothing, binds={y: tir.decl_buffer((4, 4))}),
        "cannot hold tensor y",
    ),
    (
        lambda y: te.decl_tensor_intrin(
            te.compute((4,), lambda i: y[i] * 2.0, name="z").op, nothing
        ),
        "z reads y, which is not an input",
    ),
]


@pytest.mark.parametrize(("mistake", "message"), DECLARATIONS)
def test_declarations(mistake, message):
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i] + 1.0, name="y")
    with pytest.raises(ArgumentError, match=r"te.decl_tensor_intrin '\w+': .*" + message):
        mistake(y)


def test_refusals():
    args, _, _ = product()
    c = args[-1]
    s = te.create_schedule(c.op)
    with pytest.raises(
        TEScheduleError, match=r"expected a te.decl_tensor_intrin, or the name .*; got 'dense'"
    ):
        s[c].tensorize(c.op.axis[0], "dense")
    with pytest.raises(TEScheduleError, match="expected a loop"):
        s[c].tensorize("i", dense())
    assert repr(dense()) == "TensorIntrin(dense)"
