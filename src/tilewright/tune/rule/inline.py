"""Rules that compute blocks where they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.ir.expr import Call, Expr, Var, const_int_value
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.inline import inlined
from tilewright.schedule_rules.nest import attempt, block_of
from tilewright.tir.buffer import BufferRegion
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.stmt import Block, BufferStore, IfThenElse
from tilewright.tir.transform.analysis.affine import affine
from tilewright.tune.rule.block_facts import (
    TILING_STRUCTURE,
    consumers_of,
    is_output,
    is_root,
    is_spatial,
    producers_of,
    tree_of,
)
from tilewright.tune.rule.schedule_rule import ScheduleRule, is_claimed


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
        if const_int_value(index) is not None:
            is_same = False
            continue
        var, moved = _moved_variable(index)
        if var is None or var not in positions or positions[var] in order:
            return _OTHER
        is_same = is_same and not moved and positions[var] == len(order)
        order.append(positions[var])
    return AccessPattern(True, order == sorted(order), is_same)


def copies_in_order(block: Block) -> bool:
    """Whether a block computes each element from elements in the same order as its own.

    Such a block can take the place of a cache into which its producer writes.
    """
    return len(block.writes) == 1 and all(
        access_pattern(read, block.writes[0])[:2] == (True, True) for read in block.reads
    )


def _point(region: BufferRegion) -> list[Expr] | None:
    """The indices of a region of one element."""
    if any(const_int_value(item.extent) != 1 for item in region.region):
        return None
    return [item.min for item in region.region]


def _moved_variable(index: Expr) -> tuple[Var | None, bool]:
    """The variable in a sum of a variable and a constant; whether the constant is not zero."""
    if isinstance(index, Var):
        return index, False
    form = affine(index)
    term, *others = form.terms or (None,)
    if isinstance(term, Var) and form.terms[term] == 1 and not others:
        return term, form.constant != 0
    return None, False


class InlineProducers(ScheduleRule):
    """Inlines a block for which reading its results takes longer than computing them again.

    It is what the default schedule does, too; see `default_schedule`.
    """

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """One sketch."""
        if inlined(sch.copy(), block) is None:
            return [sch]
        sketch = sch.copy()
        sketch.compute_inline(block)
        return [sketch]


class InlineConstantScalars(ScheduleRule):
    """Inlines blocks that write one element, which depends on nothing, into their consumers."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """`sch` without the block if it is such a constant."""
        if is_root(sch, block) or is_output(sch, block):
            return [sch]
        found = block_of(sch, block)
        if found.reads or len(found.writes) != 1 or not isinstance(found.body, BufferStore):
            return [sch]
        if any(const_int_value(extent) != 1 for extent in found.writes[0].buffer.shape):
            return [sch]
        return [attempt(sch, lambda s: s.compute_inline(block)) or sch]


class AutoInline(ScheduleRule):
    """Inlines blocks that compute each element on its own.

    Args:
        into_producer: whether a block may be inlined into the only one that it reads from.
        into_consumer: whether a block may be inlined into those that read it.
        inline_const_tensor: whether blocks that read nothing are inlined whatever else they are.
        disallow_if_then_else: leave blocks with conditions, such as padding.
        require_injective: leave blocks that read elements at anything but iterators of the result,
            each at most once, and constants.
        require_ordered: leave blocks that read them in another order, such as transpositions.
        disallow_op: names of operators; blocks that have one are left, such as ``tir.exp``.

    In functions in which all blocks compute each element on its own, the last five do not count:
    there is nothing that would be computed several times in a tile.
    """

    def __init__(
        self,
        into_producer: bool,
        into_consumer: bool,
        inline_const_tensor: bool,
        disallow_if_then_else: bool,
        require_injective: bool,
        require_ordered: bool,
        disallow_op: Sequence[str] | None = None,
    ) -> None:
        self.into_producer = into_producer
        self.into_consumer = into_consumer
        self.inline_const_tensor = inline_const_tensor
        self.disallow_if_then_else = disallow_if_then_else
        self.require_injective = require_injective
        self.require_ordered = require_ordered
        self.disallow_op = [Op.get(name).name for name in disallow_op or ()]

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """`sch` with the block inlined, if it is of this kind and that is legal."""
        if is_root(sch, block) or is_claimed(sch, block) or not self._may_move(sch, block):
            return [sch]
        result = None
        if self.into_consumer and not is_output(sch, block) and consumers_of(sch, block):
            result = attempt(sch, lambda s: s.compute_inline(block))
        if result is None and self.into_producer and _follows_one_producer(sch, block):
            result = attempt(sch, lambda s: s.reverse_compute_inline(block))
        return [result or sch]

    def _may_move(self, sch: Schedule, block: BlockRV) -> bool:
        found = block_of(sch, block)
        if not isinstance(found.body, BufferStore) or not is_spatial(found):
            return False
        if TILING_STRUCTURE in found.annotations:
            return False
        if not found.reads:
            return self.inline_const_tensor
        if _computes_elements_only(sch, block):
            return True
        if self.disallow_if_then_else and _is_conditional(found):
            return False
        if self.disallow_op and not _operators(found).isdisjoint(self.disallow_op):
            return False
        patterns = [access_pattern(read, found.writes[0]) for read in found.reads]
        if self.require_injective and not all(pattern.is_injective for pattern in patterns):
            return False
        return not self.require_ordered or all(pattern.is_ordered for pattern in patterns)


def _follows_one_producer(sch: Schedule, block: BlockRV) -> bool:
    producers = producers_of(sch, block)
    return len(producers) == 1 and is_spatial(producers[0].block)


def _computes_elements_only(sch: Schedule, block: BlockRV) -> bool:
    """Whether all blocks of the function compute each element on its own."""
    tree = tree_of(sch, block)
    return all(is_spatial(realize.block) for realize in tree.blocks_below(tree.root))


def _operators(block: Block) -> set[str]:
    return {
        node.op.name
        for node in walk(block.body)
        if isinstance(node, Call) and isinstance(node.op, Op)
    }


def _is_conditional(block: Block) -> bool:
    return "tir.if_then_else" in _operators(block) or any(
        isinstance(node, IfThenElse) for node in walk(block.body)
    )
