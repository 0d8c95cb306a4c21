"""Blocks in loops of their own, one for each iterator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright.ir.expr import Var, is_const_int
from tilewright.schedule_rules.accesses import Access, BlockAccesses, accesses_of
from tilewright.schedule_rules.nest import DoesNotFitError, realize_of
from tilewright.tir.analysis.effects import has_effects
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.stmt import ForKind


@dataclass(frozen=True, eq=False)
class Nest:
    """A block, and the loop that counts each of its iterators.

    Attributes:
        block: the block.
        accesses: its accesses to memory.
        loops: the loop of each iterator, in their order; in loops that are shared with other blocks
            only of those that it has for itself.
    """

    block: BlockRV
    accesses: BlockAccesses
    loops: dict[Var, LoopRV]

    def of(self, variables: Iterable[Var]) -> list[LoopRV]:
        """The loops of some iterators."""
        return [self.loops[var] for var in variables]

    def neighbours(self) -> Var | None:
        """The data-parallel iterator over neighbours in the result, if there is one result."""
        a = self.accesses
        if len(a.stores) != 1:
            return None
        found = [v for v in a.spatial if a.stores[0].stride(v) == 1 and a.extents[v] != 1]
        return found[0] if found else None

    def largest(self) -> Access | None:
        """The load of the largest part of a buffer, if there is any."""
        return max(self.accesses.loads, key=self.accesses.size, default=None)


def plain_nest(sch: Schedule, block: BlockRV) -> Nest:
    """The nest of a block of a program that has no schedule.

    Raises:
        DoesNotFitError: for a block that a rule has transformed, or that is like that.
    """
    name, realize = sch.statement(block)
    tree = sch.state.tree(name)
    if realize is tree.root or tree.scope(realize) is not tree.root:
        raise DoesNotFitError("it is in another block")
    loops = sch.get_loops(block)
    if not loops or len(loops) != len(realize.iter_values) or realize.block.annotations:
        raise DoesNotFitError("it is not in one loop for each iterator")
    stmts = [sch.get(loop) for loop in loops]
    for stmt, value, inside in zip(stmts, realize.iter_values, [*stmts[1:], realize], strict=True):
        is_plain = stmt.kind is ForKind.SERIAL and not stmt.annotations
        if stmt.loop_var is not value or stmt.body is not inside or not is_plain:
            raise DoesNotFitError("its loops have a schedule")
    if not is_const_int(realize.predicate, 1):
        raise DoesNotFitError("it runs under a condition")
    if has_effects(realize.block):
        raise DoesNotFitError("its calls may have to be in their order")
    return nest_of(sch, block, loops)


def nest_of(sch: Schedule, block: BlockRV, loops: Sequence[LoopRV], first: int = 0) -> Nest:
    """The nest of a block in `loops`, one for each iterator from the position `first` on."""
    accesses = accesses_of(realize_of(sch, block).block)
    variables = [item.var for item in accesses.block.iter_vars][first:]
    if len(variables) != len(loops):
        raise DoesNotFitError("it is not in one loop for each iterator")
    return Nest(block, accesses, dict(zip(variables, loops, strict=True)))


def is_plain(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block is as in a program that has no schedule."""
    try:
        plain_nest(sch, block)
    except DoesNotFitError:
        return False
    return True
