"""Copies of tensors in other memory: stages that read a tensor for others, or write it for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.arith import Analyzer
from tilewright.error import TEScheduleError
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.te.compute import compute
from tilewright.te.operation import ComputeOp, PlaceholderOp
from tilewright.te.schedule.graph import replace_tensors, with_body
from tilewright.te.schedule.relation import domain, guards_of, values_above, values_below
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import Tensor
from tilewright.tir.expr import IterType, IterVar, ProducerLoad, Reduce
from tilewright.tir.op import if_then_else
from tilewright.tir.substitute import substitute

if TYPE_CHECKING:
    from tilewright.te.schedule.schedule import Schedule


def cache_read(schedule: Schedule, tensor: Tensor, scope: str, readers: Any) -> Tensor:
    """See `Schedule.cache_read`."""
    source = schedule.current(tensor)
    stage = schedule[tensor]
    chosen = _readers(schedule, source, readers)
    name = f"{tensor.name}_{_suffix(stage, 'cache_read', scope)}"
    cache = compute(source.shape, lambda *ax: source(*ax), name, varargs_names=_axes(source.ndim))
    added = schedule.insert_stage(cache.op, schedule.stages.index(stage) + 1, stage.group)
    added.scope = scope
    replace_tensors(schedule.stages, {source: cache}, chosen)
    schedule.index_stages()
    return cache


def _axes(ndim: int) -> list[str]:
    return [f"ax{position}" for position in range(ndim)]


def _suffix(stage: Stage, primitive: str, scope: Any) -> str:
    if not isinstance(scope, str) or not scope:
        raise stage.error(primitive, f"the scope must be a name such as 'local', got {scope!r}")
    return scope.replace(".", "_")


def _readers(schedule: Schedule, source: Tensor, readers: Any) -> list[Stage]:
    """The stages of the given readers, which must read `source`."""
    items = list(readers) if isinstance(readers, (tuple, list)) else [readers]
    if not items:
        raise schedule[source].error("cache_read", "no reader is given")
    stages = [schedule[item] for item in items]
    for stage in stages:
        if source not in stage.op.input_tensors:
            raise schedule[source].error(
                "cache_read", f"stage {stage.name} does not read {source.name}"
            )
    return stages


def cache_write(schedule: Schedule, tensor: Any, scope: str) -> Any:
    """See `Schedule.cache_write`."""
    several = isinstance(tensor, (tuple, list))
    tensors = [schedule.current(t) for t in (tensor if several else (tensor,))]
    if not tensors:
        raise TEScheduleError("cache_write: no tensor is given")
    stage = schedule[tensors[0]]
    op = _cacheable(stage, tensors)
    suffix = _suffix(stage, "cache_write", scope)
    layout = _CacheLayout(stage, op)
    body = with_body(op, layout.rewritten).body
    cache = ComputeOp(f"{op.name}_{suffix}", op.tag, op.attrs, layout.axis, body)
    elements = tuple(ProducerLoad(output, layout.position()) for output in cache.outputs)
    copy = ComputeOp(op.name, "", op.attrs, op.axis, elements)
    added = schedule.insert_stage(cache, schedule.stages.index(stage), stage.group)
    added.scope = scope
    stage.restart(copy)
    replace_tensors(schedule.stages, dict(zip(op.outputs, copy.outputs, strict=True)))
    schedule.index_stages()
    return list(cache.outputs) if several else cache.output(0)


def _cacheable(stage: Stage, tensors: Sequence[Tensor]) -> ComputeOp:
    op = stage.op
    if not isinstance(op, ComputeOp):
        kind = "an input" if isinstance(op, PlaceholderOp) else "no te.compute"
        raise stage.error("cache_write", f"it is {kind}, whose writes cannot be cached")
    if len(tensors) != op.num_outputs or any(t.op is not op for t in tensors):
        raise stage.error(
            "cache_write",
            f"all {op.num_outputs} outputs of the operation must be given, got "
            f"{[t.name for t in tensors]}",
        )
    marked = dict.fromkeys((*stage.kinds, *stage.pragmas, *stage.tensor_intrins))
    if marked:
        names = ", ".join(leaf.name for leaf in marked)
        raise stage.error(
            "cache_write", f"what was done to loops ({names}) would be lost; cache first"
        )
    return op


class _CacheLayout:
    """The dimensions of a cache: the data-parallel loops of the stage that it is for.

    A stage that has been split or reordered before gets a cache in the order of its loops.
    """

    def __init__(self, stage: Stage, op: ComputeOp) -> None:
        self._stage, self._op = stage, op
        self._ranges = {axis: domain(axis) for axis in stage.all_iter_vars}
        loops = [leaf for leaf in stage.leaf_iter_vars if not stage.is_reduction(leaf)]
        reduced = set(op.reduce_axis)
        for leaf in stage.leaf_iter_vars:
            if stage.is_reduction(leaf) and leaf not in reduced:
                raise stage.error(
                    "cache_write",
                    f"reduction loop {leaf.name} has been made by a split or fuse, which would be "
                    "lost; cache first and transform the loops of the cache",
                )
        self.axis = tuple(
            IterVar(domain(leaf), Var(f"{leaf.name}_c", leaf.dtype), IterType.DATA_PAR)
            for leaf in loops
        )
        leaves: dict[IterVar, Expr] = {
            leaf: axis.var for leaf, axis in zip(loops, self.axis, strict=True)
        }
        leaves.update((axis, axis.var) for axis in op.reduce_axis)
        values = values_above(stage.relations, self._ranges, leaves)
        analyzer = Analyzer()
        for axis in self.axis:
            analyzer.bind(axis.var, domain(axis))
        self._variables = {axis.var: analyzer.simplify(values[axis]) for axis in op.axis}
        self._loops = loops
        self._inside: Expr = const(True, BOOL)
        for guard in guards_of(stage.relations, self._ranges, values):
            self._inside = logical_and(self._inside, analyzer.simplify(guard))

    def rewritten(self, expr: Expr) -> Expr:
        """What the cache holds for `expr`; nothing in particular outside of the tensor."""
        changed = substitute(expr, self._variables)
        if is_const_int(self._inside, 1):
            return changed
        if isinstance(changed, Reduce):
            neutral = changed.combiner.identity_element[: len(changed.init)]
            init = tuple(
                if_then_else(self._inside, start, other)
                for start, other in zip(changed.init, neutral, strict=True)
            )
            condition = logical_and(self._inside, changed.condition)
            return changed.replace(condition=condition, init=init)
        return if_then_else(self._inside, changed, const(0, changed.dtype))

    def position(self) -> tuple[Expr, ...]:
        """Where in the cache an element of the tensor is."""
        axes = {axis: axis.var for axis in self._op.axis}
        values = values_below(self._stage.relations, self._ranges, axes)
        analyzer = Analyzer()
        for axis in self._op.axis:
            analyzer.bind(axis.var, domain(axis))
        return tuple(analyzer.simplify(values[leaf]) for leaf in self._loops)
