"""Small programs without schedules, and how they are checked."""

from __future__ import annotations

from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright import te, tir, topi
from tilewright.ir import IRModule
from tilewright.schedule_rules.default import schedule_module
from tilewright.schedule_rules.eligible import marked_as_scheduled
from tilewright.tir.stmt import For, ForKind
from tilewright.tir.transform.machine import Machine

SMALL = Machine(vector_bits=128, vector_registers=16, first_cache=256, own_cache=512, cores=1)
"""Four lanes, and caches that hold less than the programs need."""

LARGE = Machine(vector_bits=128, vector_registers=32)
"""Four lanes, and caches that hold everything."""

TWO_CORES = SMALL._replace(cores=2)


def scheduled(func, machine=SMALL, sizes=None):
    """The schedule of a function, which must keep its meaning."""
    module = IRModule.from_expr(func)
    (before,) = marked_as_scheduled(module).functions.values()
    sch = schedule_module(module, machine)
    again = tir.Schedule(before)
    sch.trace.apply_to_schedule(again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)
    assert_same_meaning(before, again, sizes=sizes)
    return sch


def loops_of(sch, block):
    """The kinds and extents of the loops around a block, from the outside."""
    return [
        (sch.get(loop).kind.name.lower(), int(sch.get(loop).extent.value))
        for loop in sch.get_loops(block)
    ]


def kinds_of(sch):
    """The kinds of all loops of the function ``main``."""
    return {node.kind for node in tvm.ir.walk(sch.mod["main"].body) if isinstance(node, For)}


def names_of(sch):
    """The names of the blocks that are left, in order."""
    return [sch.get(block).name_hint for block in sch.get_child_blocks("root")]


def matmul(m, n, k, transposed=False, dtype="float32"):
    a = te.placeholder((m, k), dtype, name="A")
    b = te.placeholder((n, k) if transposed else (k, n), dtype, name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (m, n),
        lambda i, j: te.sum(a[i, r] * (b[j, r] if transposed else b[r, j]), axis=r),
        name="C",
    )
    return te.create_prim_func([a, b, c])


def matmul_relu(m, n, k):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    bias = te.placeholder((n,), name="bias")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    d = te.compute((m, n), lambda i, j: c[i, j] + bias[j], name="D")
    e = te.compute((m, n), lambda i, j: tvm.tir.max(d[i, j], tir.const(0.0)), name="E")
    return te.create_prim_func([a, b, bias, e])


def winograd_conv2d(size, channels, filters, results, pad=1, batch=1, dtype="float32"):
    """A convolution with a kernel of 3 x 3 by products of transformed tiles, and an activation."""
    x = te.placeholder((batch, size, size, channels), dtype, name="X")
    u = te.placeholder((results + 2, results + 2, channels, filters), dtype, name="U")
    bias = te.placeholder((filters,), dtype, name="bias")
    y = topi.nn.winograd_conv2d_nhwc(x, u, results, pad)
    return te.create_prim_func([x, u, bias, topi.nn.relu(topi.add(y, bias))])


def conv2d(channels, size, filters, kernel, pad, depthwise=False):
    x = te.placeholder((1, channels, size, size), name="X")
    shape = (channels,) if depthwise else (filters, channels)
    w = te.placeholder((*shape, kernel, kernel), name="W")
    padded = te.compute(
        (1, channels, size + 2 * pad, size + 2 * pad),
        lambda n, c, i, j: te.if_then_else(
            te.all(i >= pad, i < size + pad, j >= pad, j < size + pad),
            x[n, c, i - pad, j - pad],
            0.0,
        ),
        name="P",
    )
    rc = te.reduce_axis((0, channels), name="rc")
    ry, rx = (te.reduce_axis((0, kernel), name=name) for name in ("ry", "rx"))
    out = size + 2 * pad - kernel + 1
    if depthwise:
        y = te.compute(
            (1, channels, out, out),
            lambda n, c, i, j: te.sum(padded[n, c, i + ry, j + rx] * w[c, ry, rx], axis=[ry, rx]),
            name="Y",
        )
    else:
        y = te.compute(
            (1, filters, out, out),
            lambda n, o, i, j: te.sum(
                padded[n, rc, i + ry, j + rx] * w[o, rc, ry, rx], axis=[rc, ry, rx]
            ),
            name="Y",
        )
    return te.create_prim_func([x, w, y])


def pointwise_relu(channels, size, filters):
    """A product of matrices, the columns of which are elements of an image."""
    x = te.placeholder((channels, size, size), name="X")
    w = te.placeholder((filters, channels), name="W")
    k = te.reduce_axis((0, channels), name="k")
    shape = (filters, size, size)
    y = te.compute(shape, lambda o, i, j: te.sum(x[k, i, j] * w[o, k], axis=k), name="Y")
    r = te.compute(shape, lambda *i: tvm.tir.max(y(*i), tir.const(0.0)), name="R")
    return te.create_prim_func([x, w, r])


