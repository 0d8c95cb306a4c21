"""Branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from onnx import GraphProto

from tilewright.relax import op
from tilewright.relax.expr import If, RelaxExpr, SeqExpr, Tuple, TupleGetItem
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.onnx.graph import UNKNOWN, Graph
from tilewright.relax.frontend.onnx.table import converts
from tilewright.relax.frontend.onnx.types import Items
from tilewright.relax.frontend.table import UnsupportedError

MOST_ITERATIONS: Final = 512
"""Maximum number of iterations of a loop, each of which becomes a part of the program."""


@converts("If")
def branch(
    graph: Graph, condition: Any, *, then_branch: GraphProto, else_branch: GraphProto
) -> list[Any]:
    """The results of one of two graphs."""
    known = graph.elements(condition)
    if known is not None and known.is_constant:
        return graph.convert_graph(then_branch if known.values.all() else else_branch, [])
    if graph.rank_of(condition):
        condition = graph.reshape(condition, [])
    node = graph.node
    branches = [_branch(graph, part) for part in (then_branch, else_branch)]
    graph.node = node
    if any(part is None for part in branches):
        return [UNKNOWN] * graph.result_count()
    chosen = graph.emit(If(condition, *branches))
    return [graph.emit(TupleGetItem(chosen, index)) for index in range(graph.result_count())]


def _branch(graph: Graph, part: GraphProto) -> Any:
    graph.builder.begin_scope()
    try:
        results = graph.convert_graph(part, [])
    finally:
        blocks = graph.builder.end_scope()
    if any(value is UNKNOWN for value in results):
        return None
    if not all(isinstance(value, RelaxExpr) for value in results):
        raise UnsupportedError("branches that return sequences are not supported")
    return SeqExpr(blocks, Tuple(results))


@converts("Loop")
def loop(
    graph: Graph, most: Any = None, condition: Any = None, *carried: Any, body: GraphProto
) -> list[Any]:
    """A graph again and again: a part of the program for each time, which must be known."""
    count = None if most is None else graph.integers(most)[0]
    states: list[Any] = list(carried)
    rows: list[list[Any]] = [[] for _ in range(len(body.output) - 1 - len(states))]
    iteration = 0
    while count is None or not isinstance(count, int) or iteration < count:
        if condition is not None and not _truth(graph, condition):
            break
        if count is not None and not isinstance(count, int):
            raise UnsupportedError("the number of iterations must be a constant")
        if iteration >= MOST_ITERATIONS:
            raise UnsupportedError(
                f"a loop of more than {MOST_ITERATIONS} iterations is not supported"
            )
        given = graph.constant(True) if condition is None else condition
        condition, *results = graph.convert_graph(
            body, [graph.constant(iteration, "int64"), given, *states]
        )
        if any(value is UNKNOWN for value in [condition, *results]):
            return [UNKNOWN] * graph.result_count()
        states, scanned = results[: len(states)], results[len(states) :]
        for row, value in zip(rows, scanned, strict=True):
            row.append(value)
        iteration += 1
    return [*states, *(_stacked(graph, row, 0) for row in rows)]


def _truth(graph: Graph, condition: Any) -> bool:
    known = graph.elements(condition)
    if known is None or not known.is_constant:
        raise UnsupportedError("a loop that ends by what it computes is not supported")
    return bool(known.values.all())


def _stacked(graph: Graph, values: Sequence[Any], axis: int) -> Any:
    if not values:
        raise UnsupportedError("a loop without iterations has no results of each")
    return graph.emit(op.stack([graph.emit(value) for value in values], axis))


@converts("Scan", since=9)
def scan(
    graph: Graph, *operands: Any, body: GraphProto, num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
) -> list[Any]:  # fmt: skip
    """A graph for each element of some arrays, which carries states along."""
    split = len(operands) - num_scan_inputs
    states, sequences = list(operands[:split]), operands[split:]
    input_axes = scan_input_axes or [0] * len(sequences)
    backwards = scan_input_directions or [0] * len(sequences)
    count = number(graph.shape_of(sequences[0])[input_axes[0]])
    if not isinstance(count, int) or not 0 < count <= MOST_ITERATIONS:
        raise UnsupportedError(f"a scan over {count} elements is not supported")
    outputs = len(body.output) - len(states)
    rows: list[list[Any]] = [[] for _ in range(outputs)]
    for step in range(count):
        elements = [
            _element(graph, x, axis, count - 1 - step if back else step)
            for x, axis, back in zip(sequences, input_axes, backwards, strict=True)
        ]
        results = graph.convert_graph(body, [*states, *elements])
        if any(value is UNKNOWN for value in results):
            return [UNKNOWN] * graph.result_count()
        states = results[: len(states)]
        for row, value in zip(rows, results[len(states) :], strict=True):
            row.append(value)
    axes = scan_output_axes or [0] * outputs
    reverse = scan_output_directions or [0] * outputs
    return [*states, *(
        _stacked(graph, row[::-1] if back else row, axis)
        for row, axis, back in zip(rows, axes, reverse, strict=True)
    )]  # fmt: skip


def _element(graph: Graph, x: Any, axis: int, index: int) -> Any:
    if isinstance(x, Items):
        return x[index]
    axis = graph.axis(axis, graph.rank_of(x))
    shape = graph.shape_of(x)
    part = graph.emit(op.strided_slice(x, [axis], [index], [index + 1]))
    return graph.reshape(part, [*shape[:axis], *shape[axis + 1 :]])
