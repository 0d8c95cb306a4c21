"""How the elements that a block reads are related to the one that it writes."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.ir.expr import Expr, Var
from tilewright.tir.buffer import BufferRegion
from tilewright.tir.stmt import Block
from tilewright.tir.transform.analysis.affine import affine
from tilewright.tune.rule.block_facts import constant


class AccessPattern(NamedTuple):
    """One read of a block in terms of what it writes.

    Attributes:
        is_injective: each dimension is read at a constant, or at an iterator of the result that no
            other dimension is read at, perhaps moved by a constant.
        is_ordered: these iterators come in the order of the dimensions of the result.
        is_same: the element that is read is at the place of the one that is written.
    """

    is_injective: bool
    is_ordered: bool
    is_same: bool


_OTHER = AccessPattern(False, False, False)


def access_pattern(read: BufferRegion, write: BufferRegion) -> AccessPattern:
    """The pattern of a region that is read, next to the one that is written."""
    positions: dict[Var, int] = {}
    for n, index in enumerate(_point(write) or ()):
        if isinstance(index, Var):
            positions[index] = n
    indices = _point(read)
    if indices is None:
        return _OTHER
    order: list[int] = []
    is_same = len(indices) == len(write.region)
    for index in indices:
        if constant(index) is not None:
            is_same = False
            continue
        var, moved = _moved_variable(index)
        if var is None or var not in positions or positions[var] in order:
            return _OTHER
        is_same = is_same and not moved and positions[var] == len(order)
        order.append(positions[var])
    return AccessPattern(True, order == sorted(order), is_same)


def copies_in_order(block: Block) -> bool:
    """Whether a block computes each element from elements of which the order is that of its own.

    Such a block can take the place of a cache into which its producer writes.
    """
    return len(block.writes) == 1 and all(
        access_pattern(read, block.writes[0])[:2] == (True, True) for read in block.reads
    )


def _point(region: BufferRegion) -> list[Expr] | None:
    """The indices of a region of one element."""
    if any(constant(item.extent) != 1 for item in region.region):
        return None
    return [item.min for item in region.region]


def _moved_variable(index: Expr) -> tuple[Var | None, bool]:
    """The variable of which an index is the sum with a constant, and whether that is not zero."""
    if isinstance(index, Var):
        return index, False
    form = affine(index)
    terms = list(form.terms.values())
    if len(terms) == 1 and terms[0].coefficient == 1 and len(terms[0].factors) == 1:
        factor = terms[0].factors[0]
        if isinstance(factor, Var):
            return factor, form.constant != 0
    return None, False
