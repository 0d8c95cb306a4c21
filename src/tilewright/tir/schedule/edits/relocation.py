"""Moving a block under a loop: where it goes, and the loops that are made for it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.interval import IntervalSet
from tilewright.ir.convert import cast
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.tir.buffer import Range
from tilewright.tir.schedule.edits.bindings import conjunction
from tilewright.tir.schedule.edits.loops import nest
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import idle_instance
from tilewright.tir.schedule.proofs.domains import outside_of_domains, runs_whole_domain
from tilewright.tir.schedule.proofs.regions import is_within
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, For, SeqStmt, Stmt, seq
from tilewright.tir.substitute import substitute, variables_of

# --- new loops --------------------------------------------------------------------------------


class Nest(NamedTuple):
    """A block in new loops.

    Attributes:
        stmt: the outermost loop, or the block itself where no loop is needed.
        realize: the block with its new bindings.
    """

    stmt: Stmt
    realize: BlockRealize


def regenerated(
    tree: FunctionTree,
    realize: BlockRealize,
    ranges: Mapping[Var, IntervalSet],
    analyzer: Analyzer,
    preserve_unit_loops: bool,
) -> Nest:
    """The block in loops over `ranges`, or over the whole domain of an iterator that it leaves out.

    Args:
        realize: the block.
        ranges: between which values the iterators lie; ends may mention loops at the new place.
        analyzer: what is known at the new place.
        preserve_unit_loops: whether loops of one iteration are made.
    """
    loops: dict[Var, Expr] = {}
    values: list[Expr] = []
    conditions: list[Expr] = []
    for iter_var in realize.block.iter_vars:
        domain = iter_var.dom
        assert domain is not None
        low, extent = _loop_bounds(domain, ranges.get(iter_var.var), analyzer)
        value = low
        if preserve_unit_loops or not is_const_int(extent, 1):
            var = Var(f"ax{len(loops)}", iter_var.dtype)
            loops[var] = extent
            analyzer.bind_range(var, 0, extent)
            value = low + var
            if is_const_int(extent, 1):
                # Binding a unit loop makes it known as 0, so it must not be simplified away.
                values.append(value if not is_const_int(low, 0) else var)
            else:
                values.append(analyzer.simplify(value))
        else:
            values.append(low)
        if not is_within(value, value, domain, analyzer):
            inside = (value >= domain.min, value < domain.min + domain.extent)
            conditions += [part for part in inside if not analyzer.can_prove(part)]
    conditions = [analyzer.simplify(condition) for condition in conditions]
    predicate = conjunction(*conditions, *_own_conditions(tree, realize, values, analyzer))
    changed = realize.replace(iter_values=tuple(values), predicate=predicate)
    _, outermost = nest(loops, changed)
    return Nest(outermost, changed)


def _loop_bounds(
    domain: Range, interval: IntervalSet | None, analyzer: Analyzer
) -> tuple[Expr, Expr]:
    """The first value and the number of values, not more than the domain has."""
    if interval is None or interval.min_value is None or interval.max_value is None:
        return domain.min, domain.extent
    low = cast(domain.min.dtype, interval.min_value)
    last = cast(domain.min.dtype, interval.max_value)
    extent = analyzer.plus(analyzer.difference(last, low), 1)
    if analyzer.can_prove_at_most(domain.extent, extent):
        return domain.min, domain.extent
    return low, extent


def _own_conditions(
    tree: FunctionTree, realize: BlockRealize, values: Sequence[Expr], analyzer: Analyzer
) -> list[Expr]:
    """Conditions for instances that did not run before either."""
    if runs_whole_domain(tree, realize):
        return []
    loops = {loop.loop_var: loop for loop in tree.loops_above(realize)}
    bound: dict[Var, Expr] = {}
    conditions: list[Expr] = []
    for old, new in zip(realize.iter_values, values, strict=True):
        loop = loops.get(old) if isinstance(old, Var) else None
        if loop is None or loop.loop_var in bound:
            raise ScheduleError(
                "the loops around {0} do not run all of its instances, and which ones is not "
                "known in terms of its iterators",
                at=[realize],
                counterexample=partial(idle_instance, tree, realize),
            )
        bound[loop.loop_var] = new
        conditions += [new >= loop.min, new < loop.min + loop.extent]
    for part in outside_of_domains(realize, tree.analyzer(realize)):
        if any(var in loops and var not in bound for var in variables_of(part)):
            raise ScheduleError(
                "the predicate of {0} mentions a loop that is not an iterator of it",
                at=[realize],
                counterexample=partial(idle_instance, tree, realize),
            )
        conditions.append(part)
    conditions = [analyzer.simplify(substitute(condition, bound)) for condition in conditions]
    return [condition for condition in conditions if not analyzer.can_prove(condition)]


# --- the place ----------------------------------------------------------------------------------


def items_of(loop: For) -> tuple[Stmt, ...]:
    """The statements that the body of a loop consists of."""
    return loop.body.seq if isinstance(loop.body, SeqStmt) else (loop.body,)


def insertion_point(
    tree: FunctionTree,
    block: BlockRealize,
    loop: For,
    before: Sequence[BlockRealize],
    after: Sequence[BlockRealize],
    index: int,
) -> int:
    """Before which item of the loop's body to put the block.

    Args:
        block: the block that moves.
        loop: the loop that it moves under.
        before: blocks that must come before it, where they are inside of the loop.
        after: blocks that must come after it.
        index: the position that the user wants; -1 for the last possible one, -2 for the first.
    """
    items = items_of(loop)
    first, last = 0, len(items)
    for position, item in enumerate(items):
        if any(item is other or tree.is_above(item, other) for other in before):
            first = position + 1
        if position < last and any(item is o or tree.is_above(item, o) for o in after):
            last = position
    if first > last:
        raise ScheduleError(
            "there is no place in {1} for {0}: what must come before it and what must come after "
            "it are in one statement, or in the wrong order",
            at=[block, loop, *before, *after],
        )
    if index == -1:
        return last
    if index == -2:
        return first
    if not first <= index <= last:
        raise ScheduleError(
            f"{{0}} cannot be put at position {index} of {{1}}: positions {first} to {last} are "
            "possible",
            at=[block, loop],
        )
    return index


def moved(tree: FunctionTree, block: BlockRealize, loop: For, made: Stmt, position: int) -> Stmt:
    """The body of the function with the block removed, and `made` put under `loop`."""
    items = items_of(loop)
    if not tree.is_above(loop, block):
        body = seq(*items[:position], made, *items[position:])
        return tree.edited({block: None, loop: loop.replace(body=body)})
    kept = [without(tree, item, block) for item in items]
    body = seq(*kept[:position], made, *kept[position:])
    return tree.edited({loop: loop.replace(body=body)})


def without(tree: FunctionTree, stmt: Stmt, block: BlockRealize) -> Stmt | None:
    """`stmt` without the block; None if nothing is left."""
    if stmt is block:
        return None
    if not tree.is_above(stmt, block):
        return stmt
    if isinstance(stmt, SeqStmt):
        kept = [without(tree, item, block) for item in stmt.seq]
        return seq(*kept) if any(item is not None for item in kept) else None
    if isinstance(stmt, For):
        body = without(tree, stmt.body, block)
        return None if body is None else stmt.replace(body=body)
    return stmt.map_children(
        lambda item: seq(without(tree, item, block)) if isinstance(item, Stmt) else item
    )


def require_movable(tree: FunctionTree, block: BlockRealize, loop: For) -> None:
    """Refuse the root block, and a loop of another scope."""
    if block is tree.root:
        raise ScheduleError("the root block cannot be moved", at=[block])
    if tree.scope(block) is not tree.scope(loop):
        raise ScheduleError(
            "{0} and {1} must be in the same block, as its loops and child blocks",
            at=[block, loop],
        )
