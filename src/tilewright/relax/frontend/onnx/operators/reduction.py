"""Sums, extrema and their places along dimensions."""

from __future__ import annotations

from typing import Any, Final

from tilewright import topi
from tilewright.relax import op
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.table import convert_by, converts


def _reduction(function: Any) -> Any:
    def convert(
        graph: Graph, x: Any, axes: Any = None, *, keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> Any:  # fmt: skip
        along = [] if axes is None else graph.axes(axes)
        if not along and noop_with_empty_axes:
            return x
        dtype = graph.dtype_of(x)
        x = graph.cast(x, "uint8") if dtype == "bool" else x  # of nothing, 0 and all ones
        return graph.cast(graph.emit(function(x, along or None, bool(keepdims))), dtype)

    return convert


_FUNCTIONS: Final = {
    "ReduceMax": op.max, "ReduceMean": op.mean, "ReduceMin": op.min, "ReduceProd": op.prod,
    "ReduceSum": op.sum,
}  # fmt: skip
convert_by({name: _reduction(function) for name, function in _FUNCTIONS.items()})


def _place(function: Any) -> Any:
    def convert(
        graph: Graph, x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0
    ) -> Any:
        last = bool(select_last_index)
        name = function.__name__
        return graph.emit_te(
            function, x, axis, bool(keepdims), last, "int64", primfunc_name_hint=name
        )

    return convert


convert_by({"ArgMax": _place(topi.argmax), "ArgMin": _place(topi.argmin)})


def _scan(function: Any) -> Any:
    def convert(graph: Graph, x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
        along = graph.integer(axis, "axis")
        x = graph.emit(op.flip(x, along)) if reverse else x
        result = graph.emit(function(x, along, graph.dtype_of(x), bool(exclusive)))
        return op.flip(result, along) if reverse else result

    return convert


convert_by({"CumSum": _scan(op.cumsum), "CumProd": _scan(op.cumprod)})


@converts("TopK")
def topk(
    graph: Graph, x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1
) -> list[Any]:
    """The `k` largest or smallest elements along an axis in order, and where they are."""
    count = graph.integer(k, "K")
    pair = graph.emit(op.topk(x, count, axis, "both", bool(largest), "int64"))
    return [graph.emit(pair[0]), graph.emit(pair[1])]
