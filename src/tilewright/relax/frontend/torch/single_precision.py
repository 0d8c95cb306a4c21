"""Operators of several steps that compute half precision in single precision, and round once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tilewright.ir.dtype import DType
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.topi.operands import accumulator


def dtype_of_sums(graph: Graph, x: Any) -> str | None:
    """The dtype of sums of products of half precision to which something is added before they are
    rounded; None for others, which keep the dtype of the operands."""
    dtype = DType(graph.dtype_of(x))
    wide = accumulator(dtype)
    return None if wide is dtype else str(wide)


def in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """The conversion of an operator whose first operand is in single precision instead of half
    precision, and whose result is rounded at the end, as torch does."""

    @functools.wraps(function)
    def convert(graph: Graph, x: Any, *arguments: Any, **options: Any) -> Any:
        wide = dtype_of_sums(graph, x)
        if wide is None:
            return function(graph, x, *arguments, **options)
        result = function(graph, graph.cast(x, wide), *arguments, **options)
        return graph.cast(graph.emit(result), graph.dtype_of(x))

    return convert
