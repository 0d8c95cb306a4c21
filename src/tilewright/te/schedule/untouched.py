"""The function of a schedule on which no primitive has been applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.te.create_prim_func import FunctionBuilder
from tilewright.te.operation import topological_order
from tilewright.te.schedule.schedule import Schedule
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
    is_touched = not schedule.history.is_empty
    if is_touched or any(tensor.op not in schedule.stage_map for tensor in tensors):
        return None
    builder = FunctionBuilder("tvm.lower", args, dict(binds or {}))
    return builder.whole_function(topological_order(tensors), name)
