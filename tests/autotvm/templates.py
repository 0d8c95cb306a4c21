"""Templates that tests share."""

from tilewright import autotvm, te


@autotvm.template("tests/matmul")
def matmul(n, m, k, dtype="float32"):
    A = te.placeholder((n, k), name="A", dtype=dtype)
    B = te.placeholder((k, m), name="B", dtype=dtype)
    r = te.reduce_axis((0, k), name="r")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    s = te.create_schedule(C.op)
    y, x = C.op.axis
    cfg = autotvm.get_config()
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", x, num_outputs=2)
    cfg.define_knob("unroll", [0, 1])
    if cfg.is_fallback:
        cfg.fallback_split("tile_x", [-1, 4])
    yo, yi = cfg["tile_y"].apply(s, C, y)
    xo, xi = cfg["tile_x"].apply(s, C, x)
    s[C].reorder(yo, xo, r, yi, xi)
    s[C].vectorize(xi)
    if cfg["unroll"].val:
        s[C].unroll(yi)
    return s, [A, B, C]


KINDS = ["good", "raise_error", "raise", "refused", "not lowered", "shape"]


@autotvm.template("tests/scale")
def scale(n, bad=()):
    """A template that fails with most kinds, and in the ways that `bad` lists."""
    cfg = autotvm.get_config()
    if "no knobs" not in bad:
        cfg.define_split("tile", n, num_outputs=2)
        cfg.define_knob("kind", KINDS)
    if "filter" in bad:
        cfg.multi_filter(lambda knobs: knobs["tile"].size[-1] == 2 or knobs["kind"].val == "good")
    kind = "good" if "no knobs" in bad else cfg["kind"].val
    if "always" in bad:
        kind = "raise_error"
    if kind == "raise_error":
        cfg.raise_error("the kind is bad")
    if kind == "raise" or "raise" in bad:
        raise ZeroDivisionError("division of one by nothing")
    size = n + 1 if kind == "shape" else n
    A = te.placeholder((size,), name="A")
    B = te.compute((size,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((size,), lambda i: B[i] + 1.0, name="C")
    D = te.compute((size,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    if "no knobs" not in bad:
        cfg["tile"].apply(s, D, D.op.axis[0])
    if kind == "refused":
        s[D].compute_inline()
    if kind == "not lowered":
        s[B].compute_at(s[C], C.op.axis[0])
    return s, [A, D]


@autotvm.template("tests/gpu")
def gpu(n):
    A = te.placeholder((n, n), name="A")
    B = te.compute((n, n), lambda i, j: A[j, i], name="B")
    s = te.create_schedule(B.op)
    shared = s.cache_read(A, "shared", [B])
    y, x = B.op.axis
    cfg = autotvm.get_config()
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", x, num_outputs=2)
    yo, yi = cfg["tile_y"].apply(s, B, y)
    xo, xi = cfg["tile_x"].apply(s, B, x)
    loops = [yo, xo, yi, xi]
    s[B].reorder(*loops)
    cfg.define_annotate("bind", loops, "bind_gpu")
    cfg["bind"].apply(s, B, loops)
    s[shared].compute_at(s[B], xo)
    fused = s[shared].fuse(*s[shared].op.axis)
    _, thread = s[shared].split(fused, cfg["tile_x"].size[-1])
    s[shared].bind(thread, te.thread_axis("threadIdx.x"))
    return s, [A, B]


@autotvm.template("tests/packed")
def packed(n, m, k):
    """A product that reads its second operand from panels, as wide as a knob says."""
    A = te.placeholder((n, k), name="A")
    B = te.placeholder((k, m), name="B")
    cfg = autotvm.get_config()
    cfg.define_knob("width", [1, 4, 6])
    width = cfg["width"].val
    P = te.compute((m // width, k, width), lambda p, q, j: B[q, p * width + j], name="P")
    r = te.reduce_axis((0, k), name="r")
    C = te.compute(
        (n, m), lambda i, j: te.sum(A[i, r] * P[j // width, r, j % width], axis=r), name="C"
    )
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[1], width)
    s[C].reorder(outer, C.op.axis[0], r, inner)
    s[C].vectorize(inner)
    return s, [A, B, C]


@autotvm.template("tests/wrong")
def wrong(n):
    """A template that leaves out most of a sum with one of its configs, and is fast."""
    A = te.placeholder((n, n), name="A")
    cfg = autotvm.get_config()
    cfg.define_knob("right", [True, False])
    k = te.reduce_axis((0, n if cfg["right"].val else 1), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), [A, B]


@autotvm.register_topi_compute("tests/dense")
def dense(cfg, data, weight):
    n, k = map(int, data.shape)
    m = int(weight.shape[0])
    cfg.define_split("tile", cfg.axis(m), num_outputs=2)
    r = te.reduce_axis((0, k), name="r")
    return te.compute((n, m), lambda i, j: te.sum(data[i, r] * weight[j, r], axis=r), name="dense")


@autotvm.register_topi_schedule("tests/dense")
def schedule_dense(cfg, outs):
    s = te.create_schedule([out.op for out in outs])
    (out,) = outs
    outer, _ = cfg["tile"].apply(s, out, s[out].op.axis[1])
    for stage in s.stages:
        if stage.op.name == "dense" and stage.op is not out.op:
            stage.compute_at(s[out], outer)
    return s


@autotvm.template("tests/gpu_sum")
def gpu_sum(n, m):
    """Sums that threads of a block compute together."""
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    cfg = autotvm.get_config()
    cfg.define_split("threads", k, num_outputs=2, filter=lambda tile: tile.size[-1] > 1)
    outer, inner = cfg["threads"].apply(s, B, k)
    s[B].reorder(inner, outer)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    return s, [A, B]


@autotvm.template("tests/rolling")
def rolling(n):
    """Rows that are kept for the next iteration, which must not run at once with this one."""
    A = te.placeholder((n + 2,), name="A")
    B = te.compute((n + 2,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((n,), lambda i: B[i] + B[i + 2], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    cfg = autotvm.get_config()
    cfg.define_knob("parallel", [False, True])
    if cfg["parallel"].val:
        s[C].parallel(C.op.axis[0])
    return s, [A, C]
