"""Whether iterations of a loop depend on each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from tilewright.tir.analysis.dependence.example import conflict_example
from tilewright.tir.analysis.dependence.iterations import loops_in_step, steps_by_memory
from tilewright.tir.analysis.dependence.program import Program, analyze
from tilewright.tir.analysis.dependence.relations import (
    conflict,
    controls,
    footprint,
    loop_map,
    meet,
)
from tilewright.tir.analysis.dependence.solver import (
    MAX_OPERATIONS,
    UndecidedError,
    answers,
    bounded,
    isl,
    limited,
)
from tilewright.tir.analysis.dependence.statements import ANYTHING, Memory, Statement, shared_way
from tilewright.tir.analysis.dependence.violation import Example, NotProved, Violation
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For


@answers
def carried_by(
    program: Program | PrimFunc,
    loop: For,
    *,
    ignore: Collection[Buffer] = (),
    allow_reductions: bool = False,
) -> Violation | NotProved | None:
    """Two instances in different iterations of `loop` that access one element, one writing it.

    The loops around `loop` have equal values for both. Without such instances, the iterations may
    run at the same time and in any order.

    Args:
        program: a function or what `analyze` made of it.
        loop: one of its loops.
        ignore: buffers of which each iteration has memory of its own.
        allow_reductions: leave out updates of one reduction, other than the one that initialises,
            as is right where updates are atomic or happen one after the other in any order.

    Returns:
        None if there are none, a `Violation` with concrete instances, or `NotProved`.
    """
    program = program if isinstance(program, Program) else analyze(program)
    inside = program.inside(loop)
    with limited(MAX_OPERATIONS):
        for number, first in enumerate(inside):
            for second in inside[number:]:
                violation = _check_pair(first, second, loop, ignore, allow_reductions)
                if violation is not None:
                    return violation
    return None


def memory_in_doubt(program: Program, loop: For) -> set[Memory] | None:
    """The memory by which iterations of a loop may depend on each other, as far as that is plain.

    None where more than memory matters, or it is not known which.
    """
    inside = program.inside(loop)
    try:
        found = {
            memory
            for number, first in enumerate(inside)
            for second in inside[number:]
            for memory in _doubtful(first, second, loop)
        }
    except UndecidedError:
        return None
    return None if ANYTHING in found else found


def _doubtful(first: Statement, second: Statement, loop: For) -> Iterator[Memory]:
    """Memory that two instances may access in different iterations of a loop."""
    if controls(first, second):
        raise UndecidedError("one decides whether the other one runs")
    if not meet(footprint(first), footprint(second)):
        return
    if first.problem is not None or second.problem is not None:
        raise UndecidedError("the order is not known")
    depth = next(n for n, other in enumerate(first.loops) if other is loop)
    both = first, second
    for memory, count in steps_by_memory(both, both, depth + 1, equal=depth):
        if count <= depth:
            yield memory


def _check_pair(
    first: Statement,
    second: Statement,
    loop: For,
    ignore: Collection[Buffer],
    allow_reductions: bool,
) -> Violation | None:
    left, right = footprint(first), footprint(second)
    if controls(first, second):
        raise UndecidedError(
            f"{first.name} and {second.name}: one of them decides whether the other one runs"
        )
    if not meet(left, right):
        return None
    for statement in (first, second):
        if statement.problem is not None:
            raise UndecidedError(f"the order of {statement.name}: {statement.problem}")
    depth = next(n for n, other in enumerate(first.loops) if other is loop)
    assert depth < shared_way(first, second).loops
    private = frozenset(buffer.data for buffer in ignore)
    both = first, second
    if loops_in_step(both, both, depth + 1, equal=depth, ignore=private) > depth:
        return None
    pairs = conflict(left, right, private)
    if pairs is None:
        return None
    if first is second and allow_reductions and left.commutes:
        pairs = left.with_first(pairs)
        if pairs is None:
            return None
    found = _apart(first, second, depth, pairs)
    if found is None:
        return None
    return Violation(
        "carried",
        bounded(lambda: conflict_example(first, second, found, left, right)),
        lambda example: _carried_text(example, depth),
    )


def _apart(first: Statement, second: Statement, depth: int, pairs: Any) -> Any:
    """Pairs of iterations that differ first in the loop at `depth`; None if there are none."""
    kinds = isl().dim_type
    in_loops = loop_map(first).map.apply_range(pairs).apply_range(loop_map(second).map.reverse())
    for place in range(depth):
        in_loops = in_loops.equate(kinds.in_, place, kinds.out, place)
    sides = [in_loops.order_lt(kinds.in_, depth, kinds.out, depth)]
    if first is not second:
        sides.append(in_loops.order_gt(kinds.in_, depth, kinds.out, depth))
    return next((side for side in sides if not side.is_empty()), None)


def _carried_text(example: Example, depth: int) -> str:
    first, second = example.instances
    done, other = example.actions
    (name, one), (_, two) = (list(x.loops.items())[depth] for x in (first, second))
    may = "" if example.certain else "may be "
    return (
        f"{example.element}: {may}{done} by {first} in iteration {name}={one} and "
        f"{other} by {second} in iteration {name}={two}"
    )
