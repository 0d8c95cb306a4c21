"""Schedules of one program for others with the same main block."""

from __future__ import annotations

import contextlib

from tilewright.error import ArgumentError, TVMError
from tilewright.target import Target
from tilewright.tir.schedule import Schedule, Trace
from tilewright.tune.replay import apply_where_possible


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
