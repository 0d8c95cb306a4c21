"""Results whose sizes depend on the elements, and elements that become sizes."""

from __future__ import annotations

from typing import Any

import torch

from tilewright.ir.arithmetic import maximum
from tilewright.relax import op
from tilewright.relax.frontend.compositions import broadcast, different, places_of_nonzero
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.bags import counts
from tilewright.relax.frontend.torch.operators.index import row
from tilewright.relax.frontend.torch.table import converts


@converts("aten._local_scalar_dense", "aten.item")
def item(graph: Graph, x: Any) -> Any:
    """The only element as a number, which sizes can have."""
    if not isinstance(graph.result, (torch.SymInt, int)) or graph.is_float(x):
        raise UnsupportedError("only integers of a tensor can become numbers of Python")
    return graph.sizes_from(x, 1)[0]


@converts("aten.nonzero")
def nonzero(graph: Graph, x: Any) -> Any:
    """Where the elements are that are not 0: one row for each."""
    return places_of_nonzero(graph, x, rows=True)


@converts("aten.masked_select")
def masked_select(graph: Graph, x: Any, mask: Any) -> Any:
    """The elements where a mask holds, one after the other."""
    shape = graph.shape_of(graph.emit(op.where(mask, x, x)))
    flat = graph.reshape(broadcast(graph, x, shape), [-1])
    places = places_of_nonzero(graph, graph.reshape(broadcast(graph, mask, shape), [-1]))
    return graph.emit(op.take(flat, row(graph, places, 0), 0))


@converts("aten._unique2", "aten.unique_dim")
def unique(graph: Graph, x: Any, *options: Any) -> list[Any]:
    """The different elements, or parts along a dimension; which of them each is, and how often."""
    dim = options[0] if "unique_dim" in str(graph.node.target) else None
    wanted = (False, graph.uses_result(1), graph.uses_result(2))
    values, _, inverse, numbers = different(graph, x, dim, wanted=wanted, equal_nan=False)
    if dim is None and inverse is not None:
        inverse = graph.reshape(inverse, graph.shape_of(x))
    return [values, inverse, numbers]


@converts("aten.unique_consecutive")
def unique_consecutive(
    graph: Graph, x: Any, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> list[Any]:  # fmt: skip
    """One element, or part along a dimension, of each run of equal ones.

    Then the run of each, and how long each run is.
    """
    rank = graph.rank_of(x)
    axis = 0 if dim is None else dim % rank
    parts = graph.reshape(x, [-1]) if dim is None else x
    begins = _begins(graph, parts, axis)
    places = row(graph, places_of_nonzero(graph, begins), 0)
    runs = graph.emit(op.cumsum(graph.cast(begins, "int64"), 0, "int64"))
    runs = graph.emit(op.subtract(runs, graph.operand(1, "int64")))
    number = graph.shape_of(places)[0]
    inverse = graph.reshape(runs, graph.shape_of(x)) if dim is None else runs
    lengths = counts(graph, runs, None, number, "int64") if return_counts else None
    is_inverse_known = return_inverse or dim is not None  # as torch has it
    values = graph.emit(op.take(parts, places, axis))
    return [values, inverse if is_inverse_known else None, lengths]


def _begins(graph: Graph, x: Any, axis: int) -> Any:
    """For each part along an axis, whether it differs from the one before it."""
    extent = graph.shape_of(x)[axis]
    places = op.arange(0, extent, 1, "int64")
    before = op.maximum(op.subtract(places, graph.operand(1, "int64")), graph.operand(0, "int64"))
    changes = op.astype(op.not_equal(x, op.take(x, graph.emit(before), axis)), "int32")
    others = [n for n in range(graph.rank_of(x)) if n != axis]
    changed = op.max(graph.emit(changes), others) if others else changes
    first = op.equal(places, graph.operand(0, "int64"))
    return graph.emit(op.logical_or(first, op.astype(changed, "bool")))


@converts("aten.bincount")
def bincount(graph: Graph, x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number from 0 on occurs, or the sum of the weights where it does."""
    places = graph.cast(x, "int64")
    # The largest number is looked for behind a -1, so that there may be none.
    start = graph.emit(op.full([1], graph.operand(-1, "int64"), "int64"))
    (largest,) = graph.sizes_from(graph.emit(op.max(graph.emit(op.concat([start, places], 0)))), 1)
    dtype = graph.dtype
    weights = None if weights is None else graph.cast(weights, dtype)
    return counts(graph, places, weights, maximum(largest + 1, minlength), dtype)


@converts("aten.repeat_interleave.Tensor")
def repeat_interleave(graph: Graph, repeats: Any, output_size: Any = None) -> Any:
    """Each place in `repeats` as often as its element says."""
    ends = graph.emit(op.cumsum(graph.cast(repeats, "int64"), 0, "int64"))
    if output_size is None:
        (output_size,) = graph.sizes_from(graph.emit(op.sum(graph.cast(repeats, "int64"))), 1)
    steps = op.expand_dims(graph.emit(op.arange(0, output_size, 1, "int64")), 1)
    passed = op.less_equal(op.expand_dims(ends, 0), steps)
    return graph.emit(op.sum(op.astype(passed, "int64"), [1]))
