"""Whether a program runs the same instances of a statement as another one, each once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright.arith import Analyzer, IterSum, detect_iter_map
from tilewright.arith.linear import mentions
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, Var
from tilewright.tir.analysis.dependence.example import (
    instance,
    instance_in_loops,
    sample_pair,
    sample_point,
    shown_sizes,
)
from tilewright.tir.analysis.dependence.relations import loop_map
from tilewright.tir.analysis.dependence.solver import UndecidedError, bounded, isl
from tilewright.tir.analysis.dependence.statements import Level, Statement
from tilewright.tir.analysis.dependence.violation import Example, Violation, numbers
from tilewright.tir.analysis.expressions import identical, same_extent
from tilewright.tir.buffer import Range


class Digits(NamedTuple):
    """How a level of loops runs all values of its iterators once.

    Attributes:
        sums: each iterator in terms of digits of the loops.
        extents: how many values each iterator takes.
    """

    sums: tuple[IterSum, ...]
    extents: tuple[Any, ...]


def digits_of(level: Level) -> Digits | None:
    """The iterators of a level as digits of its loops, if they take each value once."""
    if level.is_conditional:
        return None
    variables = [loop.loop_var for loop in level.loops]
    ranges: dict[Var, Range] = {}
    for loop in level.loops:
        if mentions(loop.extent, variables) or mentions(loop.min, variables):
            return None
        ranges[loop.loop_var] = Range.from_min_extent(loop.min, loop.extent)
    predicate = as_expr(level.predicate)
    found = detect_iter_map(level.bindings, ranges, predicate, require_bijective=True)
    if not found.is_affine:
        return None
    return Digits(found.indices, found.extents)


def covers_domain(level: Level, digits: Digits) -> bool:
    """Whether iterators take all values of their domains."""
    for domain, total, extent in zip(level.domains, digits.sums, digits.extents, strict=True):
        if domain is None or not _same(total.base, domain.min):
            return False
        if not _same(as_expr(extent), domain.extent):
            return False
    return True


def _same(a: Expr, b: Expr) -> bool:
    return same_extent(a, b) or Analyzer().can_prove_equal(a, b)


def check_instances(before: Statement, copies: Sequence[Statement]) -> Violation | None:
    """Whether `copies` together run the instances of `before`, each once.

    Raises:
        UndecidedError: if that is not known.
    """
    if not copies:
        return _missing(before, loop_map(before).map.range())
    if len(copies) == 1 and _same_levels(before, copies[0]):
        return None
    maps = [_exact_map(statement) for statement in (before, *copies)]
    if not maps[0].is_injective():
        raise UndecidedError(f"{before.name} runs some of its instances several times")
    wanted, done = maps[0].range(), None
    for position, (copy, in_loops) in enumerate(zip(copies, maps[1:], strict=True)):
        if not in_loops.is_injective():
            return _twice(copy, in_loops)
        own = in_loops.range()
        for other, others in zip(copies[:position], maps[1 : position + 1], strict=True):
            if not own.is_disjoint(others.range()):
                return _in_both(other, copy, own.intersect(others.range()))
        done = own if done is None else done.union(own)
    assert done is not None
    if not wanted.is_subset(done):
        return _missing(before, wanted.subtract(done))
    if not done.is_subset(wanted):
        return _extra(before, done.subtract(wanted))
    return None


def _exact_map(statement: Statement) -> Any:
    if statement.problem is not None:
        raise UndecidedError(f"which instances of {statement.name} run: {statement.problem}")
    found = loop_map(statement)
    if not found.exact:
        raise UndecidedError(
            f"which instances of {statement.name} run depends on data, or its bindings and "
            "conditions are not affine"
        )
    return found.map


def _same_levels(before: Statement, after: Statement) -> bool:
    """Whether each level of blocks runs the same, decided without isl."""
    if before.signature == after.signature and before.problem is None:
        return True
    if len(before.levels) != len(after.levels):
        return False
    for old, new in zip(before.levels, after.levels, strict=True):
        if old.signature == new.signature:
            continue
        if len(old.iterators) != len(new.iterators) or before.problem or after.problem:
            return False
        for level in (old, new):
            digits = digits_of(level)
            if digits is None or not covers_domain(level, digits):
                return False
        if not _same_domains(old, new):
            return False
    return True


def _same_domains(old: Level, new: Level) -> bool:
    return all(
        a is b or (a is not None and b is not None and identical(a, b))
        for a, b in zip(old.domains, new.domains, strict=True)
    )


# --- counterexamples ----------------------------------------------------------------------------


def _missing(statement: Statement, points: Any) -> Violation | None:
    return _one(statement, points, "missing", "is not executed any more")


def _extra(statement: Statement, points: Any) -> Violation | None:
    return _one(statement, points, "extra", "is executed, which it was not before")


def _in_both(first: Statement, second: Statement, points: Any) -> Violation | None:
    del second
    return _one(first, points, "twice", "is executed at two places of the program")


def _one(statement: Statement, points: Any, kind: str, what: str) -> Violation | None:
    if points.is_empty():
        return None

    @bounded
    def find() -> Example:
        found = sample_point(points)
        values = instance(statement, found.first, [])
        return Example((values,), sizes=shown_sizes(found.sizes))

    return Violation(kind, find, lambda example: f"{example.instances[0]} {what}")


def _twice(statement: Statement, in_loops: Any) -> Violation:
    @bounded
    def find() -> Example:
        kind = isl().dim_type
        same = in_loops.apply_range(in_loops.reverse())
        apart = (same.order_lt(kind.in_, n, kind.out, n) for n in range(same.dim(kind.in_)))
        found = sample_pair(next(pairs for pairs in apart if not pairs.is_empty()))
        ends = (found.first, found.second)
        both = tuple(instance_in_loops(statement, end, found.sizes) for end in ends)
        return Example(both, sizes=shown_sizes(found.sizes))

    def text(example: Example) -> str:
        first, second = example.instances
        return (
            f"{first} is executed twice: in iterations {numbers(first.loops)} and "
            f"{numbers(second.loops)}"
        )

    return Violation("twice", find, text)
