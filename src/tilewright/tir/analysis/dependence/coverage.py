"""Whether a program runs all instances of a block, and writes all that another one writes."""

from __future__ import annotations

from typing import Any

from tilewright.tir.analysis.dependence.example import sample_point, shown_sizes
from tilewright.tir.analysis.dependence.program import Program
from tilewright.tir.analysis.dependence.relations import footprint, loop_map
from tilewright.tir.analysis.dependence.solver import (
    MAX_OPERATIONS,
    UndecidedError,
    answers,
    bounded,
    limited,
)
from tilewright.tir.analysis.dependence.violation import Example, NotProved, Violation
from tilewright.tir.buffer import Buffer
from tilewright.tir.stmt import Block


@answers
def check_written(before: Program, after: Program, buffer: Buffer) -> Violation | NotProved | None:
    """Whether `after` writes each element of `buffer` that `before` writes.

    Returns:
        None if it does, a `Violation` with an element that it does not write, or `NotProved`.
    """
    with limited(MAX_OPERATIONS):
        wanted, done = (
            _written(before, buffer, certain=False),
            _written(after, buffer, certain=True),
        )
        if wanted is None:
            return None
        missing = wanted if done is None else wanted.subtract(done)
        if missing.is_empty():
            return None

    @bounded
    def find() -> Example:
        found = sample_point(missing)
        place = found.first[len(found.first) - len(buffer.shape) :]
        element = f"{buffer.name}[{', '.join(map(str, place))}]"
        return Example((), element, sizes=shown_sizes(found.sizes))

    return Violation("missing", find, lambda example: f"{example.element} is not written any more")


def _written(program: Program, buffer: Buffer, certain: bool) -> Any:
    """The elements that a program writes; None if there are none."""
    found: Any = None
    for statement in program.statements:
        effects = footprint(statement)
        if buffer.data not in effects.writes:
            continue
        writes = [a for a in effects.accesses if a.is_write and a.memory is buffer.data]
        if any(access.buffer is not buffer for access in writes):
            raise UndecidedError(f"{statement.name} writes {buffer.name} by another name")
        runs = loop_map(statement)
        if certain and not (runs.exact and all(access.exact for access in writes)):
            continue
        part = runs.map.range().apply(effects.relation(buffer, True))
        found = part if found is None else found.union(part)
    return found


def runs_whole_domain(program: Program, block: Block) -> bool:
    """Whether the loops around a block are known to run all instances that its domains allow."""
    found = _runs_whole_domain(program, block)
    return found is True


@answers
def _runs_whole_domain(program: Program, block: Block) -> bool:
    with limited(MAX_OPERATIONS):
        for statement in program.statements:
            if statement.stmt is block:
                runs = loop_map(statement)
                return runs.exact and footprint(statement).domain.is_subset(runs.map.range())
    return False
