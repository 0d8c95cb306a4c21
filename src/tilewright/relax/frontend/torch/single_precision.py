"""Operators of several steps that compute half precision in single precision, and round once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from tilewright.relax.frontend.torch.graph import Graph

HALF: Final = ("float16", "bfloat16")


def dtype_of_sums(graph: Graph, x: Any) -> str | None:
    """The dtype of sums of products of half precision to which something is added before they are
    rounded; None for others, which keep the dtype of the operands."""
    return "float32" if graph.dtype_of(x) in HALF else None


def in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """The conversion of an operator whose first operand is in single precision instead of half
    precision, and whose result is rounded at the end, as torch does."""

    @functools.wraps(function)
    def convert(graph: Graph, x: Any, *arguments: Any, **options: Any) -> Any:
        dtype = graph.dtype_of(x)
        if dtype not in HALF:
            return function(graph, x, *arguments, **options)
        wide = graph.cast(x, "float32")
        return graph.cast(graph.emit(function(graph, wide, *arguments, **options)), dtype)

    return convert
