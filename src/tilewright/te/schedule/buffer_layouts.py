"""The buffers of a function in the layouts that the stages of a schedule ask for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.index_map import IndexMap
from tilewright.tir.stmt import ForKind
from tilewright.tir.substitute import substitute


def requested_layouts(
    bounds: Bounds, buffers: Mapping[Tensor, Buffer], params: Collection[Buffer]
) -> dict[Buffer, Layout]:
    """The layouts that stages ask for, by buffer; `params` are the parameters of the function.

    Raises:
        TEScheduleError: if something needs the usual layout.
    """
    found: dict[Buffer, Layout] = {}
    for stage in bounds.attachments.stages:
        window, layout, primitive = window_of(stage, bounds), stage.layout, "transform_layout"
        if window is not None and isinstance(stage.op, ComputeOp):
            layout, primitive = window.layout(stage.op), "rolling_buffer"
        if layout is None:
            continue
        for reader in bounds.attachments.readers(stage):
            if not isinstance(reader.op, ComputeOp) or reader.tensor_intrins:
                raise stage.error(primitive, f"stage {reader.name} needs the usual layout of it")
        for other in bounds.attachments.stages:
            fetched = (tensor for wanted in other.prefetches.values() for tensor, _ in wanted)
            if any(other.schedule[tensor] is stage for tensor in fetched):
                raise stage.error(primitive, f"stage {other.name} prefetches the usual layout")
        if stage.tensor_intrins or stage.alignments or stage.op in bounds.attachments.scans:
            raise stage.error(primitive, "what else was asked for needs the usual layout")
        for tensor in stage.op.outputs:
            buffer = buffers.get(tensor)
            if buffer is None:
                continue
            if buffer.strides or (window is not None and buffer in params):
                raise stage.error(primitive, f"the layout of buffer {buffer.name} is given")
            found[buffer] = layout
    return found


def with_layouts(func: PrimFunc, layouts: Mapping[Buffer, Layout]) -> PrimFunc:
    """`func` with some of its buffers, also of its parameters, in another layout."""
    if not layouts:
        return func
    from tilewright.tir.schedule.edits.layout import in_layout  # schedules take long to load

    for buffer, layout in layouts.items():
        shape = tuple(layout.index_map.map_shape(list(buffer.shape)))
        separators = tuple(IntImm(shape[0].dtype, axis) for axis in layout.separators)
        moved = buffer.replace(shape=shape, axis_separators=separators)
        buffer_map = {p: moved if b is buffer else b for p, b in func.buffer_map.items()}
        body = in_layout(func.body, buffer, moved, layout.index_map, Analyzer())
        func = func.replace(buffer_map=buffer_map, body=body)
    return func


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
    place = bounds.attachments.innermost(stage)
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
