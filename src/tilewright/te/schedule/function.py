"""From a schedule to a tensor program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import TEScheduleError
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.attributes import attributes
from tilewright.ir.expr import Expr, Var
from tilewright.te.block import BlockBuilder
from tilewright.te.create_prim_func import TRUE, FunctionBuilder
from tilewright.te.operation import ComputeOp
from tilewright.te.schedule.relation import domain
from tilewright.te.schedule.schedule import Schedule
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import ZERO, Buffer
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, For, ForKind, Stmt, seq

LoopVars = dict[IterVar, Var]


def schedule_to_prim_func(
    schedule: Schedule,
    args: Sequence[Any],
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
) -> PrimFunc:
    """The tensor program of a schedule, made of blocks.

    The loops of each stage are its `leaf_iter_vars`. The initialisation of a reduction is a block
    of its own, right before the outermost reduction loop, in a copy of the data-parallel loops
    that are inside of it; their names end in ``_init``.

    Args:
        schedule: the schedule.
        args: the parameters: tensors and scalar variables. Other tensors become buffers of the
            function.
        name: of the function.
        binds: buffers to use for some of the tensors.

    Raises:
        ArgumentError: if an input, or a size that no parameter's shape mentions, is not listed.
    """
    builder = _ScheduledFunctionBuilder(schedule, args, dict(binds or {}))
    body = builder.statements(stage.op for stage in schedule.stages)
    attrs = {"from_legacy_te_schedule": True, "global_symbol": name, "tir.noalias": True}
    return builder.function(body, attributes(attrs))


class _ScheduledFunctionBuilder(FunctionBuilder):
    def __init__(
        self, schedule: Schedule, args: Sequence[Any], binds: dict[Tensor, Buffer]
    ) -> None:
        FunctionBuilder.__init__(self, "tvm.lower", args, binds)
        self._schedule = schedule

    def compute(self, op: ComputeOp, bound: Mapping[IterVar, Var]) -> Stmt:
        stage = self._schedule[op]
        blocks = BlockBuilder(op, self.buffers, self.sizes, dict.fromkeys(bound, IterType.ORDERED))
        nest = _Nest(stage, bound)
        if op.reduction is None:
            named = [
                blocks.element(self.unique_name(tensor.name), index)
                for index, tensor in enumerate(op.outputs)
            ]
            return nest.around(nest.leaves, nest.realize(named, op.axis, nest.loop_vars))
        init = blocks.init(self.unique_name(f"{op.name}_init"))
        update = blocks.update(self.unique_name(f"{op.name}_update"))
        return nest.reduction(op, init, update)


class _Nest:
    """The loops of a stage."""

    def __init__(self, stage: Stage, bound: Mapping[IterVar, Var]) -> None:
        self._stage = stage
        leaves = set(stage.leaf_iter_vars)
        for axis in bound:
            if axis not in leaves:
                raise TEScheduleError(
                    f"stage {stage.op.name}: {axis.name} is the step of a te.scan and cannot be "
                    "split or fused"
                )
        self.leaves = [leaf for leaf in stage.leaf_iter_vars if leaf not in bound]
        # Not the variables of the leaves: two operations may reduce over the same axis.
        self.loop_vars: LoopVars = {leaf: Var(leaf.name, leaf.dtype) for leaf in self.leaves}
        self.loop_vars |= bound

    def reduction(self, op: ComputeOp, init: Block, update: Block) -> Stmt:
        """The nest of a reduction: initialisation, then updates, in their common loops."""
        first = next(
            (i for i, leaf in enumerate(self.leaves) if self._stage.is_reduction(leaf)),
            len(self.leaves),
        )
        common, inner = self.leaves[:first], self.leaves[first:]
        data = _data_parallel(op, self._stage)
        repeated = [leaf for leaf in inner if leaf in data]
        init_vars = dict(self.loop_vars)
        for leaf in inner:
            del init_vars[leaf]
        init_vars |= {leaf: Var(f"{leaf.name}_init", leaf.dtype) for leaf in repeated}
        initialise = self._loops(repeated, init_vars, self.realize([init], op.axis, init_vars), {})
        accumulate = self.around(
            inner, self.realize([update], (*op.axis, *op.reduce_axis), self.loop_vars)
        )
        return self.around(common, seq(initialise, accumulate))

    def around(self, leaves: list[IterVar], body: Stmt) -> Stmt:
        """`body` in the loops `leaves`, with their annotations."""
        return self._loops(leaves, self.loop_vars, body, self._stage.pragmas)

    def _loops(
        self,
        leaves: list[IterVar],
        loop_vars: LoopVars,
        body: Stmt,
        annotations: Mapping[IterVar, Any],
    ) -> Stmt:
        for leaf in reversed(leaves):
            dom, kind = domain(leaf), self._stage.kinds.get(leaf, ForKind.SERIAL)
            notes = attributes(annotations.get(leaf))
            body = For(loop_vars[leaf], dom.min, dom.extent, kind, body, None, notes)
        return body

    def realize(self, blocks: list[Block], axes: tuple[IterVar, ...], loop_vars: LoopVars) -> Stmt:
        """The instances of `blocks`, whose iterators stand for `axes`, in the given loops."""
        values, predicate = self._bindings(loop_vars)
        bindings = tuple(values[axis] for axis in axes) or (ZERO,)
        return seq(BlockRealize(bindings, predicate, block) for block in blocks)

    def _bindings(self, loop_vars: LoopVars) -> tuple[dict[IterVar, Expr], Expr]:
        """The values of all iteration variables, and when they are in their domains."""
        values: dict[IterVar, Expr] = dict(loop_vars)
        guards: list[Expr] = []
        for relation in reversed(self._stage.relations):
            if not all(child in values for child in relation.children):
                continue  # a reduction loop, around a block that only initialises
            parents = relation.parent_values(tuple(values[c] for c in relation.children))
            values.update(zip(relation.parents, parents, strict=True))
            guard = relation.guard(parents)
            if guard is not None:
                guards.append(guard)
        if not self._stage.relations:
            return values, TRUE
        analyzer = Analyzer()
        for leaf, loop_var in loop_vars.items():
            analyzer.bind_range(loop_var, domain(leaf).min, domain(leaf).extent)
        values = {axis: analyzer.simplify(value) for axis, value in values.items()}
        predicate: Expr = TRUE
        for guard in reversed(guards):
            predicate = logical_and(predicate, analyzer.simplify(guard))
        return values, predicate


def _data_parallel(op: ComputeOp, stage: Stage) -> set[IterVar]:
    """The iteration variables that come from a data-parallel axis, alone or fused."""
    found = set(op.axis)
    for relation in stage.relations:
        if any(parent in found for parent in relation.parents):
            found.update(relation.children)
    return found
