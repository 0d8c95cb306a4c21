"""Running extrema and sums of exponentials."""

from __future__ import annotations

from typing import Any

from tilewright import te, tir
from tilewright.ir.expr import Expr
from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import convert_by, converts
from tilewright.topi.scan import running_extremum, scanop


def _scan(graph: Graph, x: Any, combine: Any, identity: Any, dim: int, name: str) -> Any:
    """The combination of each element with all before it along `dim`."""
    if graph.rank_of(x) == 0:
        return x
    return graph.emit_te(scanop, x, combine, identity, name, dim, primfunc_name_hint=name)


def _extreme(is_max: bool) -> Any:
    """The conversion of ``cummax`` or ``cummin``: the extrema so far, and where the last one is."""
    name = "cummax" if is_max else "cummin"

    def convert(graph: Graph, x: Any, dim: int) -> list[Any]:
        if graph.rank_of(x) == 0:
            return [x, graph.emit(op.zeros([], "int64"))]
        if not graph.uses_result(1):
            dtype = graph.dtype_of(x)
            limit = tir.min_value(dtype) if is_max else tir.max_value(dtype)
            combine = tir.max if is_max else tir.min
            return [_scan(graph, x, combine, limit, dim, name), None]
        both = graph.emit_te(running_extremum, x, dim, is_max, name, primfunc_name_hint=name)
        return [graph.emit(both[n]) for n in range(2)]

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
