"""Windows that slide along a loop: each iteration computes only what the one before did not.

Before, with Y computed in loop t of Z:        After:

    for t in range(8):                             allocate Y[3]
        allocate Y[3]                              for t in range(8):
        for i in range(3):                             for i in range(3):
            Y[i] = f(X[t + i])                             if t == 0 or i >= 2:
        Z[t] = Y[0] + Y[1] + Y[2]                              Y[(t + i) % 3] = f(X[t + i])
                                                       Z[t] = Y[t % 3] + Y[(t + 1) % 3] + ...
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.linear import mentions
from tilewright.ir.arithmetic import equal, floormod, logical_or
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.te.operation import ComputeOp
from tilewright.te.schedule.infer_bound import Bounds
from tilewright.te.schedule.layout import Layout
from tilewright.te.schedule.relation import Values
from tilewright.te.schedule.stage import Stage
from tilewright.tir.expr import IterVar
from tilewright.tir.index_map import IndexMap
from tilewright.tir.stmt import ForKind
from tilewright.tir.substitute import substitute


class Window(NamedTuple):
    """The part of a tensor that one iteration of a loop needs.

    Attributes:
        axis: along which it moves.
        loop: the variable of the loop.
        first: the first value of the loop.
        start: where the window starts.
        size: its extent.
        step: how far it moves per iteration.
    """

    axis: IterVar
    loop: Var
    first: Expr
    start: Expr
    size: int
    step: int

    def is_new(self, values: Values) -> Expr:
        """Whether an element has not been computed by an iteration before."""
        last = self.start + self.size - self.step
        return logical_or(equal(self.loop, self.first), values[self.axis] >= last)

    def layout(self, op: ComputeOp) -> Layout:
        """A buffer that is used around and around."""
        indices = tuple(Var(axis.name, axis.dtype) for axis in op.axis)
        final = tuple(
            as_expr(floormod(index, self.size)) if axis is self.axis else index
            for index, axis in zip(indices, op.axis, strict=True)
        )
        return Layout(IndexMap(indices, final), [])


def window_of(stage: Stage, bounds: Bounds) -> Window | None:
    """The window of a stage with a rolling buffer; None for another stage.

    Raises:
        TEScheduleError: if what it computes is not a window that slides along a serial loop.
    """
    if not stage.is_rolling:
        return None
    place = bounds.places.place(stage)
    if place is None or not isinstance(stage.op, ComputeOp):
        raise stage.error("rolling_buffer", "it is not computed in a loop of another stage")
    kind = place.stage.kinds.get(place.loop, ForKind.SERIAL)
    if not kind.is_in_order:
        raise stage.error(
            "rolling_buffer",
            f"loop {place.loop.name} of stage {place.stage.name} is {kind.name.lower()}, so an "
            "iteration cannot use what the one before computed",
        )
    loop, dom = bounds.stages[place.stage].loops[place.loop]
    ranges, analyzer = bounds.stages[stage].ranges, Analyzer()
    moving = [axis for axis in stage.op.axis if mentions(ranges[axis].min, (loop,))]
    if len(moving) == 1:
        start, extent = ranges[moving[0]].min, ranges[moving[0]].extent
        step = analyzer.simplify(substitute(start, {loop: as_expr(loop + 1)}) - start)
        if (
            isinstance(step, IntImm)
            and isinstance(extent, IntImm)
            and 0 < step.value < extent.value
        ):
            return Window(moving[0], loop, dom.min, start, extent.value, step.value)
    raise stage.error(
        "rolling_buffer",
        f"what consecutive iterations of loop {place.loop.name} of stage {place.stage.name} need "
        "does not overlap along one axis",
    )
