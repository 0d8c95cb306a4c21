"""Small scheduled programs."""

from __future__ import annotations

from tilewright import te, tir


def matmul(m, n, k):
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    return te.create_prim_func([A, B, C])


def tiled_matmul(m=12, n=32, k=8, rows=3, lanes=4, vectors=2, panels=2, packs=True):
    """Tiles in registers, panels that are packed."""
    sch = tir.Schedule(matmul(m, n, k))
    width = lanes * vectors
    i, j, k = sch.get_loops("C")
    i, row = sch.split(i, [None, rows])
    outer, panel, vector, lane = sch.split(j, [None, panels, vectors, lanes])
    k, step = sch.split(k, [None, 2])
    sch.reorder(outer, i, panel, k, step, row, vector, lane)
    if packs:
        copy = sch.reindex_cache_read("C", 1, "global", lambda i, j, k: (j // width, k, j % width))
        sch.compute_at(copy, outer)
        column, depth = sch.get_loops(copy)[1:]
        copied_panel, column = sch.split(column, [None, width])
        sch.reorder(copied_panel, depth, column)
        sch.vectorize(column)
    for loop in (step, row, vector):
        sch.unroll(loop)
    sch.vectorize(lane)
    return sch


def fused_and_split(m=6, n=10, by=4):
    """Elements of a matrix, as one loop that is cut where no row ends."""
    A = te.placeholder((m, n), name="A")
    B = te.compute((m, n), lambda i, j: A[i, j] + 1.0, name="B")
    sch = tir.Schedule(te.create_prim_func([A, B]))
    sch.split(sch.fuse(*sch.get_loops("B")), [None, by])
    return sch


def transposed(m=6, n=8):
    """A transposition in one loop: digits of the loop count the rows and the columns."""
    A = te.placeholder((m, n), name="A")
    B = te.compute((n, m), lambda i, j: A[j, i] * 2.0, name="B")
    sch = tir.Schedule(te.create_prim_func([A, B]))
    sch.fuse(*sch.get_loops("B"))
    return sch


def convolution(c=2, h=6, w=6, o=4, window=3, inline=False):
    X = te.placeholder((c, h, w), name="X")
    W = te.placeholder((o, c, window, window), name="W")

    def inside(i, y, x):
        real = te.all(y >= 1, y < h + 1, x >= 1, x < w + 1)
        return te.if_then_else(real, X[i, y - 1, x - 1], 0.0)

    P = te.compute((c, h + 2, w + 2), inside, name="P")
    r = te.reduce_axis((0, c), "c")
    ky, kx = te.reduce_axis((0, window), "ky"), te.reduce_axis((0, window), "kx")
    shape = (o, h + 3 - window, w + 3 - window)
    Y = te.compute(
        shape,
        lambda o, y, x: te.sum(P[r, y + ky, x + kx] * W[o, r, ky, kx], axis=[r, ky, kx]),
        name="Y",
    )
    sch = tir.Schedule(te.create_prim_func([X, W, Y]))
    if inline:
        sch.compute_inline("P")
    return sch


def softmax_function(m=4, n=16):
    X = te.placeholder((m, n), name="X")
    k, r = te.reduce_axis((0, n), name="k"), te.reduce_axis((0, n), name="r")
    largest = te.compute((m,), lambda i: te.max(X[i, k], axis=k), name="largest")
    E = te.compute((m, n), lambda i, j: te.exp(X[i, j] - largest[i]), name="E")
    total = te.compute((m,), lambda i: te.sum(E[i, r], axis=r), name="total")
    Y = te.compute((m, n), lambda i, j: E[i, j] / total[i], name="Y")
    return te.create_prim_func([X, Y])


def softmax(m=4, n=16):
    """The softmax of each row."""
    return row_by_row(softmax_function(m, n))


def row_by_row(func):
    """All steps of a row follow each other."""
    sch = tir.Schedule(func)
    row = sch.get_loops("Y")[0]
    for block in ("total", "E", "largest"):
        sch.compute_at(block, row)
    return sch
