"""Whether a program runs all instances of a block, writes all that another one writes, and whether
what a guard leaves out has run before."""

from __future__ import annotations

from typing import Any

from tilewright.tir.analysis.dependence.example import (
    instance,
    sample_pair,
    sample_point,
    shown_sizes,
)
from tilewright.tir.analysis.dependence.program import Program
from tilewright.tir.analysis.dependence.relations import footprint, loop_map
from tilewright.tir.analysis.dependence.solver import (
    MAX_OPERATIONS,
    UndecidedError,
    answers,
    bounded,
    isl,
    limited,
)
from tilewright.tir.analysis.dependence.statements import Statement
from tilewright.tir.analysis.dependence.violation import (
    Answer,
    Example,
    NotProved,
    Violation,
    numbers,
)
from tilewright.tir.buffer import Buffer
from tilewright.tir.stmt import Block, For


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


@answers
def is_repeated(before: Program, after: Program, block: Block, loop: For) -> Answer:
    """Whether each instance that only `before` runs has run one iteration of `loop` earlier.

    Then, by induction, its first execution is one of those that `after` still has, provided that
    `after` leaves out none of the first iteration.

    `after` is `before` with a guard around `block`, and `loop` is a loop around it in `before`.

    Returns:
        None if it has, a `Violation` with one that has not, or `NotProved`.
    """
    old = _statement(before, block)
    new = _statement(after, block)
    depth = next(n for n, item in enumerate(old.loops) if item is loop)
    with limited(MAX_OPERATIONS):
        every, kept = loop_map(old), loop_map(new)
        if not (every.exact and kept.exact):
            raise UndecidedError("a predicate or binding of the block is not affine")
        left_out = every.map.subtract(kept.map)
        one_earlier = _one_iteration_earlier(every.map, depth).apply_range(every.map)
        if left_out.is_subset(one_earlier):
            return None

    @bounded
    def find() -> Example:
        found = sample_pair(left_out.subtract(one_earlier))
        missing = instance(old, found.second, found.first)
        return Example((missing,), sizes=shown_sizes(found.sizes))

    def text(example: Example) -> str:
        (missing,) = example.instances
        where = numbers(missing.loops)
        return f"{missing} would not run in iteration {where}, and has not in the one before"

    return Violation("missing", find, text)


def _statement(program: Program, block: Block) -> Statement:
    found = [s for s in program.statements if s.block is not None and s.block.key is block.key]
    if len(found) != 1:
        raise UndecidedError("the block contains other blocks")
    return found[0]


def _one_iteration_earlier(loops: Any, depth: int) -> Any:
    """From values of loops to those of the iteration before of the loop at `depth`."""
    domain = loops.domain()
    pairs = isl().Map.from_domain_and_range(domain, domain)
    dim_in, dim_out = isl().dim_type.in_, isl().dim_type.out
    for place in range(depth):
        pairs = pairs.equate(dim_in, place, dim_out, place)
    space = pairs.get_space()
    shifted = isl().Constraint.equality_alloc(isl().LocalSpace.from_space(space))
    shifted = shifted.set_coefficient_val(dim_in, depth, 1)
    shifted = shifted.set_coefficient_val(dim_out, depth, -1)
    return pairs.add_constraint(shifted.set_constant_val(-1))
