"""Regions of buffers as seen from outside of the blocks that access them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.interval import EVERYTHING, IntervalSet, constant_range, interval_of, union
from tilewright.error import DiagnosticError
from tilewright.ir.arithmetic import maximum, minimum
from tilewright.ir.convert import cast, const
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import Buffer, BufferRegion, Range
from tilewright.tir.schedule.edits.bindings import bindings_of, reads_memory
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For, LetStmt, Stmt
from tilewright.tir.substitute import substitute


class BlockAccess(NamedTuple):
    """One region that a block accesses."""

    realize: BlockRealize
    region: BufferRegion


Box = tuple[IntervalSet, ...]
"""An interval per dimension; `EVERYTHING` where nothing is known."""


def relaxed(tree: FunctionTree, access: BlockAccess, place: Stmt, analyzer: Analyzer) -> Box:
    """What all instances of a block inside of `place` access together.

    The ends are expressions over what is defined at `place`. If that is a loop, its own variable
    is: the box is what one iteration accesses. It may lie partly outside of the buffer where a
    predicate restricts the instances.

    Args:
        access: a block and one of its regions.
        place: a loop or block around the block.
        analyzer: what is known at `place`; the loops inside of it are added.
    """
    loops: dict[Var, IntervalSet] = {}
    values: dict[Var, Expr] = {}
    for stmt in (*tree.between(place, access.realize), access.realize):
        if isinstance(stmt, For):
            low, extent = substitute(stmt.min, values), substitute(stmt.extent, values)
            loops[stmt.loop_var] = values_of_loop(low, extent, loops, analyzer)
            analyzer.bind_range(stmt.loop_var, low, extent)
        elif isinstance(stmt, LetStmt):
            values[stmt.var] = substitute(stmt.value, values)
        elif isinstance(stmt, BlockRealize):
            bound = bindings_of(stmt).items()
            values |= {var: substitute(value, values) for var, value in bound}
    return tuple(
        _relaxed_range(substitute(item, values), loops, analyzer) for item in access.region.region
    )


def values_of_loop(
    low: Expr, extent: Expr, outer: Mapping[Var, IntervalSet], analyzer: Analyzer
) -> IntervalSet:
    """Between which values the variable of a loop lies, while those of `outer` loops range.

    Not known if that depends on data, which may be others elsewhere.
    """
    known = constant_range(low, extent)
    if known is not None:
        return known
    if reads_memory(low, extent):
        return EVERYTHING
    least = interval_of(low, outer, analyzer).min_value
    last = interval_of(low + extent - 1, outer, analyzer).max_value
    return IntervalSet(least, last)


def _relaxed_range(item: Range, loops: dict[Var, IntervalSet], analyzer: Analyzer) -> IntervalSet:
    if reads_memory(item.min, item.extent):
        return EVERYTHING
    first = item.min
    # An interval is exact if each variable occurs once, so that a quotient and a remainder, as
    # of a row and a column, are put together first where that is possible.
    variables = [node for node in walk(first) if isinstance(node, Var) and node in loops]
    if len(variables) > len(set(variables)):
        first = analyzer.simplify(first)
    low = interval_of(first, loops, analyzer)
    if is_const_int(item.extent, 1):
        return low
    high = interval_of(item.min + item.extent - 1, loops, analyzer)
    return IntervalSet(low.min_value, high.max_value)


def hull(boxes: Sequence[Box], analyzer: Analyzer) -> Box:
    """The smallest box around all; there is at least one."""
    if len(boxes) == 1:
        return boxes[0]
    return tuple(union(axis, analyzer) for axis in zip(*boxes, strict=True))


def clipped(buffer: Buffer, box: Box, analyzer: Analyzer) -> tuple[Range, ...]:
    """A box as ranges inside of the buffer; a whole dimension where nothing is known.

    An end is clipped only if it is not known to be inside, so that the usual case stays simple.
    """
    return tuple(
        clipped_range(interval, Range.from_min_extent(const(0, extent.dtype), extent), analyzer)
        for interval, extent in zip(box, buffer.shape, strict=True)
    )


def clipped_range(interval: IntervalSet, domain: Range, analyzer: Analyzer) -> Range:
    """An interval as a range inside of a domain; see `clipped`."""
    low, high = interval.min_value, interval.max_value
    if low is None or high is None:
        return domain
    simplify = analyzer.simplify
    end = domain.min + domain.extent
    if is_within(low, high, domain, analyzer):
        return Range.from_min_extent(
            simplify(low), analyzer.plus(analyzer.difference(high, low), 1)
        )
    if not analyzer.can_prove(low >= domain.min):
        low = maximum(low, domain.min)
    if not analyzer.can_prove(high < end):
        high = minimum(high, end - 1)
    extent = simplify(high - low + 1)
    return Range.from_min_extent(simplify(cast(extent.dtype, low)), extent)


def is_within(low: Expr, high: Expr, domain: Range, analyzer: Analyzer) -> bool:
    """Whether constant bounds tell that an interval lies in a constant domain."""
    first, extent = domain.min, domain.extent
    if not isinstance(first, IntImm) or not isinstance(extent, IntImm):
        return False
    return (
        analyzer.const_int_bound(low).min_value >= first.value
        and analyzer.const_int_bound(high).max_value < first.value + extent.value
    )


def covers(buffer: Buffer, outer: Box, inner: Box, analyzer: Analyzer) -> bool:
    """Whether all elements of the buffer in `inner` are known to be in `outer`."""
    for (low, high), (first, last), extent in zip(outer, inner, buffer.shape, strict=True):
        if low is None or high is None:
            return False
        starts = first is not None and analyzer.can_prove_at_most(low, first)
        if not starts and not analyzer.can_prove(low <= const(0, low.dtype)):
            return False
        ends = last is not None and analyzer.can_prove_at_most(last, high)
        if not ends and not analyzer.can_prove(extent - 1 <= high):
            return False
    return True


def is_inside(buffer: Buffer, box: Box, analyzer: Analyzer) -> bool:
    """Whether `box` is known not to stick out of the buffer."""
    return all(
        low is not None
        and high is not None
        and analyzer.can_prove(low >= 0)
        and analyzer.can_prove(high < extent)
        for (low, high), extent in zip(box, buffer.shape, strict=True)
    )


def accesses(
    realizes: Iterable[BlockRealize], buffer: Buffer, *, written: bool
) -> list[BlockAccess]:
    """The regions of `buffer` that blocks write, or read."""
    return [
        BlockAccess(realize, region)
        for realize in realizes
        for region in (realize.block.writes if written else realize.block.reads)
        if region.buffer is buffer
    ]


def whole(buffer: Buffer) -> Box:
    """The box of all elements of a buffer."""
    return tuple(IntervalSet(const(0, e.dtype), e - 1) for e in buffer.shape)


def region_of_block(block: Block, buffer: Buffer, *, written: bool) -> BufferRegion | None:
    """The region of `buffer` that a block writes, or reads; None if it does not."""
    for region in block.writes if written else block.reads:
        if region.buffer is buffer:
            return region
    return None


def with_accesses(block: Block) -> Block:
    """`block` with the regions that its body accesses.

    Raises:
        ScheduleError: if they are not known, as the body uses a pointer.
    """
    try:
        reads, writes = infer_block_regions(block)
    except DiagnosticError as error:
        raise ScheduleError(str(error).replace("{", "{{").replace("}", "}}")) from None
    return block.replace(reads=reads, writes=writes)
