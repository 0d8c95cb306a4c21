"""Putting the best schedules of a database into a program."""

from __future__ import annotations

import contextlib
import logging
from typing import NamedTuple

from tilewright.error import ArgumentError, RecordError, TVMError
from tilewright.ir.module import IRModule
from tilewright.schedule_rules.eligible import marked_as_scheduled
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.schedule import Schedule
from tilewright.tir.schedule.traces.trace import Trace
from tilewright.tune.database import Database
from tilewright.tune.replay import apply_trace, apply_where_possible
from tilewright.tune.workload import normalized

_logger = logging.getLogger(__name__)


class Matches(NamedTuple):
    """What a database has for a program.

    Attributes:
        schedule: of the whole program, with the schedules that were found.
        matched: the functions that a schedule was found for.
        missed: the other tensor programs.
    """

    schedule: Schedule
    matched: list[str]
    missed: list[str]

    def __str__(self) -> str:
        return matches_text(len(self.matched), self.missed)


def matches_text(matched: int, missed: list[str]) -> str:
    """Number of functions with a schedule, and the names of the others."""
    others = f" (nothing for {', '.join(missed)})" if missed else ""
    return f"{matched} of {matched + len(missed)} tasks matched{others}"


def find_schedules(
    database: Database, mod: IRModule | PrimFunc, target: Target | str | None = None
) -> Matches:
    """The best schedule of each function of a module, applied.

    Functions keep their names. A module of several functions that was tuned as a whole is found
    as a whole.

    Args:
        database: where to look.
        mod: the program.
        target: what it is to be built for.
    """
    module = IRModule({"main": mod}) if isinstance(mod, PrimFunc) else mod
    names = [var.name_hint for var, func in module.functions.items() if isinstance(func, PrimFunc)]
    if len(names) > 1:
        whole = database.query_schedule(module, target)
        if whole is not None:
            return Matches(whole, names, [])
    best = {name: database.query_schedule(normalized(module[name]), target) for name in names}
    traces = {name: found.trace for name, found in best.items() if found is not None}
    sch = Schedule(marked_as_scheduled(module, traces))
    matches = Matches(sch, [], [name for name in names if name not in traces])
    for name, trace in traces.items():
        found = _apply(trace, sch, name)
        (matches.matched if found else matches.missed).append(name)
    return matches


def _apply(trace: Trace, sch: Schedule, name: str) -> bool:
    """Apply the trace of a function to the whole; False if that fails."""
    try:
        apply_trace(trace.as_json(), sch, name)
    except RecordError as error:
        _logger.warning("%s: %s", name, error)
        return False
    return True


def compile_tir(
    database: Database, mod: IRModule | PrimFunc, target: Target | str | None = None
) -> Schedule | None:
    """The best schedule of a program, or None if the database has none for any of its functions.

    The number of functions with a schedule is logged: ``1 of 1 tasks matched``.

    Args:
        database: where to look.
        mod: the program.
        target: what it is to be built for; by default the current target, else any.
    """
    matches = find_schedules(database, mod, target)
    _logger.log(logging.WARNING if matches.missed else logging.INFO, "compile_tir: %s", matches)
    return matches.schedule if matches.matched else None


def schedule_using_anchor_trace(
    sch: Schedule, anchor_trace: Trace, target: Target | str | None = None
) -> None:
    """Schedule a program as another one that has the main block in common with it.

    Blocks that the trace does not name are inlined where that is possible: before the main block
    into it, behind it into its result. Then those steps of the trace are applied that apply. Each
    step proves that it keeps the meaning of the program.

    Args:
        sch: the program, without a schedule so far.
        anchor_trace: the trace for the other program.
        target: what the trace is for; the steps are the same for all.
    """
    if not isinstance(anchor_trace, Trace):
        raise ArgumentError(f"schedule_using_anchor_trace: expected a Trace, got {anchor_trace!r}")
    if target is not None:
        Target(target)
    named = {inst.arguments["name"] for inst in anchor_trace if inst.kind.name == "get_block"}
    if sch.func_working_on is None:
        names = [var.name_hint for var in sch.mod.functions]
        raise ArgumentError(
            f"schedule_using_anchor_trace: choose one of the functions {names} by `work_on`"
        )
    root = sch.get_block("root")
    for block in sch.get_child_blocks(root):
        if sch.get(block).name_hint in named:
            continue
        for inline in (sch.compute_inline, sch.reverse_compute_inline):
            with contextlib.suppress(TVMError):
                inline(block)
                break
    apply_where_possible(anchor_trace, sch)
