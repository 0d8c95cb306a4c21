"""Branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from onnx import GraphProto

from tilewright.relax import op
from tilewright.relax.expr import If, RelaxExpr, Tuple, TupleGetItem
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.loops import UnknownPartError, data_dependent_loop
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
    """A graph as an expression of its own; None if something in it cannot be converted."""

    def results() -> Tuple:
        found = graph.convert_graph(part, [])
        if any(value is UNKNOWN for value in found):
            raise UnknownPartError
        if _has_sequences(found):
            raise UnsupportedError("branches that return sequences are not supported")
        return Tuple(found)

    with suppress(UnknownPartError):
        return graph.branch(results)


@converts("Loop")
def loop(
    graph: Graph, most: Any = None, condition: Any = None, *carried: Any, body: GraphProto
) -> list[Any]:
    """A graph again and again.

    A known number of steps becomes as many parts of the program; others become functions.
    """
    known = _known_steps(graph, most, condition, carried, body)
    return known or _unknown_steps(graph, most, condition, carried, body)


def _known_steps(
    graph: Graph, most: Any, condition: Any, carried: Sequence[Any], body: GraphProto
) -> list[Any] | None:
    """The results, if the number of steps is known and not too large."""
    limit = None if most is None else graph.elements(most)
    if limit is not None and not limit.is_constant:
        return None
    if most is not None and limit is None:
        return None
    count = None if limit is None else int(limit.values.reshape(()))
    if count is not None and count > MOST_ITERATIONS and not _has_sequences(carried):
        return None
    states: list[Any] = list(carried)
    rows: list[list[Any]] = [[] for _ in range(len(body.output) - 1 - len(states))]
    iteration = 0
    while count is None or iteration < count:
        goes_on = True if condition is None else _truth(graph, condition)
        if goes_on is None or iteration >= MOST_ITERATIONS:
            return None
        if not goes_on:
            break
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
    if rows and not iteration:
        return None
    return [*states, *(_stacked(graph, row, 0) for row in rows)]


def _truth(graph: Graph, condition: Any) -> bool | None:
    """A condition, if it is known."""
    known = graph.elements(condition)
    return bool(known.values.all()) if known is not None and known.is_constant else None


def _has_sequences(values: Sequence[Any]) -> bool:
    return not all(isinstance(value, RelaxExpr) for value in values)


def _unknown_steps(
    graph: Graph, most: Any, condition: Any, carried: Sequence[Any], body: GraphProto
) -> list[Any]:
    """The results of as many steps as the data say."""
    if _has_sequences(carried):
        raise UnsupportedError(
            "a loop that carries a sequence along is supported for a known number of steps, up to "
            f"{MOST_ITERATIONS}"
        )
    node = graph.node
    limit = None if most is None else graph.reshape(graph.cast(most, "int64"), [])
    start = graph.constant(0, "int64")

    def goes_on(condition: Any, iteration: Any) -> Any:
        is_left = None if limit is None else graph.emit(op.less(iteration, limit))
        if condition is None:
            return graph.constant(True) if is_left is None else is_left
        whether = graph.reshape(condition, [])
        return whether if is_left is None else graph.emit(op.logical_and(whether, is_left))

    def step(states: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any]]:
        iteration, *others = states
        whether, *results = graph.convert_graph(body, [iteration, graph.constant(True), *others])
        graph.node = node
        if any(value is UNKNOWN for value in [whether, *results]):
            raise UnknownPartError
        if _has_sequences(results):
            raise UnsupportedError("a loop whose steps return sequences is not supported")
        following = graph.emit(op.add(iteration, graph.constant(1, "int64")))
        count = len(carried)
        return goes_on(whether, following), [following, *results[:count]], results[count:]

    known = None if limit is None else graph.elements(limit)
    bound = int(known.values.reshape(())) if known is not None and known.is_constant else None
    try:
        states, rows = data_dependent_loop(
            graph, goes_on(condition, start), [start, *carried], step, bound
        )
    except UnknownPartError:
        return [UNKNOWN] * graph.result_count()
    return [*states[1:], *rows]


def _stacked(graph: Graph, values: Sequence[Any], axis: int) -> Any:
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
    outputs = len(body.output) - len(states)
    if not isinstance(count, int) or not 0 < count <= MOST_ITERATIONS:
        forms = list(zip(input_axes, backwards, strict=True))
        states, stacked = _long_scan(graph, states, sequences, forms, count, body)
        axes, flips = scan_output_axes or [0] * outputs, scan_output_directions or [0] * outputs
        return [*states, *(
            _turned(graph, rows, axis, bool(flip))
            for rows, axis, flip in zip(stacked, axes, flips, strict=True)
        )]  # fmt: skip
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


def _long_scan(
    graph: Graph, states: Sequence[Any], sequences: Sequence[Any],
    forms: Sequence[tuple[int, int]], count: Any, body: GraphProto,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """The last states and the stacked results of a scan over many elements, or a symbolic number.

    Args:
        forms: the axis of each sequence, and whether it is gone through backwards.
    """
    node = graph.node
    end = graph.operand(count, "int64")

    def step(carried: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any]]:
        place, *inner = carried
        elements = []
        for x, (axis, back) in zip(sequences, forms, strict=True):
            last = graph.emit(op.subtract(end, graph.operand(1, "int64")))
            at = graph.emit(op.subtract(last, place)) if back else place
            elements.append(graph.emit(op.take(x, at, graph.axis(axis, graph.rank_of(x)))))
        results = graph.convert_graph(body, [*inner, *elements])
        graph.node = node
        if any(value is UNKNOWN for value in results):
            raise UnsupportedError("its graph cannot be converted")
        following = graph.emit(op.add(place, graph.constant(1, "int64")))
        goes_on = graph.emit(op.less(following, end))
        return goes_on, [following, *results[: len(inner)]], results[len(inner) :]

    start = graph.constant(0, "int64")
    goes_on = graph.emit(op.less(start, end))
    bound = count if isinstance(count, int) else None
    last, rows = data_dependent_loop(graph, goes_on, [start, *states], step, bound)
    return last[1:], rows


def _turned(graph: Graph, rows: Any, axis: int, is_backwards: bool) -> Any:
    """Stacked results with the dimension of the steps where it belongs."""
    rows = graph.emit(op.flip(rows, 0)) if is_backwards else rows
    rank = graph.rank_of(rows)
    others = list(range(1, rank))
    others.insert(graph.axis(axis, rank), 0)
    return graph.permute(rows, others)


def _element(graph: Graph, x: Any, axis: int, index: int) -> Any:
    if isinstance(x, Items):
        return x[index]
    axis = graph.axis(axis, graph.rank_of(x))
    shape = graph.shape_of(x)
    part = graph.emit(op.strided_slice(x, [axis], [index], [index + 1]))
    return graph.reshape(part, [*shape[:axis], *shape[axis + 1 :]])
