"""Parameters that several iterations at the same time would write."""

from __future__ import annotations

from tilewright.arith import Analyzer
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import IntImm, Var
from tilewright.te.operation import ComputeOp
from tilewright.te.schedule.infer_bound import Bounds
from tilewright.te.schedule.stage import Stage
from tilewright.tir.buffer import Range
from tilewright.tir.stmt import ForKind
from tilewright.tir.substitute import substitute


def check_parallel_writes(stage: Stage, bounds: Bounds) -> None:
    """Require that iterations at the same time add up different elements of a parameter.

    Other memory of a stage that is computed in a loop belongs to one iteration. A stage without a
    reduction writes the same value again, which is harmless.

    Raises:
        TEScheduleError: if two iterations may add up the same element.
    """
    op = stage.op
    if not isinstance(op, ComputeOp) or op.reduction is None:
        return
    for place in bounds.places.path(stage):
        kind = place.stage.kinds.get(place.loop)
        if kind not in (ForKind.PARALLEL, ForKind.THREAD_BINDING):
            continue
        var, _ = bounds.stages[place.stage].loops[place.loop]
        if not any(_moves_on(bounds.stages[stage].ranges[axis], var) for axis in op.axis):
            raise stage.error(
                "compute_at",
                f"it is a parameter, and iterations of loop {place.loop.name} of stage "
                f"{place.stage.name}, which run at the same time, would add up the same elements",
            )


def _moves_on(dom: Range, loop: Var) -> bool:
    """Whether the range of an axis has nothing in common with that in other iterations."""
    next_start = substitute(dom.min, {loop: as_expr(loop + 1)})
    step = Analyzer().simplify(next_start - dom.min)
    return (
        isinstance(step, IntImm)
        and isinstance(dom.extent, IntImm)
        and step.value >= dom.extent.value
    )
