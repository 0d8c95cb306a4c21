"""Blocks with the loops that count their iterators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tilewright.ir.expr import Var, is_const_int
from tilewright.schedule_rules.accesses import Access, BlockAccesses, accesses_of
from tilewright.schedule_rules.nest import (
    DoesNotFitError,
    Loops,
    block_of,
    loops_by_iterator,
)
from tilewright.tir.analysis.expressions import has_effects
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.stmt import ForKind


@dataclass(frozen=True, eq=False)
class Nest:
    """A block, and the loop that counts each of its iterators.

    Attributes:
        block: the block.
        accesses: its accesses to memory.
        loops: the loop of each iterator that has one of its own.
        outer: number of the outermost loops around it that are fixed already, because other blocks
            share them.
        shared: number of the first iterators that these loops count; a loop inside of them that
            counts one of these, too, is about a few rows that are worked on at once.
    """

    block: BlockRV
    accesses: BlockAccesses
    loops: Loops
    outer: int = 0
    shared: int = 0

    def again(self, sch: Schedule) -> Nest:
        """The same nest in another copy of the schedule."""
        return replace(self, loops=loops_by_iterator(sch, self.block, self.outer))

    def of(self, variables: Iterable[Var]) -> list[LoopRV]:
        """The loops of some iterators, as far as they have any."""
        return [self.loops[var] for var in variables if var in self.loops]

    @property
    def own(self) -> list[Var]:
        """The data-parallel iterators that no other block shares, as far as they have loops."""
        return [var for var in self.accesses.spatial[self.shared :] if var in self.loops]

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

    def innermost(self) -> Var | None:
        """The iterator over neighbours in the largest operand of a reduction, if there is one."""
        accesses, largest = self.accesses, self.largest()
        if accesses.reduces is None or largest is None or not accesses.stores:
            return None
        found = [v for v, n in accesses.extents.items() if largest.stride(v) == 1 and n != 1]
        return found[-1] if found else None

    def reduces_along(self, var: Var) -> bool:
        """Whether an iterator counts steps of the reduction."""
        return any(var is item for item in self.accesses.reduction)


def nest_of(sch: Schedule, block: BlockRV, outer: int = 0, shared: int = 0) -> Nest:
    """The nest of a block, without the `outer` outermost of the loops around it."""
    loops = loops_by_iterator(sch, block, outer)
    return Nest(block, accesses_of(block_of(sch, block)), loops, outer, shared)


def plain_nest(sch: Schedule, block: BlockRV) -> Nest:
    """The nest of a block of a program that has no schedule: one loop for each iterator.

    Raises:
        DoesNotFitError: for a block that a rule has transformed, or that is like that.
    """
    name, realize = sch.statement(block)
    tree = sch.state.tree(name)
    if realize is tree.root or tree.scope(realize) is not tree.root:
        raise DoesNotFitError("it is in another block")
    stmts = tree.loops_above(realize)
    if not stmts or len(stmts) != len(realize.iter_values) or realize.block.annotations:
        raise DoesNotFitError("it is not in one loop for each iterator")
    for stmt, value, inside in zip(stmts, realize.iter_values, [*stmts[1:], realize], strict=True):
        is_serial = stmt.kind is ForKind.SERIAL and not stmt.annotations
        if stmt.loop_var is not value or stmt.body is not inside or not is_serial:
            raise DoesNotFitError("its loops have a schedule")
    if not is_const_int(realize.predicate, 1):
        raise DoesNotFitError("it runs under a condition")
    if has_effects(realize.block):
        raise DoesNotFitError("its calls may have to be in their order")
    return nest_of(sch, block)


def is_plain(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block is as in a program that has no schedule."""
    try:
        plain_nest(sch, block)
    except DoesNotFitError:
        return False
    return True
