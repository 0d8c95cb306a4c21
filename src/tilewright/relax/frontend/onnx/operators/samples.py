"""Samples of images at places that are computed, and boxes in images."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tilewright import topi
from tilewright.relax import op
from tilewright.relax.frontend.compositions import sampled
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.table import converts
from tilewright.relax.frontend.table import UnsupportedError

_METHODS: Final = {
    "linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic",
    "bicubic": "bicubic",
}  # fmt: skip


@converts("GridSample")
def grid_sample(
    graph: Graph, x: Any, grid: Any, *, align_corners: int = 0, mode: str = "linear",
    padding_mode: str = "zeros",
) -> Any:  # fmt: skip
    """The pixels of images or volumes at the places of a grid."""
    if mode not in _METHODS:
        raise UnsupportedError(f"mode={mode!r} is not supported")
    return sampled(graph, x, grid, _METHODS[mode], padding_mode, bool(align_corners))


@converts("RoiAlign")
def roi_align(
    graph: Graph, x: Any, rois: Any, batch_indices: Any, *,
    coordinate_transformation_mode: str | None = None, mode: str = "avg", output_height: int = 1,
    output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0,
) -> Any:  # fmt: skip
    """Averages or maxima of samples in the parts of boxes."""
    if mode != "avg":
        raise UnsupportedError(f"mode={mode!r} is not supported")
    if sampling_ratio < 1:
        raise UnsupportedError("a number of samples for each box is not supported")
    default = "half_pixel" if graph.version >= 16 else "output_half_pixel"
    aligned = (coordinate_transformation_mode or default) == "half_pixel"
    images = op.expand_dims(graph.cast(batch_indices, graph.dtype_of(rois)), 1)
    boxes = graph.emit(op.concat([graph.emit(images), rois], 1))
    size = (output_height, output_width)
    return graph.emit_te(
        topi.vision.roi_align_nchw, x, boxes, size, spatial_scale, mode, sampling_ratio, aligned
    )


@converts("NonMaxSuppression")
def non_max_suppression(
    graph: Graph, boxes: Any, scores: Any, most: Any = None, iou_threshold: Any = None,
    score_threshold: Any = None, *, center_point_box: int = 0,
) -> Any:  # fmt: skip
    """The best boxes of each class that overlap no better one: batch, class and box of each."""
    limit = 0 if most is None else graph.integer(most, "max_output_boxes_per_class")
    overlap = (
        0.0
        if iou_threshold is None
        else float(graph.constants(iou_threshold, "iou_threshold").reshape(-1)[0])
    )
    if limit <= 0:
        return graph.constant(np.zeros((0, 3)), "int64")
    batch, classes, count = graph.shape_of(scores)
    corners = graph.emit(_corners(graph, boxes, bool(center_point_box)))
    wide = graph.emit(op.broadcast_to(op.expand_dims(corners, 1), [batch, classes, count, 4]))
    flat = graph.reshape(wide, [batch * classes, count, 4])
    score = graph.reshape(scores, [batch * classes, count, 1])
    zeros = graph.emit(op.zeros_like(score))
    data = graph.emit(op.concat([zeros, score, flat], 2))
    every = graph.emit(op.full([batch * classes], graph.operand(count, "int32"), "int32"))
    names = graph.emit(op.arange(0, count, 1, "int32"))
    names = graph.emit(op.broadcast_to(names, [batch * classes, count]))
    found = graph.emit_te(
        topi.vision.non_max_suppression, data, every, names, limit, overlap, force_suppress=True
    )
    chosen = graph.emit(found[0])
    return _chosen(graph, chosen, score, classes, score_threshold)


def _corners(graph: Graph, boxes: Any, is_centre: bool) -> Any:
    """Boxes as two opposite corners, the one with smaller coordinates first."""
    first, second = graph.emit(op.split(boxes, 2, 2))
    if is_centre:
        half = graph.emit(op.multiply(second, graph.scalar_like(0.5, boxes)))
        return op.concat([op.subtract(first, half), op.add(first, half)], 2)
    return op.concat([op.minimum(first, second), op.maximum(first, second)], 2)


def _chosen(graph: Graph, chosen: Any, score: Any, classes: Any, threshold: Any) -> Any:
    """Batch, class and number of the boxes that are chosen, and whose scores are high enough."""
    rows, count = graph.shape_of(chosen)
    places = graph.cast(chosen, "int64")
    valid = graph.emit(op.greater_equal(places, graph.operand(0, "int64")))
    inside = graph.emit(op.maximum(places, graph.operand(0, "int64")))
    if threshold is not None:
        scores = graph.emit(op.gather_elements(graph.reshape(score, [rows, count]), inside, 1))
        high = op.greater(scores, graph.reshape(threshold, []))
        valid = graph.emit(op.logical_and(valid, high))
    where = graph.named(graph.emit(op.nonzero(valid)), 2, "int64")
    total = graph.shape_of(where)[1]
    row, column = (
        graph.reshape(graph.emit(op.strided_slice(where, [0], [n], [n + 1])), [total])
        for n in (0, 1)
    )
    flat = op.add(op.multiply(row, graph.operand(count, "int64")), column)
    box = op.take(graph.reshape(inside, [rows * count]), graph.emit(flat), 0)
    divisor = graph.operand(classes, "int64")
    parts = [op.floor_divide(row, divisor), op.floor_mod(row, divisor), box]
    return op.stack([graph.emit(part) for part in parts], 1)
