"""Arrays with a border."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.slices import part
from tilewright.relax.frontend.torch.problems import UnsupportedError
from tilewright.relax.frontend.torch.table import converts


@converts("aten.constant_pad_nd")
def constant_pad(graph: Graph, x: Any, pad: Sequence[int], value: float = 0) -> Any:
    """`value` around the elements; `pad` starts with the last dimension, and may cut, too."""
    rank = graph.rank_of(x)
    widths = [(0, 0)] * (rank - len(pad) // 2)
    widths += reversed(list(zip(pad[::2], pad[1::2], strict=True)))
    for dim, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            cut = max(-before, 0), max(-after, 0)
            x = part(graph, x, dim, cut[0], graph.shape_of(x)[dim] - cut[0] - cut[1])
    amounts = [max(amount, 0) for width in widths for amount in width]
    if not any(amounts):
        return x
    return graph.emit(op.nn.pad(x, amounts, pad_value=value))


@converts("aten.pad")
def pad(
    graph: Graph, x: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Any:
    """A border of constants, of the mirrored elements, or of the outermost ones."""
    if mode == "constant":
        return constant_pad(graph, x, pad, value or 0)
    rank = graph.rank_of(x)
    for position, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        dim = rank - 1 - position
        x = _extended(graph, x, dim, before, after, mode)
    return x


@converts("aten.reflection_pad1d", "aten.reflection_pad2d", "aten.reflection_pad3d")
def reflection_pad(graph: Graph, x: Any, amounts: Sequence[int]) -> Any:
    """A border of the mirrored elements."""
    return pad(graph, x, amounts, "reflect")


@converts("aten.replication_pad1d", "aten.replication_pad2d", "aten.replication_pad3d")
def replication_pad(graph: Graph, x: Any, amounts: Sequence[int]) -> Any:
    """A border of the outermost elements."""
    return pad(graph, x, amounts, "replicate")


def _extended(graph: Graph, x: Any, dim: int, before: int, after: int, mode: str) -> Any:
    """`x` with elements before and after along `dim`, which are taken from `x` itself."""
    if min(before, after) < 0 or mode not in ("reflect", "replicate", "circular"):
        raise UnsupportedError(f"mode {mode!r} with padding {before}, {after} is not supported")
    extent = graph.shape_of(x)[dim]
    pieces = [x]
    if before:
        pieces.insert(0, _border(graph, x, dim, before, mode, extent, is_before=True))
    if after:
        pieces.append(_border(graph, x, dim, after, mode, extent, is_before=False))
    return graph.emit(op.concat(pieces, dim)) if len(pieces) > 1 else x


def _border(
    graph: Graph, x: Any, dim: int, width: int, mode: str, extent: Any, *, is_before: bool
) -> Any:
    if mode == "replicate":
        shape = graph.shape_of(x)
        shape[dim] = width
        edge = part(graph, x, dim, 0 if is_before else extent - 1, 1)
        return graph.emit(op.broadcast_to(edge, shape))
    if mode == "circular":
        return part(graph, x, dim, extent - width if is_before else 0, width)
    start = 1 if is_before else extent - 1 - width
    return graph.emit(op.flip(part(graph, x, dim, start, width), dim))
