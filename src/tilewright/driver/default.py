"""The default schedule for what is built."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.driver.lowering import as_module
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Call
from tilewright.ir.function import GlobalVar
from tilewright.ir.module import IRModule
from tilewright.ir.recent import forget
from tilewright.ir.recursion import pass_on_recursion_error
from tilewright.ir.rewrite import walk
from tilewright.ir.transform import PassContext
from tilewright.schedule_rules.eligible import IS_SCHEDULED, may_schedule
from tilewright.target import Target
from tilewright.te.index_dtype import override_index_dtype
from tilewright.te.schedule import Schedule
from tilewright.te.schedule.untouched import unscheduled_function
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For
from tilewright.tir.transform.overlapping import IF_OVERLAPPING, can_be_asked
from tilewright.tir.transform.user_options import takes_distinct_buffers


def unscheduled_module(
    schedule: Schedule,
    args: Sequence[Any] | None,
    target: Target,
    name: str,
    binds: Mapping[Tensor, Buffer] | None,
) -> IRModule | None:
    """What a `te.Schedule` computes, for the default schedule; None if that is not for it.

    Args:
        schedule: the schedule.
        args: the parameters.
        target: what it is built for.
        name: of the function.
        binds: buffers for some of the tensors.
    """
    if args is None or not _is_wanted(target):
        return None
    func = unscheduled_function(schedule, args, name, binds)
    return None if func is None else as_module(func, name)


def _is_wanted(target: Target) -> bool:
    return target.kind.name == "llvm" and PassContext.current().option("tir.default_schedule")


def with_default_schedule(module: IRModule, target: Target) -> IRModule | None:
    """A module whose functions without a schedule are scheduled; None if there are none.

    Args:
        module: the functions.
        target: what they are built for.
    """
    if not _is_wanted(target):
        return None
    chosen = {
        var: _with_one_index_dtype(func)
        for var, func in module.functions.items()
        if may_schedule(func) and (takes_distinct_buffers(func) or _can_be_asked(func, var, module))
    }
    if not chosen:
        return None
    # The proofs take long to load, and functions with a schedule need none.
    from tilewright.schedule_rules.default import default_schedule

    try:
        scheduled = default_schedule(IRModule(chosen), target).mod
    except Exception as error:  # a schedule that fails must not fail the build
        pass_on_recursion_error(error)
        warnings.warn(f"tvm.build: no default schedule: {error}", RuntimeWarning, stacklevel=4)
        return None
    finally:
        forget()  # the versions of the program in between are of no use any more
    functions = dict(module.functions)
    for var, func in chosen.items():
        functions[var] = scheduled[var.name_hint]
        if not takes_distinct_buffers(func):
            functions |= _for_both(var, func, scheduled[var.name_hint], module)
    return IRModule(functions, module.attrs, module.global_infos)


def _with_one_index_dtype(func: PrimFunc) -> PrimFunc:
    """`func` with int64 for all indices, if it is so for some.

    Where types are mixed, casts stand between a loop and the index that it counts.
    """
    found = {node.loop_var.dtype for node in walk(func.body) if isinstance(node, For)}
    return override_index_dtype(func, INT64) if len(found) > 1 and INT64 in found else func


def _can_be_asked(func: PrimFunc, var: GlobalVar, module: IRModule) -> bool:
    """Whether a call tells if parameters overlap: each call comes from outside of the module."""
    if func.global_symbol is None or not can_be_asked(func):
        return False
    functions = [f for f in module.functions.values() if isinstance(f, PrimFunc)]
    return not any(
        isinstance(node, Call)
        and isinstance(node.op, GlobalVar)
        and node.op.name_hint == var.name_hint
        for caller in functions
        for node in walk(caller.body)
    )


def _for_both(
    var: GlobalVar, written: PrimFunc, scheduled: PrimFunc, module: IRModule
) -> dict[GlobalVar, PrimFunc]:
    """A function that runs as it is written where its parameters overlap.

    Steps of a schedule move what reads one parameter past what writes another one.
    """
    name = f"{var.name_hint}_as_written"
    while any(other.name_hint == name for other in module.functions):
        name += "_"
    return {
        var: scheduled.with_attrs({"tir.noalias": True, IF_OVERLAPPING: name}),
        GlobalVar(name): written.without_attr("global_symbol").with_attr(IS_SCHEDULED, True),
    }
