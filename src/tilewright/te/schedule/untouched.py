"""The function of a schedule on which no primitive has been applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.te.create_prim_func import FunctionBuilder
from tilewright.te.operation import topological_order
from tilewright.te.schedule.schedule import Schedule
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc


def unscheduled_function(
    schedule: Schedule, args: Sequence[Any], name: str, binds: Mapping[Tensor, Buffer] | None
) -> PrimFunc | None:
    """What a schedule computes, as `te.create_prim_func` makes it.

    Args:
        schedule: the schedule.
        args: the parameters: tensors and scalar variables.
        name: of the function.
        binds: buffers to use for some of the tensors.

    Returns:
        The function; None if stages of the schedule have been transformed, or `args` has tensors
        that it does not compute.

    Raises:
        ArgumentError: as `tvm.lower`.
    """
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    if not is_untouched(schedule) or any(t.op not in schedule.stage_map for t in tensors):
        return None
    builder = FunctionBuilder("tvm.lower", args, dict(binds or {}))
    return builder.whole_function(topological_order(tensors), name)


def is_untouched(schedule: Schedule) -> bool:
    """Whether a schedule is as `create_schedule` made it."""
    order = topological_order([tensor for op in schedule.outputs for tensor in op.outputs])
    stages = schedule.stages
    return (
        not schedule.groups
        and len(order) == len(stages)
        and all(stage.op is op for stage, op in zip(stages, order, strict=True))
        and all(map(_is_untouched, stages))
    )


def _is_untouched(stage: Stage) -> bool:
    """Whether all that is known of a stage is what is known of a new one."""
    new = vars(Stage(stage.op, stage.is_output, arguments=stage.arguments))
    return all(value is new[name] or _same(value, new[name]) for name, value in vars(stage).items())


def _same(value: object, other: object) -> bool:
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(a is b for a, b in zip(value, other, strict=True))
    if isinstance(value, dict) or isinstance(other, dict):
        return not value and not other
    return type(value) is type(other) and isinstance(value, (bool, int, str)) and value == other
