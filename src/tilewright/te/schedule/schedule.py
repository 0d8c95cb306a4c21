"""A schedule: one stage per operation."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, TEScheduleError
from tilewright.te.operation import Operation, topological_order
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import Tensor


class Schedule:
    """How the loops of a graph of tensors run.

    ``s[C]`` is the stage of the tensor (or operation) C.

    Attributes:
        stages: one per operation, each after those whose results it reads.
        outputs: the operations that the schedule was created for.
        stage_map: from operations to stages.
    """

    def __init__(self, outputs: list[Operation]) -> None:
        self.outputs = outputs
        order = topological_order([tensor for op in outputs for tensor in op.outputs])
        self.stages = [Stage(op, op in outputs) for op in order]
        self.stage_map = {stage.op: stage for stage in self.stages}

    def __getitem__(self, tensor: Tensor | Operation) -> Stage:
        """The stage of a tensor or an operation."""
        op = tensor.op if isinstance(tensor, Tensor) else tensor
        if not isinstance(op, Operation):
            raise ArgumentError(f"a schedule is indexed by a tensor or an operation, got {op!r}")
        stage = self.stage_map.get(op)
        if stage is None:
            names = ", ".join(stage.op.name for stage in self.stages)
            raise TEScheduleError(f"cannot find the stage of {op.name}; the schedule has {names}")
        return stage

    def __repr__(self) -> str:
        return f"te.Schedule({', '.join(map(repr, self.stages))})"


def create_schedule(ops: Any) -> Schedule:
    """A schedule in which every operation has its axes as loops.

    Args:
        ops: the operation (or tensor) to compute, or a list of them. What they depend on gets a
            stage too.

    Raises:
        ArgumentError: if `ops` holds something else.
    """
    items = list(ops) if isinstance(ops, (tuple, list)) else [ops]
    outputs: dict[Operation, None] = {}
    for item in items:
        op = item.op if isinstance(item, Tensor) else item
        if not isinstance(op, Operation):
            raise ArgumentError(f"te.create_schedule: expected operations such as C.op, got {op!r}")
        outputs[op] = None
    if not outputs:
        raise ArgumentError("te.create_schedule: no operation is given")
    return Schedule(list(outputs))