def strided_conv2d(channels, size, filters, relu):
    """Every second window of 3 by 3 elements of an image."""
    x = te.placeholder((1, channels, size, size), name="X")
    w = te.placeholder((filters, channels, 3, 3), name="W")
    rc = te.reduce_axis((0, channels), name="rc")
    ry, rx = (te.reduce_axis((0, 3), name=name) for name in ("ry", "rx"))
    shape = (1, filters, size // 2, size // 2)
    y = te.compute(
        shape,
        lambda n, o, i, j: te.sum(
            x[n, rc, i * 2 + ry, j * 2 + rx] * w[o, rc, ry, rx], axis=[rc, ry, rx]
        ),
        name="Y",
    )
    r = te.compute(shape, lambda *i: tvm.tir.max(y(*i), tir.const(0.0)), name="R")
    return te.create_prim_func([x, w, r if relu else y])


def windows(channels, size, stride):
    """The largest elements of windows of 3 by 3."""
    x = te.placeholder((channels, size, size), name="X")
    ry, rx = (te.reduce_axis((0, 3), name=name) for name in ("ry", "rx"))
    out = (size - 3) // stride + 1
    y = te.compute(
        (channels, out, out),
        lambda c, i, j: te.max(x[c, i * stride + ry, j * stride + rx], axis=[ry, rx]),
        name="Y",
    )
    return te.create_prim_func([x, y])


def softmax(n, m):
    a = te.placeholder((n, m), name="A")
    k, l = te.reduce_axis((0, m), name="k"), te.reduce_axis((0, m), name="l")
    high = te.compute((n,), lambda i: te.max(a[i, k], axis=k), name="M")
    # Not exp, so that sums of small integers stay exact.
    e = te.compute((n, m), lambda i, j: te.abs(a[i, j] - high[i]), name="E")
    s = te.compute((n,), lambda i: te.sum(e[i, l], axis=l), name="S")
    o = te.compute((n, m), lambda i, j: e[i, j] + s[i], name="O")
    return te.create_prim_func([a, o])


def elementwise(*shape):
    a = te.placeholder(shape, name="A")
    b = te.compute(shape, lambda *i: a(*i) + 1, name="B")
    c = te.compute(shape, lambda *i: b(*i) * 2, name="C")
    return te.create_prim_func([a, c])


def transpose(n, m):
    a = te.placeholder((n, m), name="A")
    return te.create_prim_func([a, te.compute((m, n), lambda i, j: a[j, i], name="B")])


def sums(n, m, axis):
    a = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, (n, m)[axis]), name="k")
    if axis == 1:
        s = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="S")
    else:
        s = te.compute((m,), lambda i: te.sum(a[k, i], axis=k), name="S")
    return te.create_prim_func([a, s])


def padded_windows(channels, size):
    """The largest elements of windows of 3 by 3, every other one, with -1 around the image."""
    x = te.placeholder((channels, size, size), name="X")
    padded = te.compute(
        (channels, size + 2, size + 2),
        lambda c, i, j: te.if_then_else(
            te.all(i >= 1, i < size + 1, j >= 1, j < size + 1), x[c, i - 1, j - 1], -1.0
        ),
        name="P",
    )
    ry, rx = (te.reduce_axis((0, 3), name=name) for name in ("ry", "rx"))
    y = te.compute(
        (channels, size // 2, size // 2),
        lambda c, i, j: te.max(padded[c, i * 2 + ry, j * 2 + rx], axis=[ry, rx]),
        name="Y",
    )
    return te.create_prim_func([x, y])


def sums_of_boxes(height, width):
    """The sum of each box of 6 by 6 elements of two images."""
    a = te.placeholder((2, height, width), name="A")
    y, x = te.reduce_axis((0, 6), name="y"), te.reduce_axis((0, 6), name="x")
    s = te.compute(
        (2, height // 6, width // 6),
        lambda c, i, j: te.sum(a[c, i * 6 + y, j * 6 + x], axis=[y, x]),
        name="S",
    )
    return te.create_prim_func([a, s])


VECTOR = ForKind.VECTORIZED
PARALLEL = ForKind.PARALLEL


def later_normalized_attention(heads, blocks, rows, keys, size):
    """Products with powers, which are then divided by the sums of those and copied to other
    places."""
    q = te.placeholder((heads, blocks, rows, size), name="Q")
    k = te.placeholder((heads, keys, size), name="K")
    v = te.placeholder((heads, keys, size), name="V")
    h, j = te.reduce_axis((0, size), "h"), te.reduce_axis((0, keys), "j")
    shape = (heads, blocks, rows, keys)
    x = te.compute(shape, lambda n, o, i, c: te.sum(q[n, o, i, h] * k[n, c, h], axis=h), "S")
    powers, inverse = topi.nn.activation.softmax_parts(x, -1)
    shape = (heads, blocks, rows, size)
    mixed = te.compute(
        shape, lambda n, o, i, c: te.sum(powers[n, o, i, j] * v[n, j, c], axis=j), "O"
    )
    whole = te.compute(shape, lambda n, o, i, c: inverse[n, o, i] * mixed[n, o, i, c], "N")
    result = te.compute(
        (blocks * rows, heads, size), lambda i, n, c: whole[n, i // rows, i % rows, c], "R"
    )
    return te.create_prim_func([q, k, v, result])


def attention(heads, blocks, rows, keys, size, masked=False):
    """Products of queries with keys, their softmax, and products with values; masked, if asked."""
    q = te.placeholder((heads, blocks, rows, size), name="Q")
    k = te.placeholder((heads, size, keys), name="K")
    v = te.placeholder((heads, keys, size), name="V")
    h, j = te.reduce_axis((0, size), "h"), te.reduce_axis((0, keys), "j")
    shape = (heads, blocks, rows, keys)
    x = te.compute(shape, lambda n, o, i, c: te.sum(q[n, o, i, h] * k[n, h, c], axis=h), "S")
    if masked:
        product = x
        x = te.compute(
            shape,
            lambda n, o, i, c: tir.Select(c <= i, product[n, o, i, c], te.const(-1e3, "float32")),
            "M",
        )
    weights = topi.nn.softmax(x)
    result = te.compute(
        (heads, blocks, rows, size),
        lambda n, o, i, c: te.sum(weights[n, o, i, j] * v[n, j, c], axis=j), "O",
    )  # fmt: skip
    return te.create_prim_func([q, k, v, result])
