"""Whether a program runs the instances of another one in an order that keeps its meaning."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.ir.expr import Expr, Var
from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.analysis.dependence.example import conflict_example
from tilewright.tir.analysis.dependence.instances import check_instances, digits_of
from tilewright.tir.analysis.dependence.iterations import Pair, loops_in_step
from tilewright.tir.analysis.dependence.program import Program, analyze, earlier
from tilewright.tir.analysis.dependence.relations import controls, footprint, loop_map
from tilewright.tir.analysis.dependence.solver import (
    MAX_OPERATIONS,
    UndecidedError,
    answers,
    bounded,
    limited,
)
from tilewright.tir.analysis.dependence.statements import Statement, shared_way
from tilewright.tir.analysis.dependence.violation import Example, NotProved, Violation
from tilewright.tir.analysis.reduction import Reduction
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block

Copies = dict[Statement, tuple[Statement, ...]]
"""For each statement, those of the other program that run its instances."""


@answers
def check_order(
    before: Program | PrimFunc,
    after: Program | PrimFunc,
    correspondence: Mapping[Block, Block] | None = None,
) -> Violation | NotProved | None:
    """Whether `after` runs the same instances as `before`, in an order that keeps the meaning.

    Each instance must run once, and of two instances that access one element, at least one writing
    it, the one that ran first must still run first. Two updates of a reduction may change places
    (see `Program.ordered_conflicts`). Loops of all kinds count as serial: `carried_by` tells
    whether one may be parallel.

    Args:
        before: the program whose meaning is kept.
        after: the program that is asked about.
        correspondence: for blocks of `after` that were rewritten, the block of `before`. A block
            that is not in it stands for the same object, else for the block with the same key or,
            if it has no key, the same name. Iterators correspond by position.

    Returns:
        None if the order is right, a `Violation` with concrete instances if it is wrong,
        `NotProved` if the blocks do not correspond or the question is too hard.
    """
    before = before if isinstance(before, Program) else analyze(before)
    after = after if isinstance(after, Program) else analyze(after)
    sizes = _sizes(after.func, before.func)
    if sizes:
        after = Program(after.func, sizes)
    copies = corresponding(before, after, correspondence or {})
    with limited(MAX_OPERATIONS):
        for statement in before.statements:
            violation = check_instances(statement, copies[statement])
            if violation is not None:
                return violation
        for source, sink in before.conflicting(_kept(before, copies)):
            violation = _check_pair(before, source, sink, copies)
            if violation is not None:
                return violation
    return None


def _kept(before: Program, copies: Copies) -> set[Statement]:
    """Statements that run in loops as before, and in the same order; none if some do not."""
    unchanged = [s for s in before.statements if _is_unchanged(s, copies[s])]
    for one, other in itertools.pairwise(unchanged):
        # What neighbours have in common, in the order of the text, decides for all pairs.
        if shared_way(one, other) != shared_way(copies[one][0], copies[other][0]):
            return set()
    return set(unchanged)


def _is_unchanged(statement: Statement, copies: Sequence[Statement]) -> bool:
    """Whether the loops around a statement are as before."""
    return len(copies) == 1 and copies[0].signature == statement.signature


def _sizes(func: PrimFunc, other: PrimFunc) -> dict[Var, Var]:
    """The sizes of `func` that are other variables in `other`, by the places of parameters."""
    found: dict[Var, Var] = {}
    if func.buffer_map is other.buffer_map and func.params is other.params:
        return found
    if len(func.params) != len(other.params):
        return found
    for param, twin in zip(func.params, other.params, strict=True):
        own, its = func.buffer_map.get(param), other.buffer_map.get(twin)
        pairs: list[tuple[Expr, Expr]] = [(param, twin)]
        if own is not None and its is not None and len(own.shape) == len(its.shape):
            pairs = list(zip(own.shape, its.shape, strict=True))
        for a, b in pairs:
            if isinstance(a, Var) and isinstance(b, Var) and a is not b:
                found.setdefault(a, b)
    return found


# --- correspondence -----------------------------------------------------------------------------


def corresponding(before: Program, after: Program, correspondence: Mapping[Block, Block]) -> Copies:
    """Which statements of `after` run the instances of each statement of `before`.

    Raises:
        UndecidedError: if a statement of `after` has no counterpart, or may have several.
    """
    by_object: dict[Any, list[Statement]] = {}
    by_name: dict[Any, list[Statement]] = {}
    for statement in before.statements:
        by_object.setdefault(statement.stmt, []).append(statement)
        if statement.block is not None:
            by_name.setdefault(_name(statement.block), []).append(statement)
    copies: dict[Statement, list[Statement]] = {s: [] for s in before.statements}
    for statement in after.statements:
        found = by_object.get(statement.stmt)
        if found is None and statement.block is not None:
            origin = correspondence.get(statement.block)
            if origin is not None:
                found = by_object.get(origin)
            else:
                found = by_name.get(_name(statement.block)) or by_name.get(statement.name)
        if not found:
            raise UndecidedError(f"{statement.name} is new")
        copies[_only(statement, found)].append(statement)
    return {statement: tuple(found) for statement, found in copies.items()}


def _name(block: Block) -> object:
    """What stays the same when a block is rewritten."""
    key = getattr(block, "key", None)
    return block.name_hint if key is None else (key,)


def _only(statement: Statement, found: list[Statement]) -> Statement:
    if len(found) > 1:
        raise UndecidedError(f"there are several blocks {statement.name}")
    if len(found[0].iterators) != len(statement.iterators):
        raise UndecidedError(f"{statement.name} has other iterators than before")
    if statement.block is None and not _same_loops(statement, found[0]):
        raise UndecidedError(
            f"{statement.name} is named by its loops, and they changed: put it into a block"
        )
    return found[0]


def _same_loops(a: Statement, b: Statement) -> bool:
    return a.levels[-1].signature == b.levels[-1].signature


# --- pairs ----------------------------------------------------------------------------------------


def _check_pair(
    before: Program, source: Statement, sink: Statement, copies: Copies
) -> Violation | None:
    for statement in (source, sink, *copies[source], *copies[sink]):
        if statement.problem is not None:
            raise UndecidedError(f"the order of {statement.name}: {statement.problem}")
    if (
        source is sink
        and len(copies[source]) == 1
        and all(map(_initialises_first, (source, copies[source][0])))
    ):
        return None
    if controls(source, sink):
        raise UndecidedError(
            f"{source.name} and {sink.name}: one of them decides whether the other one runs"
        )
    doubtful = [
        (first, second)
        for first in copies[source]
        for second in copies[sink]
        if not _is_kept((first, second), (source, sink))
    ]
    pairs = before.ordered_conflicts(source, sink) if doubtful else None
    if pairs is None:
        return None
    for first, second in doubtful:
        wrong = _reversed(first, second, pairs)
        if wrong is not None:
            left, right = footprint(source), footprint(sink)
            reduction = left.reduction if source is sink else None
            return Violation(
                "order",
                bounded(functools.partial(conflict_example, first, second, wrong, left, right)),
                functools.partial(_order_text, reduction),
                "" if reduction is None else reduction.order_hint,
            )
    return None


def _is_kept(copies: Pair, originals: Pair) -> bool:
    """Whether it is plain without isl that no instance of the second statement runs before one of
    the first that accesses the same element."""
    way = shared_way(*copies)
    if not way.loops:
        return way.order < 0
    return way.order < 0 and loops_in_step(copies, originals, way.loops) == way.loops


def _initialises_first(statement: Statement) -> bool:
    """Whether it is plain without isl that updates of one element come after its `init`.

    So it is for a block that does not reduce, where each element is written once.
    """
    block = statement.block
    if block is None or len(statement.iterators) != len(block.iter_vars):
        return False
    kind = block_kind(block)
    if kind is BlockKind.COMPLETE:
        return True
    if kind is not BlockKind.REDUCTION or not footprint(statement).commutes:
        return False
    if any(level.loops for level in statement.levels[:-1]):
        return False
    digits = digits_of(statement.levels[-1])
    # Where all digits of the reduction are 0, no loop has a smaller value for the same element.
    return digits is not None and all(
        isinstance(split.source.source, Var) and isinstance(split.scale, int) and split.scale > 0
        for total in digits.sums
        for split in total.args
    )


def _reversed(first: Statement, second: Statement, pairs: Any) -> Any:
    """Pairs of iterations of which the second one runs first, or at the same time."""
    way = shared_way(first, second)
    in_loops = loop_map(first).map.apply_range(pairs).apply_range(loop_map(second).map.reverse())
    places = list(range(way.loops))
    turned = earlier(in_loops.reverse(), places, places, also_equal=way.order > 0)
    return next((part.reverse() for part in turned if not part.is_empty()), None)


def _order_text(reduction: Reduction | None, example: Example) -> str:
    first, second = example.instances
    done, other = example.actions
    may = "" if example.certain else " or may be"
    text = f"{example.element}: {done} by {first} after it is{may} {other} by {second}"
    why = "" if reduction is None else reduction.order_matters()
    return f"{text}; the order of updates matters: {why}" if why else text
