"""Which instances of a block access a region of a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.interval import EVERYTHING, IntervalSet, interval_of, union
from tilewright.arith.linear import detect_linear_equation, mentions
from tilewright.ir.convert import cast
from tilewright.ir.expr import Expr, FloorDiv, IntImm, Var, is_const_int
from tilewright.tir.buffer import BufferRegion, Range
from tilewright.tir.schedule.edits.bindings import mentioned
from tilewright.tir.schedule.edits.inlining import invert
from tilewright.tir.schedule.proofs.private_memory import is_shared_by
from tilewright.tir.schedule.proofs.regions import Box
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, For, ForKind
from tilewright.tir.substitute import variables_of

Ranges = dict[Var, IntervalSet]
"""For each iterator of a block, between which values it lies."""


def instances_that_access(
    block: Block, region: BufferRegion, box: Box, analyzer: Analyzer
) -> Ranges:
    """Between which values the iterators of the instances lie that access `box` by `region`.

    Iterators of which the indices tell nothing are left out.
    """
    ranges: Ranges = {}
    starts: list[Expr] = []
    sides: list[IntervalSet] = []
    for item, (low, high) in zip(region.region, box, strict=True):
        if _is_own_element(block, item) and all(
            end is None or end.dtype is item.min.dtype for end in (low, high)
        ):
            starts.append(item.min)
            sides.append(IntervalSet(low, high))
            _note(ranges, item.min, sides[-1])  # type: ignore[arg-type]
            continue
        # An instance accesses an element if it starts at it, or before it by less than its extent.
        reach = _longest_reach(block, item.extent - 1, analyzer)
        known = low is not None and reach is not None
        first = analyzer.simplify(cast(item.min.dtype, low) - reach) if known else None
        last = None if high is None else cast(item.min.dtype, high)
        starts.append(item.min)
        sides.append(IntervalSet(first, last))
        index, side = _without_quotients(item.min, sides[-1])
        scaled = _scaled_iterator(block, index)
        if scaled is not None:
            _note(ranges, scaled.var, _scaled_range(scaled, side, analyzer))
    if len(ranges) < sum(_is_iterator(block, var) for var in mentioned(starts)):
        ranges = _inverted_ranges(block, starts, sides, analyzer) | ranges
    return ranges


def _is_own_element(block: Block, item: Range) -> bool:
    """Whether an instance accesses the element whose index is just one of its iterators."""
    index = item.min
    return isinstance(index, Var) and is_const_int(item.extent, 1) and _is_iterator(block, index)


def _note(ranges: Ranges, var: Var, found: IntervalSet) -> None:
    old = ranges.get(var)
    ranges[var] = found if old is None else _narrower(old, found)


def _longest_reach(block: Block, reach: Expr, analyzer: Analyzer) -> Expr | None:
    """How far a region reaches at most, in an instance where it reaches farthest."""
    domains = {
        item.var: item.dom
        for item in block.iter_vars
        if item.dom is not None and mentions(reach, [item.var])
    }
    if not domains:
        return analyzer.simplify(reach)
    longest = interval_of(reach, domains, analyzer).max_value
    return None if longest is None else analyzer.simplify(longest)


def _is_iterator(block: Block, var: Var) -> bool:
    return any(iter_var.var is var for iter_var in block.iter_vars)


def _without_quotients(index: Expr, side: IntervalSet) -> tuple[Expr, IntervalSet]:
    """For ``x // 4`` between 2 and 3, that is `x` between 8 and 15."""
    low, high = side
    while isinstance(index, FloorDiv) and isinstance(index.b, IntImm) and index.b.value > 0:
        by = index.b.value
        low = None if low is None else low * by
        high = None if high is None else high * by + (by - 1)
        index = index.a
    return index, IntervalSet(low, high)


class _Scaled(NamedTuple):
    """``factor * var + offset``."""

    var: Var
    factor: int
    offset: Expr


def _scaled_iterator(block: Block, index: Expr) -> _Scaled | None:
    iterators = [var for var in variables_of(index) if _is_iterator(block, var)]
    if len(iterators) != 1:
        return None
    linear = detect_linear_equation(index, iterators)
    if not linear or not isinstance(linear[0], IntImm) or linear[0].value == 0:
        return None
    return _Scaled(iterators[0], linear[0].value, linear[1])


def _scaled_range(scaled: _Scaled, side: IntervalSet, analyzer: Analyzer) -> IntervalSet:
    """The values of the variable for which ``factor * var + offset`` lies in `side`."""
    low, high = side
    factor = scaled.factor
    if factor < 0:
        factor, low, high = -factor, high, low

    def moved(end: Expr | None, up: int) -> Expr | None:
        if end is None:
            return None
        distance = end - scaled.offset if scaled.factor > 0 else scaled.offset - end
        return analyzer.simplify(cast(scaled.var.dtype, (distance + up) // factor))

    return IntervalSet(moved(low, factor - 1), moved(high, 0))


def _narrower(a: IntervalSet, b: IntervalSet) -> IntervalSet:
    """Either of two intervals that contain the same values; the one with fewer known ones."""
    if a.min_value is None or a.max_value is None:
        return b
    size, other = a.extent, b.extent
    if isinstance(size, IntImm) and isinstance(other, IntImm) and other.value < size.value:
        return b
    return a


def _inverted_ranges(
    block: Block, starts: Sequence[Expr], sides: Sequence[IntervalSet], analyzer: Analyzer
) -> Ranges:
    """Ranges by inverting the indices as a whole, for fused iterators."""
    used = mentioned(starts)
    part = block.replace(iter_vars=tuple(v for v in block.iter_vars if v.var in used))
    inverse = invert(part, starts)
    if inverse is None:
        return {}
    domains = dict(zip(inverse.indices, sides, strict=True))
    return {var: interval_of(value, domains, analyzer) for var, value in inverse.iterators.items()}


def joined(parts: Sequence[Ranges], analyzer: Analyzer) -> Ranges:
    """The smallest ranges around all; iterators that one of them leaves out are left out."""
    first, *others = parts
    return {
        var: union([interval, *(other[var] for other in others)], analyzer)
        for var, interval in first.items()
        if all(var in other for other in others)
    }


def relaxed_threads(tree: FunctionTree, loop: For, scope: str, box: Box, analyzer: Analyzer) -> Box:
    """`box` for all threads that share memory of the storage scope `scope`."""
    threads: dict[Var, Range] = {}
    for above in (loop, *tree.ancestors(loop)):
        if isinstance(above, For) and above.kind is ForKind.THREAD_BINDING:
            assert above.thread_binding is not None
            if is_shared_by(scope, above.thread_binding.thread_tag):
                threads[above.loop_var] = Range.from_min_extent(above.min, above.extent)
    if not threads:
        return box
    relaxed: list[IntervalSet] = []
    for low, high in box:
        first = EVERYTHING if low is None else interval_of(low, threads, analyzer)
        last = EVERYTHING if high is None else interval_of(high, threads, analyzer)
        relaxed.append(IntervalSet(first.min_value, last.max_value))
    return tuple(relaxed)
