"""The loops of a stage, with the stages that are computed inside of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tilewright.arith import Analyzer
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr, attributes
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.te.operation import ComputeOp
from tilewright.te.schedule.buffer_layouts import window_of
from tilewright.te.schedule.infer_bound import Bounds
from tilewright.te.schedule.relation import Values, domain, guards_of, values_above
from tilewright.te.schedule.stage import Stage
from tilewright.tir.buffer import ZERO, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import Block, BlockRealize, For, ForKind, Stmt, seq
from tilewright.tir.substitute import substitute

TRUE = IntImm(BOOL, 1)

InLoop = Callable[[Stage, IterVar, Stmt], Stmt]
"""From the body of a loop to the body with what else is computed in the loop."""


class Nest:
    """The loops of the stage of a te.compute; `in_loop` adds what else is in the body of a loop."""

    def __init__(self, stage: Stage, bounds: Bounds, in_loop: InLoop) -> None:
        assert isinstance(stage.op, ComputeOp)
        self._stage, self._op, self._in_loop = stage, stage.op, in_loop
        self._window = window_of(stage, bounds)
        self._ranges, self._loop_domains, self._values = bounds.stages[stage]
        self._analyzer = bounds.analyzer(stage)
        for var, dom in self._loop_domains.values():
            self._analyzer.bind_range(var, dom.min, dom.extent)
        self.leaves = [
            leaf for leaf in stage.leaf_iter_vars if not bounds.attachments.is_step(stage, leaf)
        ]

    def elements(self, blocks: list[Block]) -> Stmt:
        """The nest of a computation without reduction."""
        return self._around(self.leaves, self._realize(blocks, self._op.axis, self._values))

    def whole_reduction(self, block: Block) -> Stmt:
        """The nest of a reduction whose block has its initialisation."""
        axes = (*self._op.axis, *self._op.reduce_axis)
        return self._around(self.leaves, self._realize([block], axes, self._values))

    def reduction(self, init: Block, update: Block) -> Stmt:
        """The nest of a reduction: initialisation, then updates, in their common loops."""
        op, stage = self._op, self._stage
        first = next(
            (i for i, leaf in enumerate(self.leaves) if stage.is_reduction(leaf)),
            len(self.leaves),
        )
        common, inner = self.leaves[:first], self.leaves[first:]
        inside = set(inner)
        init_values = {leaf: v for leaf, v in self._values.items() if leaf not in inside}
        init_loops: list[tuple[IterVar, Var, Range]] = []
        for axis in initialised_along(stage, inner):
            start, extent = self._ranges[axis].min, self._ranges[axis].extent
            var = Var(f"{axis.name}_init", extent.dtype)
            dom = Range.from_extent(extent)
            self._analyzer.bind_range(var, dom.min, extent)
            init_values[axis] = var if is_const_int(start, 0) else as_expr(start + var)
            init_loops.append((axis, var, dom))
        initialise = self._realize([init], op.axis, init_values)
        for axis, var, dom in reversed(init_loops):
            kinds = stage.kinds if axis in inside else {}
            initialise = self._loop(axis, var, dom, initialise, kinds)
        accumulate = self._around(
            inner, self._realize([update], (*op.axis, *op.reduce_axis), self._values)
        )
        return self._around(common, seq(initialise, accumulate))

    def tensorized(self, leaves: list[IterVar], init: Stmt | None, update: Stmt) -> Stmt:
        """A nest of the first `leaves` only; the statements mention their loop variables."""
        if init is None:
            return self._around(leaves, update)
        first = next(i for i, leaf in enumerate(leaves) if self._stage.is_reduction(leaf))
        common, inner = leaves[:first], leaves[first:]
        for leaf in reversed(inner):
            if not self._stage.is_reduction(leaf):
                var, dom = self._loop_domains[leaf]
                fresh = Var(f"{leaf.name}_init", var.dtype)
                body = substitute(init, {var: fresh})
                init = self._loop(leaf, fresh, dom, body, self._stage.kinds)
        return self._around(common, seq(init, self._around(inner, update)))

    def _around(self, leaves: list[IterVar], body: Stmt) -> Stmt:
        """`body` in the loops `leaves`, with what else is computed in them."""
        for leaf in reversed(leaves):
            body = self._in_loop(self._stage, leaf, body)
            body = self._loop(
                leaf, *self._loop_domains[leaf], body, self._stage.kinds, self._stage.pragmas
            )
        return body

    def _loop(
        self,
        leaf: IterVar,
        var: Var,
        dom: Range,
        body: Stmt,
        kinds: Mapping[IterVar, ForKind],
        annotations: Mapping[IterVar, Any] | None = None,
    ) -> Stmt:
        kind, thread = kinds.get(leaf, ForKind.SERIAL), None
        if kind is ForKind.THREAD_BINDING:
            thread = thread_index(self._stage.threads[leaf])
        notes = attributes(None if annotations is None else annotations.get(leaf))
        return For(var, dom.min, dom.extent, kind, body, thread, notes)

    def _realize(self, blocks: list[Block], axes: tuple[IterVar, ...], leaves: Values) -> Stmt:
        """The instances of `blocks`, whose iterators stand for `axes`."""
        values, predicate = self._bindings(leaves)
        bindings = tuple(values[axis] for axis in axes) or (ZERO,)
        return seq(BlockRealize(bindings, predicate, block) for block in blocks)

    def _bindings(self, leaves: Values) -> tuple[Values, Expr]:
        """The values of all iteration variables, and when they are in their domains."""
        values = values_above(self._stage.relations, self._ranges, leaves)
        simplify = self._analyzer.simplify
        guards = guards_of(self._stage.relations, self._ranges, values)
        for axis in self._op.axis:
            if self._ranges[axis] is not domain(axis):
                guards += in_domain(values[axis], axis, self._analyzer)
        if self._window is not None:
            guards.append(self._window.is_new(values))
        predicate: Expr = TRUE
        for guard in guards:
            predicate = logical_and(predicate, simplify(guard))
        if self._stage.relations or self._is_moved():
            values = {axis: simplify(value) for axis, value in values.items()}
        return values, predicate

    def _is_moved(self) -> bool:
        return any(self._ranges[axis] is not domain(axis) for axis in self._op.axis)


def thread_index(thread: IterVar) -> IterVar:
    """What a loop is bound to, for a thread axis of a schedule."""
    return IterVar(None, Var("", thread.dtype), IterType.THREAD_INDEX, thread.thread_tag)


def in_domain(value: Expr, axis: IterVar, analyzer: Analyzer) -> list[Expr]:
    """What must hold so that an axis is in its domain, as far as it is not known."""
    dom = domain(axis)
    conditions = [value >= dom.min, value < dom.min + dom.extent]
    return [condition for condition in conditions if not analyzer.can_prove(condition)]


def initialised_along(stage: Stage, inner: list[IterVar]) -> list[IterVar]:
    """The loops in which the elements that the loops `inner` reduce into are initialised.

    These are the data-parallel loops of `inner`. A loop that is fused of both kinds is replaced by
    the data-parallel loops that it is made of.
    """
    data = _data_parallel(stage)
    found = [leaf for leaf in inner if leaf in data]
    for relation in reversed(stage.relations):
        mixed = {axis for axis in relation.children if axis in data and stage.is_reduction(axis)}
        if mixed:
            parents = [axis for axis in relation.parents if axis in data]
            first = next((i for i, axis in enumerate(found) if axis in mixed), len(found))
            found = [axis for axis in found if axis not in mixed]
            found[first:first] = parents
    return found


def mixed_loops(stage: Stage) -> list[IterVar]:
    """The loops that are fused of both data-parallel and reduction axes."""
    data = _data_parallel(stage)
    return [leaf for leaf in stage.leaf_iter_vars if leaf in data and stage.is_reduction(leaf)]


def _data_parallel(stage: Stage) -> set[IterVar]:
    """The iteration variables that come from a data-parallel axis, alone or fused."""
    assert isinstance(stage.op, ComputeOp)
    found = set(stage.op.axis)
    for relation in stage.relations:
        if any(parent in found for parent in relation.parents):
            found.update(relation.children)
    return found
