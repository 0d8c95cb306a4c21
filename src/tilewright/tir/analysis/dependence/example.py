"""Concrete numbers out of isl relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright.ir.unique_names import UniqueNames
from tilewright.tir.analysis.dependence.relations import (
    StatementAccesses,
    conflict_parts,
    loop_map,
)
from tilewright.tir.analysis.dependence.solver import MAX_OPERATIONS, displayed, isl, limited_part
from tilewright.tir.analysis.dependence.statements import Statement
from tilewright.tir.analysis.dependence.violation import Example, Instance

VERBS = {False: "read", True: "written"}


class Sample(NamedTuple):
    """A pair in a map: values of sizes by their isl names, and of both ends."""

    sizes: dict[str, int]
    first: list[int]
    second: list[int]


def sample_pair(pairs: Any) -> Sample:
    """A pair in a map that is not empty, the smallest one if that is not hard to find."""
    names = _parameters(pairs)
    counts = pairs.dim(isl().dim_type.in_), pairs.dim(isl().dim_type.out)
    numbers = _sample(pairs.wrap().flatten(), len(names))
    sizes, rest = numbers[: len(names)], numbers[len(names) :]
    first, second = rest[: counts[0]], rest[counts[0] :]
    return Sample(dict(zip(names, sizes, strict=True)), first, second)


def sample_point(points: Any) -> Sample:
    """A point in a set that is not empty; it is the first end of the result."""
    names = _parameters(points)
    numbers = _sample(points, len(names))
    sizes = dict(zip(names, numbers, strict=False))
    return Sample(sizes, numbers[len(names) :], [])


def _parameters(item: Any) -> list[str]:
    kind = isl().dim_type.param
    return [item.get_dim_name(kind, number) for number in range(item.dim(kind))]


def _sample(points: Any, sizes: int) -> list[int]:
    kinds = isl().dim_type
    points = points.move_dims(kinds.set, 0, kinds.param, 0, sizes)
    try:
        with limited_part(MAX_OPERATIONS // 10):
            chosen = points.lexmin().sample_point()
            return _coordinates(chosen, points.dim(kinds.set))
    except isl().Error:  # no smallest point, or hard to find
        return _coordinates(points.sample_point(), points.dim(kinds.set))


def _coordinates(point: Any, count: int) -> list[int]:
    kind = isl().dim_type.set
    return [point.get_coordinate_val(kind, number).to_python() for number in range(count)]


def fixed(item: Any, kind: Any, values: Sequence[int]) -> Any:
    """A set or map with its dimensions of one kind fixed."""
    for place, value in enumerate(values):
        item = item.fix_val(kind, place, isl().Val.int_from_si(item.get_ctx(), value))
    return item


def with_sizes(item: Any, sizes: dict[str, int]) -> Any:
    """A set or map with its sizes fixed."""
    kind = isl().dim_type.param
    for name, value in sizes.items():
        place = item.find_dim_by_name(kind, name)
        if place >= 0:
            item = item.fix_val(kind, place, isl().Val.int_from_si(item.get_ctx(), value))
    return item


def instance_in_loops(statement: Statement, loops: list[int], sizes: dict[str, int]) -> Instance:
    """The instance that one iteration of the loops around a statement runs."""
    kinds = isl().dim_type
    points = fixed(with_sizes(loop_map(statement).map, sizes), kinds.in_, loops).range()
    return instance(statement, sample_point(points).first, loops)


def instance(statement: Statement, values: list[int], loops: list[int]) -> Instance:
    """An instance with the names of its iterators and loops, which scripts tell apart likewise."""
    unique = UniqueNames().unique
    names = [unique(loop.loop_var.name) for loop in statement.loops]
    return Instance(
        statement.name,
        dict(zip((v.name for v in statement.iterators), values, strict=True)),
        dict(zip(names, loops, strict=False)),
    )


def shown_sizes(sizes: dict[str, int]) -> dict[str, int]:
    """Sizes by their names for people."""
    return {displayed(name): value for name, value in sizes.items()}


def conflict_example(
    first: Statement,
    second: Statement,
    in_loops: Any,
    left: StatementAccesses,
    right: StatementAccesses,
) -> Example:
    """Two instances, given by their loops, that access one element.

    `in_loops` are pairs of iterations of the loops around them, and not empty; `left` and `right`
    are what instances of the statements access.
    """
    found = sample_pair(in_loops)
    one = instance_in_loops(first, found.first, found.sizes)
    other = instance_in_loops(second, found.second, found.sizes)
    sizes = shown_sizes(found.sizes)
    kinds = isl().dim_type
    ends = list(one.values.values()), list(other.values.values())
    for part in sorted(conflict_parts(left, right), key=lambda part: not all(part.writes)):
        actions = tuple(VERBS[is_write] for is_write in part.writes)
        buffer = part.buffers[0]
        if buffer is None or part.buffers[1] is not buffer:
            continue
        places = [
            fixed(with_sizes(side.relation(buffer, is_write), found.sizes), kinds.in_, end).range()
            for side, is_write, end in zip((left, right), part.writes, ends, strict=True)
        ]
        both = places[0].intersect(places[1])
        if not both.is_empty():
            place = sample_point(both).first
            place = place[len(place) - len(buffer.shape) :]
            element = f"{buffer.name}[{', '.join(map(str, place))}]"
            certain = all(
                a.exact
                for side, is_write in zip((left, right), part.writes, strict=True)
                for a in side.accesses
                if a.buffer is buffer and a.is_write is is_write
            )
            return Example((one, other), element, actions, sizes, certain)
    part = next(iter(conflict_parts(left, right)))
    actions = tuple(VERBS[is_write] for is_write in part.writes)
    from tilewright.tir.analysis.dependence.program import memory_name

    return Example((one, other), memory_name(part.memory), actions, sizes, False)
