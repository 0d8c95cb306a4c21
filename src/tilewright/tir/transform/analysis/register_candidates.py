"""Which elements do not change their place while a loop runs, so that registers can hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tilewright.ir.expr import Call, Var
from tilewright.ir.rewrite import walk, walk_once
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import BufferStore, Stmt
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.guarded_stores import same_conditions
from tilewright.tir.transform.analysis.locations import (
    Location,
    LoopSummary,
    Touch,
    Touches,
    When,
)
from tilewright.tir.transform.building.register_file import Candidate


def indexed_memory(body: Stmt, touches: Touches) -> set[Var]:
    """The memory with accesses at indices that are not constants, which no register has."""
    return {
        node.buffer.data
        for node in walk_once(body)
        if isinstance(node, (BufferLoad, BufferStore)) and not _is_constant(touches(node))
    }


def _is_constant(touch: Touch) -> bool:
    return touch.location is not None and not touch.location.terms


def invariant_elements(
    items: Sequence[tuple[Touch, When]],
    summary: LoopSummary,
    written: bool,
    are_apart: Callable[[Iterable[Location]], bool],
) -> list[Candidate]:
    """The elements of one memory that a loop can keep in registers.

    Args:
        items: all accesses of the memory in the loop, each with when it is made.
        summary: the loop.
        written: whether some of them are stores.
        are_apart: whether places of the memory share no element.
    """
    by_location: dict[Location, list[tuple[Touch, When]]] = {}
    for touch, when in items:
        fixed = touch.location is not None and not touch.variables & summary.bound
        if not fixed:
            if written:
                return []
            continue
        assert touch.location is not None
        by_location.setdefault(touch.location, []).append((touch, when))
    if written and not are_apart(by_location):
        return []
    if len({touch.node.buffer.dtype for touch, _ in items}) > 1:
        return []  # views of different types count elements differently
    if not written and any(location.predicate is not None for location in by_location):
        return []
    candidates: list[Candidate] = []
    for location, found in by_location.items():
        stored = written and any(touch.is_store for touch, _ in found)
        conditions = _conditions([when for _, when in found], summary.bound)
        if conditions is not None and (stored or not conditions):
            candidates.append(Candidate(location, found[0][0].node, stored, conditions))
    return candidates


def _conditions(accesses: Sequence[When], bound: set[Var]) -> When:
    """The conditions under which every iteration makes some of `accesses`, and none is made
    otherwise; None if there are none like that which the loop does not change."""
    if any(when == () for when in accesses):
        return ()
    first = accesses[0]
    if first is None or any(when is None for when in accesses):
        return None
    if any(when is not None and not same_conditions(first, when) for when in accesses[1:]):
        return None
    for condition in first:
        if any(isinstance(node, (BufferLoad, Call)) for node in walk(condition)):
            return None
        if not bound.isdisjoint(variables_of(condition)):
            return None
    return first
