"""Images: the elements that an access reaches while loops run, and when they are a box."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.facts import conjuncts
from tilewright.arith.fused_loops import as_fused_loops
from tilewright.arith.interval import IntervalSet
from tilewright.arith.iter_form import Size
from tilewright.arith.itermap import detect_iter_map
from tilewright.arith.linear import linear_form, mentions
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.schedule.edits.bindings import conjunction, mentioned, reads_memory
from tilewright.tir.schedule.proofs.domains import is_run
from tilewright.tir.schedule.proofs.regions import Box
from tilewright.tir.substitute import substitute


class Image(NamedTuple):
    """Elements that are accessed while some loops run.

    Attributes:
        ranges: what one iteration accesses.
        loops: the domains of the loops, the outermost first.
        conditions: the iterations in which they all hold access something.
    """

    ranges: tuple[Range, ...]
    loops: Mapping[Var, Range]
    conditions: tuple[Expr, ...] = ()


def box_of(image: Image, analyzer: Analyzer, buffer: Buffer | None = None) -> Box | None:
    """The box that an image is; None if it has gaps, is not a box, or that is not known.

    Args:
        analyzer: what is known around the loops of the image, which are added.
        buffer: if given, the box may stick out of this buffer where the image does not: then
            conditions do not count that only keep an access inside of it.
    """
    iterators, indices = _elements(image)
    conditions = conjuncts(*image.conditions)
    domains = {**image.loops, **iterators}
    if conditions or not all(isinstance(d.extent, IntImm) for d in domains.values()):
        for var, domain in domains.items():
            analyzer.bind_range(var, domain.min, domain.extent)
    named = mentioned(indices)
    iterators |= {var: domain for var, domain in image.loops.items() if var in named}
    ends = [e for d in iterators.values() for e in d.children() if not isinstance(e, IntImm)]
    if any(mentions(end, image.loops) for end in ends) or reads_memory(*indices, *ends):
        return None
    if buffer is not None:
        conditions = _beyond_bounds(conditions, indices, buffer, analyzer)
    predicate = _restriction(image, conditions, iterators, analyzer)
    if predicate is None or reads_memory(predicate):
        return None
    mirror = mirrored(indices, iterators)
    indices = [substitute(index, mirror) for index in indices]
    predicate = substitute(predicate, mirror)
    found = detect_iter_map(indices, iterators, predicate, True, analyzer)
    if not found.is_affine:
        fused = as_fused_loops(indices, iterators, predicate)
        if fused is None:
            return None
        found = detect_iter_map(*fused, True, analyzer)
    if not found.is_affine:
        return None
    return tuple(
        IntervalSet(total.base, _last(total.base, extent, analyzer))
        for total, extent in zip(found.indices, found.extents, strict=True)
    )


def _last(first: Expr, extent: Size, analyzer: Analyzer) -> Expr:
    """The last of `extent` values from `first` on."""
    if isinstance(extent, int):
        return analyzer.plus(first, extent - 1)
    return analyzer.simplify(first + as_expr(extent, first.dtype) - 1)


def _elements(image: Image) -> tuple[dict[Var, Range], list[Expr]]:
    """The indices of one element of an image, with iterators where a range has several."""
    iterators: dict[Var, Range] = {}
    indices: list[Expr] = []
    for item in image.ranges:
        index = item.min
        if not is_const_int(item.extent, 1):
            inner = Var("inner", index.dtype)
            iterators[inner] = Range.from_min_extent(const(0, item.extent.dtype), item.extent)
            index = index + inner
        indices.append(index)
    return iterators, indices


def _beyond_bounds(
    conditions: Sequence[Expr], indices: Sequence[Expr], buffer: Buffer, analyzer: Analyzer
) -> list[Expr]:
    """The conditions that do not just keep an access inside of the buffer."""
    if not conditions:
        return []
    pairs = list(zip(indices, buffer.shape, strict=True))
    bounds = conjunction(*(c for i, extent in pairs for c in (i >= 0, i < extent)))
    with analyzer.constraint(bounds):
        return [part for part in conditions if not analyzer.can_prove(part)]


def _restriction(
    image: Image,
    conditions: Sequence[Expr],
    used: Mapping[Var, Range],
    analyzer: Analyzer,
) -> Expr | None:
    """The conditions on the loops that the indices use.

    The other loops are in their first iteration; None if it is not known that they have one, or
    that all conditions on them hold in it.
    """
    start: dict[Var, Expr] = {}
    for var, domain in image.loops.items():
        if var not in used:
            if not is_run(substitute(domain.extent, start), analyzer):
                return None
            start[var] = substitute(domain.min, start)
    kept: list[Expr] = []
    for condition in conditions:
        if mentions(condition, used) and not mentions(condition, start):
            kept.append(condition)
        elif not analyzer.can_prove(substitute(condition, start)):
            return None
    return conjunction(*kept)


def mirrored(indices: Iterable[Expr], iterators: Mapping[Var, Range]) -> dict[Var, Expr]:
    """Values for the iterators that some index descends with, so that all indices ascend.

    An iterator from 0 to 7 becomes 7 less an iterator: the same set of values, in another order.
    """
    mirror: dict[Var, Expr] = {}
    for index in indices:
        for term, factor in linear_form(index).terms.items():
            if isinstance(term, Var) and term in iterators and factor < 0:
                domain = iterators[term]
                mirror[term] = domain.min + domain.min + domain.extent - 1 - term
    return mirror


def box_of_ranges(ranges: Sequence[Range]) -> Box:
    """Ranges as a box."""
    return tuple(IntervalSet(item.min, item.min + item.extent - 1) for item in ranges)
