"""Running extrema and sums of exponentials."""

from __future__ import annotations

from typing import Any

from tilewright import te, tir
from tilewright.ir.expr import Expr
from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import convert_by, converts
from tilewright.topi.scan import scanop


def _scan(graph: Graph, x: Any, combine: Any, identity: Any, dim: int, name: str) -> Any:
    """The combination of each element with all before it along `dim`."""
    if graph.rank_of(x) == 0:
        return x
    return graph.emit_te(scanop, x, combine, identity, name, dim, primfunc_name_hint=name)


def _extreme(is_max: bool) -> Any:
    """The conversion of ``cummax`` or ``cummin``: the extrema so far, and where the last one is."""
    reaches, name = (op.greater_equal, "cummax") if is_max else (op.less_equal, "cummin")
    combine = tir.max if is_max else tir.min

    def convert(graph: Graph, x: Any, dim: int) -> list[Any]:
        dtype = graph.dtype_of(x)
        limit = tir.min_value(dtype) if is_max else tir.max_value(dtype)
        extremum = _scan(graph, x, combine, limit, dim, name)
        if graph.rank_of(x) == 0:
            return [x, graph.emit(op.zeros([], "int64"))]
        # The extremum changes, or comes again, where an element reaches it.
        reached = reaches(x, extremum)
        if dtype.startswith(("float", "bfloat")):
            reached = op.logical_or(reached, op.isnan(x))
        extent = graph.shape_of(x)[dim]
        places = op.arange(0, extent, 1, "int64")
        aligned = [1] * graph.rank_of(x)
        aligned[dim] = extent
        places = graph.emit(op.reshape(places, aligned))
        last = graph.emit(op.where(reached, places, graph.operand(0, "int64")))
        return [extremum, _scan(graph, last, tir.max, 0, dim, f"{name}_places")]

    return convert


@converts("aten.logcumsumexp")
def logcumsumexp(graph: Graph, x: Any, dim: int) -> Any:
    """Logarithms of running sums of exponentials, which may be larger than numbers can be."""

    def combine(before: Expr, element: Expr) -> Expr:
        low, high = tir.min(before, element), tir.max(before, element)
        # The difference of two infinities is none: their sum is the greater one of them.
        infinite = tir.any(te.isinf(high), te.isnan(element))
        total = high + te.log1p(te.exp(tir.Select(infinite, high, low) - high))
        known = tir.Select(te.isnan(element), element, high)
        known = tir.Select(te.isnan(before), before, known)
        return tir.Select(tir.any(infinite, te.isnan(before)), known, total)

    return _scan(graph, x, combine, float("-inf"), dim, "logcumsumexp")


convert_by({"aten.cummax": _extreme(is_max=True), "aten.cummin": _extreme(is_max=False)})
