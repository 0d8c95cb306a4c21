"""Reductions in two steps: partial results first.

Before::                                  After, with one half of a split of k as `axis`::

    B[i] = sum over k of A[i, k]              B_rf[ki, i] = sum over ko of A[i, ko * 4 + ki]
                                              B[i] = sum over ki of B_rf[ki, i]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.arith import Analyzer
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.te.operation import ComputeOp
from tilewright.te.schedule.graph import replace_tensors
from tilewright.te.schedule.legality import check_factored_order
from tilewright.te.schedule.relation import Relation, Values, domain, guards_of, values_above
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterType, IterVar, ProducerLoad, Reduce
from tilewright.tir.op import if_then_else
from tilewright.tir.substitute import substitute

if TYPE_CHECKING:
    from tilewright.te.schedule.schedule import Schedule


def rfactor(schedule: Schedule, tensor: Tensor, axis: IterVar, factor_axis: int) -> Any:
    """See `Schedule.rfactor`."""
    stage = schedule[schedule.current(tensor)]
    parts = _FactoredReduction(stage, axis, factor_axis)
    op, partial = parts.op, parts.partial()
    total = parts.total(partial)
    added = schedule.insert_stage(partial, schedule.stages.index(stage), stage.group)
    parts.keep_loops(schedule, added)
    stage.restart(total)
    replace_tensors(schedule.stages, dict(zip(op.outputs, total.outputs, strict=True)))
    schedule.index_stages()
    return partial.output(0) if partial.num_outputs == 1 else list(partial.outputs)


class _FactoredReduction:
    """Two operations in the place of a reduction.

    The loops that have been split or fused together with `axis` become reduction axes of the
    partial results; other axes stay as they are, with their loops.
    """

    def __init__(self, stage: Stage, axis: IterVar, factor_axis: int) -> None:
        op = stage.op
        if not isinstance(op, ComputeOp) or op.reduction is None:
            raise stage.error("rfactor", "it is not a reduction")
        self.op, self._reduction = op, op.reduction
        self._stage, self._axis = stage, axis
        self._position = _position(stage, op, axis, factor_axis)
        self._touched, self._connected = _touched(stage, axis)
        if any(leaf in op.axis for leaf in self._touched):
            raise stage.error("rfactor", f"{axis.name} is fused with axes of the result")
        check_factored_order(stage, axis)
        self._dom = Range.from_extent(domain(axis).extent)  # it becomes a dimension
        self._factor = IterVar(self._dom, Var(axis.name, axis.dtype), IterType.DATA_PAR)
        self._copies = {
            leaf: IterVar(domain(leaf), Var(leaf.name, leaf.dtype), IterType.COMM_REDUCE)
            for leaf in stage.leaf_iter_vars
            if leaf in self._touched and leaf is not axis
        }

    def partial(self) -> ComputeOp:
        """The partial results."""
        op, relations = self.op, self._connected
        ranges = {axis: domain(axis) for axis in self._stage.all_iter_vars}
        leaves: Values = {leaf: copy.var for leaf, copy in self._copies.items()}
        leaves[self._axis] = as_expr(self._factor.var + domain(self._axis).min)
        values = values_above(relations, ranges, leaves)
        analyzer = Analyzer()
        for iv in (self._factor, *self._copies.values()):
            analyzer.bind(iv.var, domain(iv))
        variables = {
            axis.var: analyzer.simplify(values[axis])
            for axis in op.reduce_axis
            if axis in self._touched
        }
        condition = substitute(self._reduction.condition, variables)
        for guard in guards_of(relations, ranges, values):
            condition = logical_and(condition, analyzer.simplify(guard))
        source = tuple(substitute(value, variables) for value in self._reduction.source)
        axis = list(op.axis)
        axis.insert(self._position, self._factor)
        body = self._body(source, condition)
        return ComputeOp(f"{op.name}_rf", op.tag, op.attrs, tuple(axis), body)

    def _body(self, source: tuple[Expr, ...], condition: Expr) -> tuple[Expr, ...]:
        combiner = self._reduction.combiner
        rest = (axis for axis in self.op.reduce_axis if axis not in self._touched)
        reduced = (*self._copies.values(), *rest)
        if reduced:
            return tuple(
                Reduce(combiner, source, reduced, condition, index) for index in range(len(source))
            )
        if is_const_int(condition, 1):
            return source
        return tuple(
            if_then_else(condition, value, neutral)
            for value, neutral in zip(source, combiner.identity_element, strict=True)
        )

    def total(self, partial: ComputeOp) -> ComputeOp:
        """The sum of the partial results."""
        op, reduction = self.op, self._reduction
        axis = tuple(
            IterVar(domain(iv), Var(f"ax{position}", iv.dtype), IterType.DATA_PAR)
            for position, iv in enumerate(op.axis)
        )
        name = f"{self._axis.name}_v"
        factor = IterVar(self._dom, Var(name, self._axis.dtype), IterType.COMM_REDUCE)
        indices: list[Expr] = [iv.var for iv in axis]
        indices.insert(self._position, factor.var)
        source = tuple(ProducerLoad(tensor, tuple(indices)) for tensor in partial.outputs)
        renamed = {old.var: new.var for old, new in zip(op.axis, axis, strict=True)}
        init = tuple(substitute(value, renamed) for value in reduction.init)
        body = tuple(
            Reduce(reduction.combiner, source, (factor,), const(True, BOOL), index, init)
            for index in range(len(source))
        )
        return ComputeOp(f"{op.name}_repl", op.tag, op.attrs, axis, body)

    def keep_loops(self, schedule: Schedule, added: Stage) -> None:
        """Give the stage of the partial results the loops, and what is computed in them."""
        stage = self._stage
        loops = {leaf: self._copies.get(leaf, leaf) for leaf in stage.leaf_iter_vars}
        loops[self._axis] = self._factor
        added.relations += [r for r in stage.relations if r not in self._connected]
        added.all_iter_vars += [child for r in added.relations for child in r.children]
        added.leaf_iter_vars = self._order(loops)
        for kept, marks in zip(added.marks, stage.marks, strict=True):
            kept.update((loops[leaf], mark) for leaf, mark in marks.items() if leaf in loops)
        for other in (*schedule.stages, *schedule.groups):
            if other.attach_stage is stage and other.attach_ivar is not None:
                loop = stage.current_loop(other.attach_ivar)
                other.attach_stage, other.attach_ivar = added, loops.get(loop, loop)

    def _order(self, loops: dict[IterVar, IterVar]) -> list[IterVar]:
        """The loops of the partial results: those that there were, and that over the new dimension.

        It is in front of all loops of a reduction, or of dimensions after the new one.
        """
        later = set(self.op.axis[self._position :])
        for relation in self._stage.relations:
            if later.intersection(relation.parents):
                later.update(relation.children)
        kept = [loop for loop in loops.values() if loop is not self._factor]
        behind = (
            p for p, loop in enumerate(kept) if loop in later or self._stage.is_reduction(loop)
        )
        kept.insert(next(behind, len(kept)), self._factor)
        return kept


def _position(stage: Stage, op: ComputeOp, axis: IterVar, factor_axis: int) -> int:
    stage.position("rfactor", axis)
    if axis.iter_type is not IterType.COMM_REDUCE:
        raise stage.error("rfactor", f"{axis.name} is not a reduction axis")
    dimensions = len(op.axis) + 1
    if not isinstance(factor_axis, int) or not -dimensions <= factor_axis < dimensions:
        raise stage.error(
            "rfactor",
            f"factor_axis is {factor_axis!r}, but the partial results have {dimensions} dimensions",
        )
    return factor_axis % dimensions


def _touched(stage: Stage, axis: IterVar) -> tuple[set[IterVar], list[Relation]]:
    """The iteration variables that depend on each other together with `axis`, and how."""
    touched, connected = {axis}, []
    changed = True
    while changed:
        changed = False
        for relation in stage.relations:
            around = {*relation.parents, *relation.children}
            if relation not in connected and around & touched:
                touched |= around
                connected.append(relation)
                changed = True
    return touched, [relation for relation in stage.relations if relation in connected]
