"""Values of iterators, or iterations of loops, that cannot be told apart, and those that are lost.

Like those in `witnesses`, these questions are asked when a refusal is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, Var
from tilewright.tir.analysis.dependence.affine import Affine
from tilewright.tir.analysis.dependence.buffer_accesses import BufferAccess, statement_of
from tilewright.tir.analysis.dependence.example import (
    fixed,
    instance,
    sample_pair,
    sample_point,
    shown_sizes,
    with_sizes,
)
from tilewright.tir.analysis.dependence.program import Program
from tilewright.tir.analysis.dependence.relations import footprint, loop_map, quantified
from tilewright.tir.analysis.dependence.solver import answers, context, isl, limited, read_map
from tilewright.tir.analysis.dependence.violation import Answer, numbers, violation
from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.stmt import Block


@answers
def find_collision(iterators: Sequence[tuple[Var, Range]], indices: Sequence[Expr]) -> Answer:
    """Two sets of values of some iterators for which all indices are the same."""
    with limited():
        values = _values(iterators, indices)
        found = None if values is None else _first_two(values)
        if found is None:
            return None
        sizes, one, other, same = found
        text = f"{_named(iterators, one)} and {_named(iterators, other)} both give {list(same)}"
        return violation("collision", text, shown_sizes(sizes))


@answers
def find_difference(
    iterators: Sequence[tuple[Var, Range]], forward: Sequence[Expr], again: Sequence[Expr]
) -> Answer:
    """Values of iterators to which a map and its inverse do not lead back.

    `forward` is what the map gives, `again` what the inverse gives for that, in terms of the
    iterators.
    """
    with limited():
        there = _values(iterators, forward)
        back = _values(iterators, again)
        if there is None or back is None:
            return None
        wrong = back.subtract(isl().Map.identity(back.get_space()))
        if wrong.is_empty():
            return None
        found = sample_pair(wrong)
        place = fixed(with_sizes(there, found.sizes), isl().dim_type.in_, found.first).range()
        text = (
            f"{_named(iterators, found.first)} becomes {sample_point(place).first}, and the "
            f"inverse leads from there to {found.second}"
        )
        return violation("collision", text, shown_sizes(found.sizes))


@answers
def find_hole(
    iterators: Sequence[tuple[Var, Range]], indices: Sequence[Expr], shape: Sequence[Expr]
) -> Answer:
    """A place in a shape that no values of some iterators give."""
    with limited():
        given = _values(iterators, indices)
        domains = [Range.from_min_extent(const(0, extent.dtype), extent) for extent in shape]
        places = _values([(Var("p", d.min.dtype), d) for d in domains], ())
        if given is None or places is None:
            return None
        free = places.domain().subtract(given.range())
        if free.is_empty():
            return None
        found = sample_point(free)
        text = f"nothing is at {found.first}"
        return violation("collision", text, shown_sizes(found.sizes))


@answers
def find_negative(iterators: Sequence[tuple[Var, Range]], index: Expr) -> Answer:
    """Values of some iterators for which an index is negative."""
    with limited():
        given = _values(iterators, [index])
        if given is None:
            return None
        below = given.upper_bound_val(isl().dim_type.out, 0, isl().Val.int_from_si(context(), -1))
        if below.is_empty():
            return None
        found = sample_pair(below)
        text = f"{_named(iterators, found.first)} gives {found.second[0]}"
        return violation("collision", text, shown_sizes(found.sizes))


@answers
def find_outside(
    iterators: Sequence[tuple[Var, Range]], region: Sequence[Range], buffer: Buffer
) -> Answer:
    """Values of some iterators for which a region of a buffer sticks out of it."""

    def outside(affine: Affine) -> str:
        sides = (
            f"{affine.text(item.min)} < 0 or "
            f"{affine.text(item.min + item.extent)} > {affine.text(extent)}"
            for item, extent in zip(region, buffer.shape, strict=True)
        )
        return f"({' or '.join(sides)})"

    with limited():
        starts = _values(iterators, [item.min for item in region], outside)
        if starts is None or starts.is_empty():
            return None
        found = sample_pair(starts)
        first = f"{buffer.name}[{', '.join(map(str, found.second))}]"
        text = f"at {_named(iterators, found.first)}, the part that starts at {first} sticks out"
        return violation("outside", text, shown_sizes(found.sizes))


def _values(
    iterators: Sequence[tuple[Var, Range]],
    indices: Sequence[Expr],
    where: Callable[[Affine], str] | None = None,
) -> Any:
    """The map from iterators to some expressions over them; None if it is not affine."""
    names = [f"i{number}" for number in range(len(iterators))]
    affine = Affine(dict(zip((var for var, _ in iterators), names, strict=True)))
    conditions = [] if where is None else [where(affine)]
    for name, (_, domain) in zip(names, iterators, strict=True):
        low, size = affine.text(domain.min), affine.text(domain.extent)
        conditions.append(f"{low} <= {name} < {low} + {size}")
    values = [affine.text(index) for index in indices]
    if not affine.exact:
        return None
    return read_map(quantified(affine.parameters, [affine.relation(names, values, conditions)]))


def _named(iterators: Sequence[tuple[Var, Range]], values: Sequence[int]) -> str:
    return numbers({var.name: value for (var, _), value in zip(iterators, values, strict=True)})


@answers
def find_repetition(program: Program, block: Block) -> Answer:
    """Two iterations of the loops around a block that run the same instance."""
    with limited():
        statement = statement_of(program, block)
        runs = loop_map(statement)
        found = _first_two(runs.map) if runs.exact else None
        if found is None:
            return None
        sizes, one, other, values = found
        told = (numbers(instance(statement, values, ends).loops) for ends in (one, other))
        text = f"{instance(statement, values, one)} runs in iterations {' and '.join(told)}"
        return violation("twice", text, shown_sizes(sizes))


def _first_two(
    values: Any,
) -> tuple[dict[str, int], list[int], list[int], list[int]] | None:
    """Two points that a map maps to the same one, and that one; None if there are none."""
    kind = isl().dim_type
    same = values.apply_range(values.reverse())
    for place in range(same.dim(kind.in_)):
        apart = same.order_lt(kind.in_, place, kind.out, place)
        if not apart.is_empty():
            found = sample_pair(apart)
            point = fixed(with_sizes(values, found.sizes), kind.in_, found.first)
            return found.sizes, found.first, found.second, sample_point(point.range()).first
    return None


# --- instances that do not run, or would not ----------------------------------------------------


@answers
def find_idle_instance(program: Program, block: Block) -> Answer:
    """An instance in the domains of the iterators of a block that no loop runs."""
    with limited():
        statement = statement_of(program, block)
        idle = footprint(statement).domain.subtract(loop_map(statement).map.range())
        if idle.is_empty():
            return None
        found = sample_point(idle)
        text = f"{instance(statement, found.first, [])} does not run"
        return violation("missing", text, shown_sizes(found.sizes))


@answers
def find_detached_instance(
    program: Program, reader: Block, buffer: Buffer, writer: Block
) -> Answer:
    """An instance that reads no element of a buffer that another block writes."""
    with limited():
        read = BufferAccess(statement_of(program, reader), buffer, False)
        written = BufferAccess(statement_of(program, writer), buffer, True).map.range()
        iterations = loop_map(read.statement).map.domain()
        detached = iterations.subtract(read.map.intersect_range(written).domain())
        if detached.is_empty():
            return None
        found = sample_point(detached)
        ran = read.instance(found.first, found.sizes)
        text = f"{ran} reads no element of {buffer.name} that {writer.name_hint} writes"
        return violation("missing", text, shown_sizes(found.sizes), [ran])
