"""The default schedule for what is built."""

from __future__ import annotations

import warnings

from tilewright.error import NestingError
from tilewright.ir.cache import clear_caches
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Call, Expr
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk
from tilewright.ir.transform import ModulePass
from tilewright.schedule_rules.eligible import IS_SCHEDULED, lacks_threads, may_schedule
from tilewright.target import Target
from tilewright.target.kinds import KERNEL_KINDS
from tilewright.te.index_dtype import override_index_dtype
from tilewright.tir.call_boundary.overlapping import (
    IF_OVERLAPPING,
    can_be_asked,
    takes_distinct_buffers,
)
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For


class DefaultSchedule(ModulePass):
    """Schedule the functions that have no schedule of their own; see `default_schedule`.

    Functions that the rules cannot schedule stay as they are, with a `RuntimeWarning`.

    Args:
        target: what the functions are built for; those for ``c`` stay as they are, and so they do
            where the option ``tir.default_schedule`` is off.
    """

    name = "tir.DefaultSchedule"
    opt_level = 1

    def __init__(self, target: Target) -> None:
        self._target = target

    @classmethod
    def applies(cls, target: Target) -> bool:
        """Whether functions for `target` are scheduled in the current `PassContext`."""
        context = PassContext.current()
        is_on = context.option("tir.default_schedule") and context.runs(cls.name, cls.opt_level)
        return target.kind.name in ("llvm", *KERNEL_KINDS) and is_on

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        if not self.applies(self._target):
            return mod
        is_wanted = may_schedule if self._target.kind.name == "llvm" else lacks_threads
        chosen = {
            var: _with_one_index_dtype(func)
            for var, func in mod.functions.items()
            if is_wanted(func) and (takes_distinct_buffers(func) or _can_be_asked(func, var, mod))
        }
        scheduled = self._scheduled(chosen) if chosen else None
        if scheduled is None:
            return mod
        functions = dict(mod.functions)
        for var, func in chosen.items():
            functions[var] = scheduled[var.name_hint]
            if not takes_distinct_buffers(func):
                functions |= _for_both(var, func, scheduled[var.name_hint], mod)
        return IRModule(functions, mod.attrs, mod.global_infos)

    def _scheduled(self, functions: dict[GlobalVar, PrimFunc]) -> IRModule | None:
        """Functions with their default schedule; None, with a warning, if that failed.

        Products whose rows may be a single one, or a few, have versions for that.
        """
        from tilewright.schedule_rules import few_rows as rows

        if self._target.kind.name != "llvm":
            return _scheduled(functions, self._target)
        machine, versions = self._target.machine, dict(functions)
        cases: list[tuple[GlobalVar, GlobalVar, Expr]] = []
        for var, func in functions.items():
            sizes = rows.sizes_of_rows(func, machine)
            for most in reversed(rows.counts_of_few_rows(func, machine) if sizes else []):
                few = GlobalVar(f"{var.name_hint}.at_most_{most}_rows")
                versions[few] = rows.with_few_rows(func, most)
                cases.append((var, few, rows.are_few_rows(sizes, most)))
            if sizes:
                one = GlobalVar(f"{var.name_hint}.one_row")
                versions[one] = rows.with_one_row(func, sizes)
                cases.append((var, one, rows.is_one_row(sizes)))
        scheduled = _scheduled(versions, self._target)
        if scheduled is None or not cases:
            return scheduled
        for var, other, condition in cases:
            whole = rows.joined(scheduled[var.name_hint], scheduled[other.name_hint], condition)
            scheduled.update_func(scheduled.get_global_var(var.name_hint), whole)
        return scheduled


def _scheduled(functions: dict[GlobalVar, PrimFunc], target: Target) -> IRModule | None:
    """Functions with their default schedule; None, with a warning, if a step of it is refused."""
    # The proofs take long to load, and functions with a schedule need none.
    from tilewright.schedule_rules.default import default_schedule
    from tilewright.tir.schedule import ScheduleError

    try:
        return default_schedule(IRModule(functions), target).mod
    except (ScheduleError, NestingError) as error:
        warnings.warn(f"tvm.build: no default schedule: {error}", RuntimeWarning, stacklevel=4)
        return None
    finally:
        clear_caches()  # the versions of the program in between are of no use any more


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
