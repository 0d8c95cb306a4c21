"""Cutting blocks in two: an outer block over the loops outside, and in it one over those inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.facts import conjuncts
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.tir.expr import IterVar
from tilewright.tir.schedule.edits.bindings import conjunction, reindexed
from tilewright.tir.schedule.edits.division import Divider, Division, loops_from_iterators
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.tree import FunctionTree, bind_scope
from tilewright.tir.stmt import Block, BlockRealize, For, Stmt
from tilewright.tir.substitute import substitute, variables_of


class Inner(NamedTuple):
    """The inner half of a block that was cut.

    Attributes:
        loops: the loops around it, the outermost first; their bodies do not count.
        values: what its iterators are bound to.
        predicate: where it runs.
        block: the block.
        source: the block that was cut.
    """

    loops: tuple[For, ...]
    values: tuple[Expr, ...]
    predicate: Expr
    block: Block
    source: BlockRealize

    def statement(self) -> Stmt:
        """The loops around the block."""
        body: Stmt = BlockRealize(self.values, self.predicate, self.block)
        for loop in reversed(self.loops):
            body = loop.replace(body=body)
        return body


def loops_between(tree: FunctionTree, place: Stmt, realize: BlockRealize) -> list[For]:
    """The loops from `place` on down to a block, between which there is nothing else.

    Args:
        place: a loop around the block; or the block.
        realize: the block.
    """
    loops: list[For] = []
    stmt = place
    while stmt is not realize:
        if not isinstance(stmt, For):
            raise ScheduleError(
                "there is more than loops between {0} and {1}",
                at=[place, realize],
                hint="only blocks that are perfectly nested in loops can be blockized",
            )
        loops.append(stmt)
        stmt = stmt.body
    return loops


def divide(
    tree: FunctionTree, place: Stmt, realize: BlockRealize, loops: Sequence[For], keep_unit: bool
) -> list[Division]:
    """The bindings of a block divided into loops around `place` and those from there on."""
    divider = Divider(tree.loops_above(place), loops, tree.analyzer(realize), keep_unit)
    divisions: list[Division] = []
    for iter_var, binding in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        division = divider.divide(iter_var, binding)
        if division is None:
            inside = ", ".join(loop.loop_var.name for loop in loops)
            raise ScheduleError(
                f"`{iter_var.var.name} = {binding}` of {{0}} is not a multiple of a tile plus a "
                f"position in it, where the loops of the tile are {inside}",
                at=[realize],
                hint="split and reorder the loops so that the inner ones make up a tile",
            )
        divisions.append(division)
    return divisions


def inner_half(
    realize: BlockRealize,
    loops: Sequence[For],
    divisions: Sequence[Division],
    outer: Sequence[Expr],
    keep_unit: bool,
) -> Inner:
    """The inner block, with its loops as they are.

    Args:
        realize: the block that is cut.
        loops: the loops that come into the outer block.
        divisions: its divided bindings.
        outer: the iterators of the outer block, one for each division.
        keep_unit: whether it keeps iterators that have one value.
    """
    iterators: list[IterVar] = []
    values: list[Expr] = []
    variables: dict[Var, Expr] = {}
    analyzer = Analyzer()
    for old, division, outer_value in zip(realize.block.iter_vars, divisions, outer, strict=True):
        part = division.inner
        inner_value = part.domain.min
        if not (part.is_trivial or (is_const_int(part.domain.extent, 1) and not keep_unit)):
            inner_value = Var(f"{old.var.name}_i", old.var.dtype)
            iterators.append(IterVar(part.domain, inner_value, old.iter_type))
            values.append(part.value)
        if is_const_int(division.outer.domain.extent, 1):
            outer_value = division.outer.domain.min
        variables[old.var] = analyzer.simplify(division.joined(outer_value, inner_value))
    block = reindexed(realize.block.replace(iter_vars=()), variables, analyzer)
    block = block.replace(iter_vars=tuple(iterators))
    return Inner(tuple(loops), tuple(values), realize.predicate, block, realize)


def detached(tree: FunctionTree, place: Stmt, inner: Inner, iterators: Mapping[Var, Expr]) -> Inner:
    """An inner half in which loops around `place` are replaced by iterators of the outer block.

    Args:
        place: what the outer block stands for.
        inner: the inner half.
        iterators: what the iterators of the outer block are bound to.
    """
    around = tree.loops_above(place)
    names = {loop.loop_var: loop for loop in around}
    used = {var for loop in inner.loops for e in (loop.min, loop.extent) for var in variables_of(e)}
    used |= set(variables_of(inner.predicate))
    used &= names.keys()
    if not used:
        return inner
    known = loops_from_iterators(iterators, around, tree.analyzer(place))
    for var in used - known.keys():
        if not is_const_int(names[var].extent, 1):
            raise ScheduleError(
                "what is inside of {1} depends on {0}, whose variable no iterators of {1} give",
                at=[names[var], inner.source],
            )
        known[var] = names[var].min
    loops = tuple(
        loop.replace(min=substitute(loop.min, known), extent=substitute(loop.extent, known))
        for loop in inner.loops
    )
    return inner._replace(loops=loops, predicate=substitute(inner.predicate, known))


def outer_analyzer(tree: FunctionTree, place: Stmt, outer: Block) -> Analyzer:
    """What is known in an outer block that stands for `place`."""
    analyzer = tree.analyzer(tree.scope(place).block)
    bind_scope(analyzer, outer)
    return analyzer


def separated(predicate: Expr, loops: Sequence[For]) -> tuple[Expr, Expr]:
    """The part of a condition that does not depend on the loops, and the rest."""
    inside = {loop.loop_var for loop in loops}
    free, bound = [], []
    for condition in conjuncts(predicate):
        (bound if inside & set(variables_of(condition)) else free).append(condition)
    return conjunction(*free), conjunction(*bound)
