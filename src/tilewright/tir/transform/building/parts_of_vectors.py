"""Vectors that are the parts of one vector, in turns: every second lane, every fourth."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import (
    LT,
    BinaryExpr,
    Broadcast,
    Call,
    Cast,
    CompareExpr,
    Expr,
    Ramp,
    Select,
    Shuffle,
    const_int_value,
)
from tilewright.ir.op import CallEffectKind, Op
from tilewright.tir.transform.analysis.affine import structural_key
from tilewright.tir.transform.analysis.masks import leading_lanes


def parts_of(whole: Expr, count: int) -> list[Expr]:
    """The `count` parts of a vector."""
    places = range(whole.dtype.lanes)
    return [
        Shuffle((whole,), tuple(const(place, INT32) for place in places[part::count]))
        for part in range(count)
    ]


def whole_of(parts: Sequence[Expr]) -> Expr | None:
    """The vector whose parts these are, where it takes no instructions to put it together: the same
    operations on the parts of vectors, and on what is the same in all lanes."""
    first, lanes = parts[0], parts[0].dtype.lanes * len(parts)
    if any(p.__class__ is not first.__class__ or p.dtype is not first.dtype for p in parts):
        return None
    if isinstance(first, Shuffle):
        return _shuffled(parts, lanes)
    if isinstance(first, Broadcast):
        return Broadcast(first.value, lanes) if _are_equal(parts) else None
    if isinstance(first, CompareExpr):
        return _mask(first, len(parts)) if _are_equal(parts) else None
    if not isinstance(first, (BinaryExpr, Cast, Select)) and not _is_elementwise(parts):
        return None
    operands = [whole_of(group) for group in zip(*(p.children() for p in parts), strict=True)]
    if None in operands:
        return None
    following = iter(operands)
    whole: Expr = first.map_children(lambda _: next(following))
    # The dtype of other nodes is that of their operands.
    return whole.replace(dtype=first.dtype.with_lanes(lanes)) if _has_dtype(first) else whole


def _shuffled(parts: Sequence[Expr], lanes: int) -> Expr | None:
    """The vector of which `parts` are shuffles, if they take its lanes in turns."""
    vector = parts[0].vectors[0]  # type: ignore[attr-defined]
    if any(part.vectors != (vector,) for part in parts):  # type: ignore[attr-defined]
        return None
    turns = zip(*(part.indices for part in parts), strict=True)  # type: ignore[attr-defined]
    places = [const_int_value(place) for turn in turns for place in turn]
    return vector if vector.dtype.lanes == lanes and places == [*range(lanes)] else None


def _mask(mask: Expr, count: int) -> Expr | None:
    """The mask of a vector of whose parts the first lanes are on."""
    limit = leading_lanes(mask)
    if limit is None:
        return None
    lanes = mask.dtype.lanes * count
    lane = Ramp(const(0, limit.dtype), const(1, limit.dtype), lanes)
    return LT(lane, Broadcast(as_expr(limit * count), lanes))


def _are_equal(parts: Sequence[Expr]) -> bool:
    return len({structural_key(part) for part in parts}) == 1


def _has_dtype(node: Expr) -> bool:
    return isinstance(node, (Cast, Call))


def _is_elementwise(parts: Sequence[Expr]) -> bool:
    """Whether these are calls of one operator that takes each lane on its own."""
    first = parts[0]
    if not isinstance(first, Call) or not isinstance(first.op, Op):
        return False
    is_same = all(part.op is first.op for part in parts)  # type: ignore[attr-defined]
    is_pure = first.op.vectorizable and first.op.effect <= CallEffectKind.PURE
    has_lanes = all(arg.dtype.lanes == first.dtype.lanes for arg in first.args)
    return is_same and is_pure and has_lanes
