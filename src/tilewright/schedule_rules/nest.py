"""The loops of a block, found by its iterators; and steps that are taken only if they are legal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from tilewright.ir.expr import Var, const_int_value, is_const_int
from tilewright.schedule_rules.accesses import BlockAccesses, StridedAccess, accesses_of
from tilewright.schedule_rules.operands import MANY_ROWS, few_rows
from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.analysis.expressions import has_effects
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tilewright.tir.stmt import Block, BlockRealize, ForKind
from tilewright.tir.transform.analysis.affine import affine
from tilewright.tir.transform.machine import Machine

Step = Callable[[Schedule], object]


class DoesNotFitError(Exception):
    """A block is not of the form that a rule is about."""


class Loops(dict[Var, LoopRV]):
    """The loop that counts each iterator of a block."""

    def __missing__(self, var: Var) -> LoopRV:
        raise DoesNotFitError(f"no loop counts {var.name}")


def attempt(sch: Schedule, step: Step) -> Schedule | None:
    """The schedule after `step`; None if a primitive refuses, or the rule does not fit.

    `sch` stays as it is.
    """
    candidate = sch.copy()
    try:
        step(candidate)
    except (ScheduleError, DoesNotFitError):
        return None
    return candidate


def accepts(primitive: Callable[[], object]) -> bool:
    """Whether a primitive is legal; then it has been applied, and otherwise nothing has changed.

    Args:
        primitive: applies one primitive to a schedule.
    """
    try:
        primitive()
    except ScheduleError:
        return False
    return True


def fused(sch: Schedule, loops: Sequence[LoopRV]) -> LoopRV:
    """Nested loops as one.

    Raises:
        DoesNotFitError: if there are none.
    """
    if not loops:
        raise DoesNotFitError("no loop counts the iterators")
    return sch.fuse(*loops) if len(loops) > 1 else loops[0]


def realize_of(sch: Schedule, block: BlockRV) -> BlockRealize:
    """The block with its bindings."""
    _, realize = sch.statement(block)
    return realize


def block_of(sch: Schedule, block: BlockRV) -> Block:
    """The block itself."""
    return realize_of(sch, block).block


def is_complete(sch: Schedule, block: BlockRV) -> bool:
    """Whether each instance of the block writes elements of its own, from other buffers."""
    return block_kind(block_of(sch, block)) is BlockKind.COMPLETE


def loops_by_iterator(sch: Schedule, block: BlockRV, outer: int = 0) -> Loops:
    """The loop that counts each iterator of a block.

    An iterator that is bound to ``j_0 * 64 + j`` is counted by ``j``. Iterators that no loop
    counts are left out: those with one value, and those whose bindings are not such a sum.

    Args:
        outer: how many of the loops around it are left out, from the outermost on.
    """
    by_variable = {sch.get(loop).loop_var: loop for loop in sch.get_loops(block)[outer:]}
    realize = realize_of(sch, block)
    found = Loops()
    for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        terms = affine(value).terms.items()
        counting = [by_variable[var] for var, n in terms if n == 1 and var in by_variable]
        if len(counting) == 1:
            found[item.var] = counting[0]
    return found


def loops_inside(sch: Schedule, block: BlockRV, outer: LoopRV) -> list[LoopRV]:
    """The loops around a block that are inside of one of them, the outermost first."""
    loops, variable = sch.get_loops(block), sch.get(outer).loop_var
    return loops[[sch.get(loop).loop_var for loop in loops].index(variable) + 1 :]


def loops_around(sch: Schedule, block: BlockRV, place: LoopRV | None) -> int:
    """How many of the loops around a block are `place` or outside of it."""
    if place is None:
        return 0
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    return 1 + next(n for n, loop in enumerate(loops) if loop is sch.get(place))


def extent_of(sch: Schedule, loop: LoopRV) -> int | None:
    """How often a loop runs; None if that is symbolic."""
    return const_int_value(sch.get(loop).extent)


def split_into(
    sch: Schedule, loop: LoopRV, factors: Sequence[int], *, vector: bool = False
) -> tuple[list[LoopRV | None], LoopRV]:
    """Split a loop into tiles of `factors`, without loops that would run once.

    Args:
        factors: the sizes of the inner loops, the outer ones first.
        vector: whether the innermost loop becomes a vector: it then has a power of two of lanes,
            of which some may do nothing.

    Returns:
        The outer loops, as many as there are factors, None for one that is not needed; and the
        innermost one.
    """
    extent = extent_of(sch, loop)
    sizes: list[int | None] = []
    reached = 1
    for factor in reversed(factors):
        size = factor if extent is None else min(factor, -(-extent // reached))
        sizes.append(size)
        reached *= size
    sizes.append(None if extent is None else -(-extent // reached))
    sizes.reverse()
    kept = [n for n, size in enumerate(sizes) if size != 1 or n == len(sizes) - 1]
    lanes = sizes[-1]
    if vector and lanes is not None and lanes & (lanes - 1):
        sizes[-1] = 1 << lanes.bit_length()
        kept = kept if len(kept) > 1 else [0, *kept]
    if len(kept) == 1:
        made = [loop]
    else:
        made = sch.split(loop, [None if n == kept[0] else sizes[n] for n in kept])
    outer: list[LoopRV | None] = [None] * len(factors)
    for n, part in zip(kept[:-1], made, strict=False):
        outer[n] = part
    return outer, made[-1]


def present(*loops: LoopRV | None) -> list[LoopRV]:
    """The loops that there are."""
    return [loop for loop in loops if loop is not None]


def parallelize(sch: Schedule, loops: Sequence[LoopRV], machine: Machine) -> None:
    """Run the iterations of nested loops, which are the outermost, on all cores.

    Where extents are symbolic, that cannot always be proved of all loops together. Then as many of
    the outer ones run in parallel as it can be proved of.
    """
    if machine.cores == 1 or not loops:
        return
    for count in range(len(loops), 1, -1):
        outer = loops[:count]
        if attempt(sch, lambda s, outer=outer: s.parallel(s.fuse(*outer))) is not None:
            sch.parallel(sch.fuse(*outer))
            return
    sch.parallel(loops[0])


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
        few_rows: maximum number of rows that a symbolic extent counts; None if nothing is known.
    """

    block: BlockRV
    accesses: BlockAccesses
    loops: Loops
    outer: int = 0
    shared: int = 0
    few_rows: int | None = None

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

    def largest(self) -> StridedAccess | None:
        """The load of the largest part of a buffer, if there is any."""
        return max(self.accesses.loads, key=self.size, default=None)

    def size(self, access: StridedAccess) -> int:
        """Maximum number of bytes that all instances access together."""
        return self.accesses.size(access, self.few_rows or MANY_ROWS)

    def repeated(self, column: Var) -> list[Var]:
        """The iterators other than `column` in each step of which the whole largest operand is
        read: the rows that a matrix is multiplied by."""
        largest, extents = self.largest(), self.accesses.extents
        others = [var for var in self.own if var is not column and extents[var] != 1]
        return [var for var in others if largest is not None and not largest.mentions(var)]

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
    return Nest(block, accesses_of(block_of(sch, block)), loops, outer, shared, few_rows(sch))


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
    """Whether a block is as in a program that has no schedule, and still there."""
    try:
        plain_nest(sch, block)
    except (DoesNotFitError, ScheduleError):
        return False
    return True
