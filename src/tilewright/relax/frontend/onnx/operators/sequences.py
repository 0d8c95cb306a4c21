"""Sequences and optional values, whose lengths are known while the model is converted."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tilewright.relax import op
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.operators.layout import sliced
from tilewright.relax.frontend.onnx.table import convert_by, converts
from tilewright.relax.frontend.onnx.types import EMPTY, Empty, Items
from tilewright.relax.frontend.table import UnsupportedError


def _position(graph: Graph, position: Any, length: int) -> int:
    place = graph.integer(position, "position")
    if not -length <= place < length:
        raise UnsupportedError(f"position {place} is outside of a sequence of {length}")
    return place % length


@converts("SequenceAt")
def sequence_at(graph: Graph, items: Items, position: Any) -> Any:
    """One item."""
    return items[_position(graph, position, len(items))]


@converts("SequenceInsert")
def sequence_insert(graph: Graph, items: Items, value: Any, position: Any = None) -> Items:
    """The sequence with one more item, by default at its end."""
    place = len(items)
    if position is not None:
        place = _position(graph, position, len(items) + 1)
        given = graph.integer(position, "position")
        place = given + len(items) if given < 0 else place
    return Items([*items[:place], value, *items[place:]])


@converts("SequenceErase")
def sequence_erase(graph: Graph, items: Items, position: Any = None) -> Items:
    """The sequence without one item, by default the last."""
    place = len(items) - 1 if position is None else _position(graph, position, len(items))
    return Items([*items[:place], *items[place + 1 :]])


@converts("SplitToSequence")
def split_to_sequence(
    graph: Graph, x: Any, split: Any = None, *, axis: int = 0, keepdims: int = 1
) -> Items:
    """The parts of an array along an axis."""
    axis = graph.axis(axis, graph.rank_of(x))
    shape = graph.shape_of(x)
    extent = number(shape[axis])
    if not isinstance(extent, int):
        raise UnsupportedError("the extent that is split must be known")
    if split is None:
        sizes = [1] * extent
    elif graph.rank_of(split) == 0:
        part = graph.integer(split, "split")
        sizes = [min(part, extent - start) for start in range(0, extent, part)]
    else:
        sizes = graph.axes(split, "split")
    bounds = np.cumsum([0, *sizes]).tolist()
    parts = [sliced(graph, x, axis, *pair) for pair in itertools.pairwise(bounds)]
    if split is None and not keepdims:
        parts = [graph.reshape(part, [*shape[:axis], *shape[axis + 1 :]]) for part in parts]
    return Items(parts)


@converts("ConcatFromSequence")
def concat_from_sequence(graph: Graph, items: Items, *, axis: int, new_axis: int = 0) -> Any:
    """The items one after the other along an axis, or along a new one."""
    return op.stack(list(items), axis) if new_axis else op.concat(list(items), axis)


@converts("OptionalGetElement")
def optional_get(graph: Graph, value: Any) -> Any:
    """The value that is there."""
    if isinstance(value, Empty):
        raise UnsupportedError("there is no value")
    return value


convert_by({
    "SequenceConstruct": lambda graph, *items: Items(items),
    "SequenceEmpty": lambda graph, *, dtype=1: Items(),
    "SequenceLength": lambda graph, items: graph.constant(len(items), "int64"),
    "Optional": lambda graph, value=EMPTY, *, type=None: value,
    "OptionalHasElement":
        lambda graph, value=EMPTY: graph.constant(not isinstance(value, Empty), "bool"),
})  # fmt: skip
