"""What a schedule means: the bounds of its loops, and its statements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.ir.structural import structural_equal
from tilewright.te.operation import PlaceholderOp
from tilewright.te.schedule.function import schedule_to_prim_func
from tilewright.te.schedule.infer_bound import Bounds
from tilewright.te.schedule.schedule import Schedule
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import Stmt
from tilewright.tir.substitute import substitute


def InferBound(schedule: Schedule) -> dict[IterVar, Range]:
    """Over what the iteration variables of all stages range.

    A range may mention the variables of loops around its stage. Where two operations have an axis
    in common, the range is that of the one that comes first in the schedule.

    Raises:
        TEScheduleError: if a stage is computed where it cannot be.
    """
    bounds = Bounds(_checked(schedule).normalize())
    known: dict[Var, Expr] = {}
    simplify = Analyzer().simplify
    result: dict[IterVar, Range] = {}
    for stage in reversed(bounds.places.stages):
        ranges, loops, _ = bounds.stages[stage]
        for axis, dom in ranges.items():
            result[axis] = Range.from_min_extent(
                simplify(substitute(dom.min, known)), simplify(substitute(dom.extent, known))
            )
        for leaf, (var, _) in loops.items():
            start = result[leaf].min
            moved = leaf.iter_type is IterType.DATA_PAR and not is_const_int(start, 0)
            known[var] = leaf.var - start if moved else leaf.var
        for leaf, thread in stage.threads.items():
            if leaf in ranges:
                result[thread] = Range.from_extent(ranges[leaf].extent)
    return result


def ScheduleOps(
    schedule: Schedule, bounds: Mapping[IterVar, Range], debug_keep_trivial_loop: bool = False
) -> Stmt:
    """The statements of a schedule, made of blocks; inputs and outputs are free buffers.

    Args:
        schedule: the schedule.
        bounds: from `InferBound`.
        debug_keep_trivial_loop: ignored; loops of one iteration are always kept.

    Raises:
        ArgumentError: if `bounds` are not those of the schedule.
    """
    del debug_keep_trivial_loop
    for axis, dom in InferBound(schedule).items():
        given = bounds.get(axis)
        if given is None or not structural_equal(given, dom):
            raise ArgumentError(
                f"te.schedule.ScheduleOps: the bounds of {axis.name} are not what InferBound gives"
            )
    args: list[Any] = [s.op.output(0) for s in schedule.stages if isinstance(s.op, PlaceholderOp)]
    args += [tensor for op in schedule.outputs for tensor in op.outputs]
    return schedule_to_prim_func(schedule, list(dict.fromkeys(args))).body


def _checked(schedule: Any) -> Schedule:
    if not isinstance(schedule, Schedule):
        raise ArgumentError(f"te.schedule.InferBound: expected a te.Schedule, got {schedule!r}")
    return schedule
