"""The functions of this package under one name, as programs import them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.driver.building import build
from tilewright.driver.lowering import lower
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.te.schedule import Schedule, schedule_to_prim_func
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer

__all__ = ["build", "lower", "schedule_to_module"]


def schedule_to_module(
    sch: Schedule,
    args: Sequence[Any] | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
) -> IRModule:
    """The statements of a schedule as a function `name`, before it is lowered.

    Args:
        sch: the schedule.
        args: the parameters: tensors and scalar variables.
        name: of the function.
        binds: buffers to use for some of the tensors.
    """
    return IRModule({GlobalVar(name): schedule_to_prim_func(sch, list(args or ()), name, binds)})
