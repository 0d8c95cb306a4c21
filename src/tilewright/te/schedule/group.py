"""Groups of stages that are computed in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.error import TEScheduleError
from tilewright.te.operation import Operation, topological_order
from tilewright.te.schedule.stage import Stage

if TYPE_CHECKING:
    from tilewright.te.schedule.schedule import Schedule


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
