"""The regions of buffers that a statement without loops reads and writes."""

from __future__ import annotations

from collections.abc import Collection

from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.node import Node
from tilewright.te.elementwise import same_extent
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.stmt import BufferStore, Stmt
from tilewright.tir.transform.analysis.affine import difference

Points = dict[Buffer, list[tuple[Expr, ...]]]


def read_regions(body: Stmt, without: Collection[Buffer]) -> tuple[BufferRegion, ...]:
    """What `body` reads, in the order of first reads, but for the buffers in `without`."""
    points: Points = {}
    _collect(body, BufferLoad, points)
    return tuple(_region(b, indices) for b, indices in points.items() if b not in without)


def written_regions(body: Stmt) -> tuple[BufferRegion, ...]:
    """What `body` writes, in the order of first writes."""
    points: Points = {}
    _collect(body, BufferStore, points)
    return tuple(_region(buffer, indices) for buffer, indices in points.items())


def _collect(root: Node, kind: type[BufferLoad | BufferStore], points: Points) -> None:
    if isinstance(root, kind):
        points.setdefault(root.buffer, []).append(root.indices)
    for child in root.children():
        _collect(child, kind, points)


def _region(buffer: Buffer, points: list[tuple[Expr, ...]]) -> BufferRegion:
    """The smallest box that holds all points; a whole dimension where that is not known."""
    dimensions = zip(*points, strict=True) if buffer.shape else ()
    return BufferRegion(
        buffer,
        tuple(
            _hull(indices, extent) for indices, extent in zip(dimensions, buffer.shape, strict=True)
        ),
    )


def _hull(indices: tuple[Expr, ...], extent: Expr) -> Range:
    first = indices[0]
    if all(same_extent(first, other) for other in indices[1:]):
        return Range.from_min_extent(first, IntImm(first.dtype, 1))
    offsets = [_constant_difference(index, first) for index in indices]
    if any(offset is None for offset in offsets):
        return Range.from_min_extent(IntImm(extent.dtype, 0), extent)
    known = [offset for offset in offsets if offset is not None]
    low = known.index(min(known))
    return Range.from_min_extent(indices[low], IntImm(first.dtype, max(known) - min(known) + 1))


def _constant_difference(a: Expr, b: Expr) -> int | None:
    form = difference(a, b)
    return form.constant if form.is_constant() else None
