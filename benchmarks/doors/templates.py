"""Templates of AutoTVM for x86 processors, one for each workload, with the same arguments."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from benchmarks.doors.workloads import (
    CONV2D,
    MATMUL,
    SOFTMAX,
    conv2d_tensors,
    matmul_tensors,
    softmax_tensors,
)
from benchmarks.suite.conv2d import ZERO, padded
from tilewright import autotvm, te, tir
from tilewright.target import Target

Template = tuple[te.Schedule, list[te.Tensor]]


@autotvm.template(MATMUL)
def tiled_matmul(m: int, n: int, k: int) -> Template:
    """Tiles of the result stay in registers; panels of the right matrix may be packed first."""
    A, B, _ = matmul_tensors(m, n, k)
    lanes, most = vector_lanes(), tile_vectors()
    cfg = autotvm.get_config()
    cfg.define_split("rows", m, policy="candidate",
                     candidate=[[-1, rows] for rows in (2, 4, 6, 8, 12, 14)])  # fmt: skip
    cfg.define_split("columns", n, num_outputs=3, max_factor=16 * lanes,
                     filter=lambda tile: tile.size[2] in (lanes, 2 * lanes, 4 * lanes))  # fmt: skip
    cfg.define_split("steps", k, num_outputs=2, max_factor=8)
    cfg.define_knob("pack", [True, False])
    cfg.multi_filter(lambda knobs: knobs["rows"].size[1] * knobs["columns"].size[2] <= most * lanes)
    packs, width = cfg["pack"].val, cfg["columns"].size[2]
    panels = te.compute((n // width, k, width), lambda p, r, j: B[r, p * width + j], name="panels")
    r = te.reduce_axis((0, k), name="r")

    def element(i: Any, j: Any) -> Any:
        right = panels[j // width, r, j % width] if packs else B[r, j]
        return te.sum(A[i, r] * right, axis=r)

    C = te.compute((m, n), element, name="C")

    s = te.create_schedule(C.op)
    tile = s.cache_write(C, "local")
    i0, i1 = cfg["rows"].apply(s, C, C.op.axis[0])
    j0, j1, j2 = cfg["columns"].apply(s, C, C.op.axis[1])
    s[C].reorder(j0, i0, j1, i1, j2)
    s[C].parallel(j0)
    s[C].vectorize(j2)
    if packs:
        s[panels].compute_at(s[C], j0)
        s[panels].vectorize(panels.op.axis[2])
    s[tile].compute_at(s[C], j1)
    i, j = s[tile].op.axis
    r0, r1 = cfg["steps"].apply(s, tile, s[tile].op.reduce_axis[0])
    s[tile].reorder(r0, r1, i, j)
    s[tile].unroll(r1)
    s[tile].unroll(i)
    s[tile].vectorize(j)
    return s, [A, B, C]


class Products(NamedTuple):
    """A convolution as products of the filters and a matrix whose columns are windows.

    Attributes:
        parameters: the image, the filters, the bias and the result.
        padded: the image with zeros around it.
        windows: the matrix.
        tiles: the products with the columns that fill vectors.
        rest: those with the columns that are left.
    """

    parameters: list[te.Tensor]
    padded: te.Tensor
    windows: te.Tensor
    tiles: te.Tensor
    rest: te.Tensor


def products(channels: int, size: int, filters: int, whole: int) -> Products:
    """The convolution, with so many columns in `tiles`."""
    X, W, bias, _ = conv2d_tensors(channels, size, filters)
    P = padded(X, 1)
    windows = te.compute(
        (channels, 3, 3, size, size), lambda c, i, j, y, x: P[0, c, y + i, x + j], name="windows"
    )

    def product(name: str, first: int, last: int) -> te.Tensor:
        k = te.reduce_axis((0, 9 * channels), name="k")
        place = k // 9, k // 3 % 3, k % 3

        def element(o: Any, p: Any) -> Any:
            pixel = first + p
            return te.sum(W[(o, *place)] * windows[(*place, pixel // size, pixel % size)], axis=k)

        return te.compute((filters, last - first), element, name=name)

    tiles, rest = product("tiles", 0, whole), product("rest", whole, size * size)

    def element(n: Any, o: Any, y: Any, x: Any) -> Any:
        p = y * size + x
        conv = te.if_then_else(p < whole, tiles[o, p], rest[o, p - whole])
        return tir.max(conv + bias[o], ZERO)

    Z = te.compute((1, filters, size, size), element, name="relu")
    return Products([X, W, bias, Z], P, windows, tiles, rest)


@autotvm.template(CONV2D)
def small_image_conv2d(channels: int, size: int, filters: int) -> Template:
    """Windows are laid out once, and tiles of filters by all whole vectors stay in registers.

    The columns that are left are sums of products along the filters.
    """
    lanes, depth = vector_lanes(), 9 * channels
    whole = size * size // lanes * lanes
    if whole in (0, size * size):
        raise ValueError(f"the template is for images that fill some vectors, and a part of one; "
                         f"got {size} rows and columns")  # fmt: skip
    cfg = autotvm.get_config()
    most = max(tile_vectors() * lanes // whole, 1)
    cfg.define_split("filters", filters, num_outputs=3, max_factor=64,
                     filter=lambda tile: tile.size[2] <= most)  # fmt: skip
    cfg.define_split("steps", depth, num_outputs=3, max_factor=512,
                     filter=lambda tile: tile.size[2] <= 8)  # fmt: skip
    cfg.define_split("sums", depth, num_outputs=2, max_factor=4 * lanes,
                     filter=lambda tile: tile.size[1] % lanes == 0)  # fmt: skip
    parameters, P, windows, tiles, rest = products(channels, size, filters, whole)
    Z = parameters[-1]

    s = te.create_schedule(Z.op)
    s[P].compute_at(s[windows], windows.op.axis[0])
    s[windows].vectorize(windows.op.axis[4])
    outer, _ = s[Z].split(Z.op.axis[1], cfg["filters"].size[1] * cfg["filters"].size[2])
    s[Z].parallel(outer)
    s.cache_read(windows, "global", [rest])
    for stage in (tiles, rest):
        s[stage].compute_at(s[Z], outer)

    o0, o1, o2 = cfg["filters"].apply(s, tiles, tiles.op.axis[0])
    k0, k1, k2 = cfg["steps"].apply(s, tiles, tiles.op.reduce_axis[0])
    s[tiles].reorder(o0, k0, o1, k1, k2, o2, tiles.op.axis[1])
    s[tiles].unroll(k2)
    s[tiles].unroll(o2)
    s[tiles].vectorize(tiles.op.axis[1])

    _, inner = cfg["sums"].apply(s, rest, s[rest].op.reduce_axis[0])
    vector = vector_of_partial_results(s, rest, inner)
    s[vector].compute_at(s[Z], outer)
    return s, parameters


@autotvm.template(SOFTMAX)
def row_softmax(m: int, n: int) -> Template:
    """All steps of a row follow each other; the widths of their vectors are knobs."""
    X, Y = softmax_tensors(m, n)
    E, factor = Y.op.input_tensors
    (total,) = factor.op.input_tensors
    _, largest = E.op.input_tensors
    lanes = vector_lanes()
    cfg = autotvm.get_config()
    for stage in (largest, E, total, Y):
        cfg.define_split(stage.op.name, n, num_outputs=2, max_factor=16 * lanes,
                         filter=lambda tile: tile.size[1] >= lanes)  # fmt: skip
    s = te.create_schedule(Y.op)
    row = Y.op.axis[0]
    s[Y].parallel(row)
    for stage in (E, Y):
        _, inner = cfg[stage.op.name].apply(s, stage, stage.op.axis[1])
        s[stage].vectorize(inner)
    for stage in (largest, total):
        for width in (cfg[stage.op.name].size[1], *halves(lanes)):
            _, inner = s[stage].split(s[stage].op.reduce_axis[0], width)
            vector = vector_of_partial_results(s, stage, inner)
            s[vector].compute_at(s[Y], row)
            if width <= lanes:
                s[vector].unroll(vector.op.reduce_axis[0])
        s[stage].unroll(s[stage].op.reduce_axis[0])
    for stage in (largest, E, total, factor):
        s[stage].compute_at(s[Y], row)
    return s, [X, Y]


def vector_of_partial_results(s: te.Schedule, tensor: te.Tensor, axis: Any) -> te.Tensor:
    """Let the iterations of a reduction loop go to the elements of a vector."""
    partial = s.rfactor(tensor, axis, factor_axis=-1)
    *spatial, lane = partial.op.axis
    s[partial].reorder(*spatial, partial.op.reduce_axis[0], lane)
    s[partial].vectorize(lane)
    return partial


def halves(lanes: int) -> list[int]:
    """The widths in which a vector is folded: `lanes`, half of it and so on down to 4."""
    return [lanes >> n for n in range(lanes.bit_length()) if lanes >> n >= 4]


def vector_lanes() -> int:
    """Elements of float32 in a vector of the target."""
    return max(_target().vector_bits // 32, 4)


def tile_vectors() -> int:
    """Vectors of a tile that stays in registers; the other registers are for operands."""
    return _target().vector_registers - 4


def _target() -> Target:
    return Target.current() or Target("llvm")


TEMPLATES: Final = {
    MATMUL: tiled_matmul,
    CONV2D: small_image_conv2d,
    SOFTMAX: row_softmax,
}
"""The templates by their names."""
