"""The buffers of a function in the layouts that the stages of a schedule ask for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tilewright.ir.expr import IntImm
from tilewright.te.operation import ComputeOp
from tilewright.te.schedule.infer_bound import Bounds
from tilewright.te.schedule.layout import Layout
from tilewright.te.schedule.rolling import window_of
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BufferStore
from tilewright.tir.substitute import BufferRewriter


def requested_layouts(
    bounds: Bounds, buffers: Mapping[Tensor, Buffer], params: Collection[Buffer]
) -> dict[Buffer, Layout]:
    """The layouts that stages ask for, by buffer.

    Args:
        bounds: of the stages.
        buffers: of their results.
        params: those that are parameters of the function.

    Raises:
        TEScheduleError: if something needs the usual layout.
    """
    found: dict[Buffer, Layout] = {}
    for stage in bounds.places.stages:
        window, layout, primitive = window_of(stage, bounds), stage.layout, "transform_layout"
        if window is not None and isinstance(stage.op, ComputeOp):
            layout, primitive = window.layout(stage.op), "rolling_buffer"
        if layout is None:
            continue
        for reader in bounds.places.readers(stage):
            if not isinstance(reader.op, ComputeOp) or reader.tensor_intrins:
                raise stage.error(primitive, f"stage {reader.name} needs the usual layout of it")
        if stage.tensor_intrins or stage.alignments or stage.op in bounds.places.scans:
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
    rewriter = _Layouts(layouts)
    buffer_map = {param: rewriter.buffer(b) for param, b in func.buffer_map.items()}
    return func.replace(buffer_map=buffer_map, body=rewriter(func.body))


class _Layouts(BufferRewriter):
    def __init__(self, layouts: Mapping[Buffer, Layout]) -> None:
        BufferRewriter.__init__(self)
        self._layouts = layouts

    def map_buffer(self, buffer: Buffer) -> Buffer:
        layout = self._layouts.get(buffer)
        if layout is None:
            return buffer
        shape = tuple(layout.index_map.map_shape(list(buffer.shape)))
        separators = tuple(IntImm(shape[0].dtype, axis) for axis in layout.separators)
        return buffer.replace(shape=shape, axis_separators=separators)

    def BufferLoad(self, load: BufferLoad) -> Any:
        return self._moved(load)

    def BufferStore(self, store: BufferStore) -> Any:
        return self._moved(store)

    def _moved(self, access: Any) -> Any:
        layout, access = self._layouts.get(access.buffer), access.map_children(self)
        buffer = self.buffer(access.buffer)
        if layout is None:
            return access if buffer is access.buffer else access.replace(buffer=buffer)
        indices = tuple(layout.index_map.map_indices(list(access.indices)))
        return access.replace(buffer=buffer, indices=indices)

    def BufferRegion(self, region: BufferRegion) -> Any:
        layout, region = self._layouts.get(region.buffer), region.map_children(self)
        buffer = self.buffer(region.buffer)
        if layout is None:
            return region if buffer is region.buffer else region.replace(buffer=buffer)
        return BufferRegion(buffer, tuple(layout.index_map.map_ranges(list(region.region))))
