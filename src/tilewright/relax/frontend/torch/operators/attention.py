"""Attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.layout import broadcast, product, repeat_interleaved
from tilewright.relax.frontend.torch.problems import UnsupportedError
from tilewright.relax.frontend.torch.table import converts

_SWAP_HEADS = (0, 2, 1, 3)


@converts("aten.scaled_dot_product_attention")
def attention(
    graph: Graph, query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0,
    is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """``softmax(scale query key^T + mask) value`` for each head.

    The operator here has the heads after the sequence, as models have them before they split
    them off, so that usually two transpositions meet and vanish.
    """
    if dropout:
        raise UnsupportedError("dropout drops nothing here; call model.eval() before the export")
    shape = graph.shape
    if enable_gqa:
        key, value = _shared(graph, query, key), _shared(graph, query, value)
    query, key, value = (_stacked(graph, x, shape[:-2]) for x in (query, key, value))
    bias = None if mask is None else _bias(graph, mask, query, shape[:-2])
    query, key, value = (_four(graph, x) for x in (query, key, value))
    query, key, value = (graph.permute(x, _SWAP_HEADS) for x in (query, key, value))
    causal = "TopLeft" if is_causal else None
    result = op.nn.attention(query, key, value, bias, scale, causal)
    return graph.reshape(graph.permute(graph.emit(result), _SWAP_HEADS), shape)


def _four(graph: Graph, x: Any) -> Any:
    """`x` with dimensions (batch, head, sequence, feature)."""
    *outer, sequence, features = graph.shape_of(x)
    if len(outer) == 2:
        return x
    heads = outer[-1] if outer else 1
    return graph.reshape(x, [product(outer[:-1]), heads, sequence, features])


def _stacked(graph: Graph, x: Any, outer: Sequence[Any]) -> Any:
    """`x` with the outer dimensions of the result, for each of which there may be one matrix."""
    return broadcast(graph, x, [*outer, *graph.shape_of(x)[-2:]])


def _shared(graph: Graph, query: Any, x: Any) -> Any:
    """Keys or values once for each head of the query, where several share one."""
    heads, groups = (graph.shape_of(y)[-3].value for y in (query, x))
    axis = graph.rank_of(x) - 3
    return repeat_interleaved(graph, x, heads // groups, axis) if heads != groups else x


def _bias(graph: Graph, mask: Any, query: Any, outer: Sequence[Any]) -> Any:
    """What is added to the products: a mask of truths says what may be seen."""
    dtype = graph.dtype_of(query)
    if graph.dtype_of(mask) == "bool":
        nothing = float("-inf")
        mask = graph.emit(op.where(mask, 0, nothing))
    if graph.rank_of(mask) > 4:  # several dimensions become the batch, each with all its elements
        mask = broadcast(graph, mask, [*outer, *graph.shape_of(mask)[-2:]])
    *own, rows, columns = graph.shape_of(mask)
    own = [product(own[:-1]), own[-1]] if len(own) > 2 else [1] * (2 - len(own)) + own
    return graph.reshape(graph.cast(mask, dtype), [*own, rows, columns])
