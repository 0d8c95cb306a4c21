"""Whether iterations of a loop depend on each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from tilewright.ir.expr import is_const_int
from tilewright.tir.analysis.atomic_updates import is_atomic
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
from tilewright.tir.analysis.dependence.violation import (
    Example,
    Instance,
    NotProved,
    Violation,
    numbers,
)
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For, ForKind


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
    run at the same time and in any order. Updates of a block that is annotated as atomic do not
    count, except as lanes of a vector.

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


@answers
def carried_between(
    program: Program, kernel: For, axes: Collection[str], ignore: Collection[Buffer]
) -> Violation | NotProved | None:
    """Two instances that run at different places of some axes and access one element.

    They are in the same iteration of the loops around `kernel`. What runs in no loop of an axis is
    at its place 0. That no loop carries a dependence by itself is left to `carried_by`.

    Args:
        program: what `analyze` made of a function.
        kernel: one of its loops.
        axes: the tags of the axes.
        ignore: buffers that each place has for itself.
    """
    inside = program.inside(kernel)
    private = frozenset(buffer.data for buffer in ignore)
    with limited(MAX_OPERATIONS):
        for number, first in enumerate(inside):
            for second in inside[number:]:
                places = [_places(statement, axes) for statement in (first, second)]
                if _are_carried(first, second, kernel, places) or not _may_conflict(first, second):
                    continue
                pairs = _conflicts(first, second, private, is_atomic(first.stmt))
                if pairs is None:
                    continue
                depth = first.loops.index(kernel)
                found = _elsewhere(_in_loops(first, second, pairs, depth), places, first, second)
                if found is not None:
                    return _violation(first, second, found, depth)
    return None


def _places(statement: Statement, axes: Collection[str]) -> dict[str, int]:
    """How many loops are around the one of each axis."""
    return {
        loop.thread_binding.thread_tag: depth
        for depth, loop in enumerate(statement.loops)
        if loop.thread_binding is not None and loop.thread_binding.thread_tag in axes
    }


def _are_carried(
    first: Statement, second: Statement, kernel: For, places: list[dict[str, int]]
) -> bool:
    """Whether only a loop of an axis could carry a dependence: all stand around both, alone."""
    if places[0] != places[1]:
        return False
    start, end = first.loops.index(kernel), max(places[0].values(), default=-1) + 1
    between = first.loops[start:end]
    return between == second.loops[start:end] and all(loop.thread_binding for loop in between)


def _elsewhere(
    in_loops: Any, places: list[dict[str, int]], first: Statement, second: Statement
) -> Any:
    """The pairs of iterations at different places of an axis; None if there are none."""
    kinds = isl().dim_type
    for axis in places[0] | places[1]:
        one, other = (place.get(axis) for place in places)
        if one is not None and other is not None:
            sides = [
                in_loops.order_lt(kinds.in_, one, kinds.out, other),
                in_loops.order_gt(kinds.in_, one, kinds.out, other),
            ]
        else:
            kind, depth, loop = (
                (kinds.out, other, second.loops[other])
                if one is None and other is not None
                else (kinds.in_, one, first.loops[one])  # type: ignore[index]
            )
            if not is_const_int(loop.min, 0):
                raise UndecidedError(f"loop {loop.loop_var.name} does not start at 0")
            zero = isl().Val.int_from_si(in_loops.get_ctx(), 0)
            sides = [in_loops.subtract(in_loops.fix_val(kind, depth, zero))]
        found = next((side for side in sides if not side.is_empty()), None)
        if found is not None:
            return found
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
    private = frozenset(buffer.data for buffer in ignore)
    if not _may_conflict(first, second):
        return None
    depth = next(n for n, other in enumerate(first.loops) if other is loop)
    assert depth < shared_way(first, second).loops
    both = first, second
    if loops_in_step(both, both, depth + 1, equal=depth, ignore=private) > depth:
        return None
    allowed = allow_reductions or (is_atomic(first.stmt) and loop.kind is not ForKind.VECTORIZED)
    pairs = _conflicts(first, second, private, allowed)
    if pairs is None:
        return None
    return _violation(first, second, _apart(first, second, depth, pairs), depth)


def _may_conflict(first: Statement, second: Statement) -> bool:
    """Whether instances of two statements access the same memory, one of them writing it."""
    if controls(first, second):
        raise UndecidedError(
            f"{first.name} and {second.name}: one of them decides whether the other one runs"
        )
    if not meet(footprint(first), footprint(second)):
        return False
    for statement in (first, second):
        if statement.problem is not None:
            raise UndecidedError(f"the order of {statement.name}: {statement.problem}")
    return True


def _conflicts(
    first: Statement, second: Statement, private: frozenset[Memory], allow_reductions: bool
) -> Any:
    """Pairs of instances that access the same element; None if there are none."""
    left, right = footprint(first), footprint(second)
    pairs = conflict(left, right, private)
    if pairs is not None and first is second and allow_reductions and left.commutes:
        return left.with_first(pairs)
    return pairs


def _violation(first: Statement, second: Statement, found: Any, depth: int) -> Violation | None:
    """What is wrong with pairs of iterations of the loops around two statements."""
    if found is None:
        return None
    left, right = footprint(first), footprint(second)
    return Violation(
        "carried",
        bounded(lambda: conflict_example(first, second, found, left, right)),
        lambda example: _text(example, (first, second), depth),
    )


def _in_loops(first: Statement, second: Statement, pairs: Any, equal: int) -> Any:
    """Pairs of iterations of the loops around, the first `equal` of which are the same for both."""
    kinds = isl().dim_type
    found = loop_map(first).map.apply_range(pairs).apply_range(loop_map(second).map.reverse())
    for place in range(equal):
        found = found.equate(kinds.in_, place, kinds.out, place)
    return found


def _apart(first: Statement, second: Statement, depth: int, pairs: Any) -> Any:
    """Pairs of iterations that differ first in the loop at `depth`; None if there are none."""
    kinds = isl().dim_type
    in_loops = _in_loops(first, second, pairs, depth)
    sides = [in_loops.order_lt(kinds.in_, depth, kinds.out, depth)]
    if first is not second:
        sides.append(in_loops.order_gt(kinds.in_, depth, kinds.out, depth))
    return next((side for side in sides if not side.is_empty()), None)


def _text(example: Example, statements: tuple[Statement, Statement], depth: int) -> str:
    may = "" if example.certain else "may be "
    parts = (
        f"{done} by {instance} in {_place(statement, instance, depth)}"
        for done, instance, statement in zip(
            example.actions, example.instances, statements, strict=True
        )
    )
    return f"{example.element}: {may}{' and '.join(parts)}"


def _place(statement: Statement, instance: Instance, depth: int) -> str:
    """The thread that an instance runs on, or its iteration of the loop at `depth`."""
    places = list(zip(statement.loops, instance.loops.items(), strict=True))
    thread: dict[str, int] = {}
    for loop, (_, value) in places:
        if loop.thread_binding is not None:
            thread.setdefault(loop.thread_binding.thread_tag, value)
    if places[depth][0].thread_binding is not None:
        return f"thread {numbers(thread)}"
    name, value = places[depth][1]
    return f"iteration {name}={value}"
