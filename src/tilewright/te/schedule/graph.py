"""The graph of operations: other inputs, expressions in the place of tensors, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tilewright.error import TEScheduleError
from tilewright.ir.expr import Expr
from tilewright.ir.rewrite import Rewriter
from tilewright.te.operation import ComputeOp, ExternOp, Operation, ScanOp, topological_order
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import Tensor
from tilewright.tir.expr import ProducerLoad, Reduce
from tilewright.tir.substitute import substitute

if TYPE_CHECKING:
    from tilewright.te.schedule.schedule import Schedule

Tensors = Mapping[Tensor, Tensor]


def with_body(op: ComputeOp, rewritten: Callable[[Expr], Expr]) -> ComputeOp:
    """`op` with another body; `op` itself if nothing changes."""
    first = rewritten(op.body[0])
    if isinstance(first, Reduce):
        # The components of a reduction share their sources.
        body: tuple[Expr, ...] = tuple(
            first.replace(value_index=index) for index in range(len(op.body))
        )
        unchanged = first is op.body[0]
    else:
        body = (first, *map(rewritten, op.body[1:]))
        unchanged = all(new is old for new, old in zip(body, op.body, strict=True))
    return op if unchanged else ComputeOp(op.name, op.tag, op.attrs, op.axis, body)


class LoadRewriter(Rewriter):
    """Replaces elements of tensors."""

    def __init__(self, replaced: Callable[[ProducerLoad], Expr]) -> None:
        self._replaced = replaced

    def ProducerLoad(self, load: ProducerLoad) -> Expr:
        return self._replaced(load.map_children(self))


def replace_inputs(op: Operation, tensors: Tensors) -> Operation:
    """`op` reading other tensors; `op` itself if it reads none of those that are replaced."""
    if not any(tensor in tensors for tensor in op.input_tensors):
        return op

    def load(element: ProducerLoad) -> Expr:
        new = tensors.get(element.producer)
        return element if new is None else ProducerLoad(new, element.indices)

    if isinstance(op, ComputeOp):
        return with_body(op, LoadRewriter(load))
    if isinstance(op, ExternOp):
        return ExternOp(
            op.name,
            op.tag,
            op.attrs,
            tuple(tensors.get(tensor, tensor) for tensor in op.inputs),
            op.input_placeholders,
            op.output_placeholders,
            op.body,
        )
    assert isinstance(op, ScanOp)
    init, update, inputs = (
        tuple(tensors.get(tensor, tensor) for tensor in group)
        for group in (op.init, op.update, op.inputs)
    )
    return ScanOp(
        op.name, op.tag, op.attrs, op.scan_axis, init, update, op.state_placeholder, inputs
    )


def replace_tensors(
    stages: Iterable[Stage], tensors: dict[Tensor, Tensor], readers: Iterable[Stage] | None = None
) -> None:
    """Make stages read other tensors, and what follows from that.

    An operation that reads another tensor is a new operation with new results, so its readers
    change too: what follows is added to `tensors`. Only the stages `readers` read the replaced
    tensors; by default all of them.
    """
    first = set(tensors) if readers is not None else set()
    chosen = set(readers or ())
    for stage in stages:
        if stage.is_group:
            continue
        op = stage.op
        visible = {old: new for old, new in tensors.items() if old not in first or stage in chosen}
        changed = replace_inputs(op, visible)
        if changed is not op:
            tensors.update(zip(op.outputs, changed.outputs, strict=True))
            stage.op = changed


def inline(producer: ComputeOp, op: Operation) -> Operation:
    """`op` with the expressions of `producer` in the place of its elements.

    Returns:
        A new operation, or `op` itself if it does not read `producer` by elements.
    """
    if not isinstance(op, ComputeOp) or not any(t.op is producer for t in op.input_tensors):
        return op

    def load(element: ProducerLoad) -> Expr:
        if element.producer.op is not producer:
            return element
        values = {
            axis.var: index for axis, index in zip(producer.axis, element.indices, strict=True)
        }
        return substitute(producer.body[element.producer.value_index], values)

    return with_body(op, LoadRewriter(load))


def create_group(schedule: Schedule, outputs: Any, inputs: Any, include_inputs: bool) -> Stage:
    """See `Schedule.create_group`."""
    last, first = _operations(schedule, outputs), _operations(schedule, inputs)
    members = [schedule[op] for op in _between(last, first, include_inputs)]
    if not members:
        raise TEScheduleError("create_group: there is no stage between the inputs and the outputs")
    outer = members[0].group
    for stage in members:
        if stage.group is not outer:
            raise stage.error("create_group", "it is in another group than the others already")
        if stage.is_output:
            raise stage.error("create_group", "it is an output, which is computed at the root")
    name = f"group of {', '.join(stage.name for stage in members)}"
    group = Stage(schedule, None, False, name)
    group.group = outer
    for stage in members:
        stage.group = group
    schedule.groups.append(group)
    return group


def _operations(schedule: Schedule, items: Any) -> list[Operation]:
    listed = items if isinstance(items, (tuple, list)) else [items]
    return [schedule[item].op for item in listed]


def _between(
    outputs: list[Operation], inputs: list[Operation], include_inputs: bool
) -> list[Operation]:
    """The operations that outputs depend on and that depend on inputs, the outputs included."""
    start, reached, members = set(inputs), set(), []
    for op in topological_order([tensor for output in outputs for tensor in output.outputs]):
        if op in start:
            reached.add(op)
            if include_inputs:
                members.append(op)
        elif any(tensor.op in reached for tensor in op.input_tensors):
            reached.add(op)
            members.append(op)
    return members
