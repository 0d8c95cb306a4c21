"""The default schedule for what is built."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.driver.lower import as_module
from tilewright.ir.module import IRModule
from tilewright.ir.transform import PassContext
from tilewright.schedule_rules.eligible import may_schedule
from tilewright.target import Target
from tilewright.te.schedule import Schedule
from tilewright.te.schedule.untouched import unscheduled_function
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer


def with_default_schedule(
    inputs: Any,
    args: Sequence[Any] | None,
    target: Target,
    name: str,
    binds: Mapping[Tensor, Buffer] | None,
) -> IRModule | None:
    """The module to build, its functions without a schedule scheduled; None if there is none.

    Args:
        inputs: a `te.Schedule`, a function or a module.
        args: for a schedule, the parameters.
        target: what it is built for.
        name: of the function, if it has none.
        binds: for a schedule, buffers for some of the tensors.
    """
    if target.kind.name != "llvm" or not PassContext.current().option("tir.default_schedule"):
        return None
    if isinstance(inputs, Schedule):
        func = None if args is None else unscheduled_function(inputs, args, name, binds)
        if func is None:
            return None
        module = as_module(func, name)
    elif args is not None or binds is not None:
        return None
    else:
        module = as_module(inputs, name)
    if not any(map(may_schedule, module.functions.values())):
        return None
    # The proofs take long to load, and functions with a schedule need none.
    from tilewright.schedule_rules.default import default_schedule

    try:
        return default_schedule(module, target).mod
    except Exception as error:  # a schedule that fails must not fail the build
        warnings.warn(f"tvm.build: no default schedule: {error}", RuntimeWarning, stacklevel=3)
        return None
