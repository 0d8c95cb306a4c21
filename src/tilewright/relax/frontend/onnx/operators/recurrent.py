"""Recurrent layers, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tilewright.relax import op
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.operators.control_flow import MOST_ITERATIONS
from tilewright.relax.frontend.onnx.table import converts
from tilewright.relax.frontend.table import UnsupportedError

Function = Callable[[Any], Any]


def _functions(alpha: float | None, beta: float | None) -> dict[str, Function]:
    """The activation functions by their names in lower case."""

    def given(value: float | None, default: float) -> float:
        return default if value is None else value

    return {
        "relu": lambda x: op.nn.relu(x),
        "tanh": lambda x: op.tanh(x),
        "sigmoid": lambda x: op.sigmoid(x),
        "affine": lambda x: op.add(op.multiply(x, given(alpha, 1)), given(beta, 0)),
        "leakyrelu": lambda x: op.nn.leakyrelu(x, given(alpha, 0.01)),
        "hardsigmoid":
            lambda x: op.clip(op.add(op.multiply(x, given(alpha, 0.2)), given(beta, 0.5)), 0, 1),
        "scaledtanh":
            lambda x: op.multiply(op.tanh(op.multiply(x, given(beta, 1))), given(alpha, 1)),
        "softsign": lambda x: op.divide(x, op.add(op.abs(x), 1)),
    }  # fmt: skip


class _Layer(NamedTuple):
    """One direction of a recurrent layer.

    Attributes:
        functions: the activation functions.
        weight: of the inputs, ``(gates * hidden, inputs)``.
        recurrence: of the states, ``(gates * hidden, hidden)``.
        biases: of both, ``(gates * hidden,)``; None for none.
        peepholes: of the cells, three of ``(hidden,)``; None for none.
        limit: what gates are clipped at; None for no limit.
        linear_before_reset: whether a GRU resets after the product.
        input_forget: whether the input gate is 1 less the forget gate.
    """

    functions: Sequence[Function]
    weight: Any
    recurrence: Any
    biases: tuple[Any, Any] | None
    peepholes: Sequence[Any] | None = None
    limit: float | None = None
    linear_before_reset: bool = False
    input_forget: bool = False


Step = Callable[[Graph, _Layer, Any, list[Any]], list[Any]]
"""From the products of a step's input and the states to the new states."""


@converts("RNN")
def rnn(
    graph: Graph, x: Any, weight: Any, recurrence: Any, bias: Any = None, lengths: Any = None,
    initial: Any = None, **attributes: Any,
) -> list[Any]:  # fmt: skip
    """A layer of simple recurrent units."""
    return _run(
        graph, _rnn_step, ["Tanh"], x, weight, recurrence, bias, lengths, [initial], attributes
    )


@converts("GRU")
def gru(
    graph: Graph, x: Any, weight: Any, recurrence: Any, bias: Any = None, lengths: Any = None,
    initial: Any = None, **attributes: Any,
) -> list[Any]:  # fmt: skip
    """A layer of gated recurrent units."""
    return _run(
        graph,
        _gru_step,
        ["Sigmoid", "Tanh"],
        x,
        weight,
        recurrence,
        bias,
        lengths,
        [initial],
        attributes,
    )


@converts("LSTM")
def lstm(
    graph: Graph, x: Any, weight: Any, recurrence: Any, bias: Any = None, lengths: Any = None,
    initial: Any = None, initial_cell: Any = None, peepholes: Any = None, **attributes: Any,
) -> list[Any]:  # fmt: skip
    """A layer of units with a long short-term memory."""
    states = [initial, initial_cell]
    functions = ["Sigmoid", "Tanh", "Tanh"]
    return _run(graph, _lstm_step, functions, x, weight, recurrence, bias, lengths, states,
                attributes, peepholes)  # fmt: skip


_KNOWN: Final = frozenset({
    "activations", "activation_alpha", "activation_beta", "clip", "direction", "hidden_size",
    "layout", "linear_before_reset", "input_forget",
})  # fmt: skip
_DIRECTIONS: Final = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}


def _run(
    graph: Graph, step: Step, functions: list[str], x: Any, weight: Any, recurrence: Any,
    bias: Any, lengths: Any, initial: Sequence[Any], attributes: dict[str, Any],
    peepholes: Any = None,
) -> list[Any]:  # fmt: skip
    """All steps in all directions: the states of each step, and the last ones."""
    unknown = set(attributes) - _KNOWN
    backwards = _DIRECTIONS.get(attributes.get("direction", "forward"))
    if unknown or backwards is None:
        raise UnsupportedError("these attributes are not supported")
    attributes.setdefault("activations", functions * len(backwards))
    if len(attributes["activations"]) != len(functions) * len(backwards):
        raise UnsupportedError(f"it needs {len(functions)} activations for each direction")
    batch_first = bool(attributes.get("layout", 0))
    x = graph.permute(x, [1, 0, 2]) if batch_first else x
    count = number(graph.shape_of(x)[0])
    if not isinstance(count, int) or not 0 < count <= MOST_ITERATIONS:
        raise UnsupportedError(f"sequences of {count} steps are not supported")
    batch, hidden = graph.shape_of(x)[1], graph.shape_of(recurrence)[2]
    if attributes.get("hidden_size", number(hidden)) != number(hidden):
        raise UnsupportedError("hidden_size is not that of the weights")
    directions = []
    for n, is_backward in enumerate(backwards):
        layer = _layer(graph, n, len(functions), weight, recurrence, bias, peepholes, attributes)
        states = [_initial(graph, value, n, batch, hidden, batch_first, x) for value in initial]
        directions.append(_steps(graph, step, layer, x, count, states, lengths, is_backward))
    outputs = [graph.emit(op.stack([d[0][t] for d in directions], 0)) for t in range(count)]
    everything = graph.emit(op.stack(outputs, 0))
    last = [graph.emit(op.stack([d[1][s] for d in directions], 0)) for s in range(len(initial))]
    if batch_first:
        everything = graph.permute(everything, [2, 0, 1, 3])
        last = [graph.permute(value, [1, 0, 2]) for value in last]
    return [everything, *last]


def _part(graph: Graph, x: Any, start: Any, end: Any, axis: int = 0) -> Any:
    return graph.emit(op.strided_slice(x, [axis], [start], [end]))


def _row(graph: Graph, x: Any, index: int) -> Any:
    """One element of the first dimension."""
    return graph.reshape(_part(graph, x, index, index + 1), graph.shape_of(x)[1:])


def _layer(
    graph: Graph, n: int, each: int, weight: Any, recurrence: Any, bias: Any, peepholes: Any,
    attributes: dict[str, Any],
) -> _Layer:  # fmt: skip
    hidden = graph.shape_of(recurrence)[2]
    biases = None
    if bias is not None:
        row = _row(graph, bias, n)
        middle = graph.shape_of(recurrence)[1]
        biases = _part(graph, row, 0, middle), _part(graph, row, middle, middle * 2)
    holes = None
    if peepholes is not None:
        row = _row(graph, peepholes, n)
        holes = [_part(graph, row, hidden * k, hidden * (k + 1)) for k in range(3)]
    names = attributes["activations"]
    functions = []
    for position in range(n * each, (n + 1) * each):
        alpha, beta = (
            (attributes.get(key) or [])[position : position + 1]
            for key in ("activation_alpha", "activation_beta")
        )
        known = _functions(*(value[0] if value else None for value in (alpha, beta)))
        function = known.get(names[position].lower())
        if function is None:
            raise UnsupportedError(f"the activation {names[position]!r} is not supported")
        functions.append(function)
    return _Layer(
        functions, _row(graph, weight, n), _row(graph, recurrence, n), biases, holes,
        attributes.get("clip"), bool(attributes.get("linear_before_reset", 0)),
        bool(attributes.get("input_forget", 0)),
    )  # fmt: skip


def _initial(
    graph: Graph, value: Any, n: int, batch: Any, hidden: Any, batch_first: bool, x: Any
) -> Any:
    if value is None:
        dtype = graph.dtype_of(x)
        return graph.emit(op.full([batch, hidden], graph.operand(0, dtype), dtype))
    return _row(graph, graph.permute(value, [1, 0, 2]) if batch_first else value, n)


def _steps(
    graph: Graph, step: Step, layer: _Layer, x: Any, count: int, states: list[Any], lengths: Any,
    is_backward: bool,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """The first state after each step, and all states after the last."""
    products = graph.emit(op.linear(x, layer.weight))  # of all steps at once
    if layer.biases is not None:
        products = graph.emit(op.add(products, layer.biases[0]))
    outputs: list[Any] = [None] * count
    for index in reversed(range(count)) if is_backward else range(count):
        new = [
            graph.emit(value) for value in step(graph, layer, _row(graph, products, index), states)
        ]
        outputs[index] = new[0]
        if lengths is not None:
            # A sequence that is over keeps its states, and has zeros in the results.
            wide = graph.cast(lengths, "int64")
            within = graph.emit(op.expand_dims(op.greater(wide, graph.operand(index, "int64")), 1))
            zero = graph.scalar_like(0, new[0])
            outputs[index] = graph.emit(op.where(within, new[0], zero))
            new = [graph.emit(op.where(within, a, b)) for a, b in zip(new, states, strict=True)]
        states = new
    return outputs, states


def _clipped(graph: Graph, layer: _Layer, value: Any) -> Any:
    value = graph.emit(value)
    return value if layer.limit is None else graph.emit(op.clip(value, -layer.limit, layer.limit))


def _recurrent(graph: Graph, layer: _Layer, state: Any) -> Any:
    product = op.linear(state, layer.recurrence)
    return graph.emit(product if layer.biases is None else op.add(product, layer.biases[1]))


def _rnn_step(graph: Graph, layer: _Layer, product: Any, states: list[Any]) -> list[Any]:
    total = op.add(product, _recurrent(graph, layer, states[0]))
    return [layer.functions[0](_clipped(graph, layer, total))]


def _gates(graph: Graph, x: Any, count: int) -> list[Any]:
    parts = graph.emit(op.split(x, count, 1))
    return [graph.emit(parts[n]) for n in range(count)]


def _gru_step(graph: Graph, layer: _Layer, product: Any, states: list[Any]) -> list[Any]:
    (state,) = states
    f, g = layer.functions
    update, reset, new = _gates(graph, product, 3)
    if layer.linear_before_reset:
        old = _gates(graph, _recurrent(graph, layer, state), 3)
    else:
        hidden = graph.shape_of(state)[1]
        both = layer._replace(
            recurrence=_part(graph, layer.recurrence, 0, hidden * 2),
            biases=layer.biases and (None, _part(graph, layer.biases[1], 0, hidden * 2)),
        )
        old = _gates(graph, _recurrent(graph, both, state), 2)
    z = graph.emit(f(_clipped(graph, layer, op.add(update, old[0]))))
    r = graph.emit(f(_clipped(graph, layer, op.add(reset, old[1]))))
    if layer.linear_before_reset:
        rest = op.multiply(r, old[2])
    else:
        hidden = graph.shape_of(state)[1]
        third = layer._replace(
            recurrence=_part(graph, layer.recurrence, hidden * 2, hidden * 3),
            biases=layer.biases and (None, _part(graph, layer.biases[1], hidden * 2, hidden * 3)),
        )
        rest = _recurrent(graph, third, graph.emit(op.multiply(r, state)))
    candidate = g(_clipped(graph, layer, op.add(new, rest)))
    return [op.add(op.multiply(op.subtract(1, z), candidate), op.multiply(z, state))]


def _lstm_step(graph: Graph, layer: _Layer, product: Any, states: list[Any]) -> list[Any]:
    state, cell = states
    f, g, h = layer.functions
    total = graph.emit(op.add(product, _recurrent(graph, layer, state)))
    i, o, forget, c = _gates(graph, total, 4)

    def gate(value: Any, hole: int, memory: Any) -> Any:
        if layer.peepholes is not None:
            value = op.add(value, op.multiply(layer.peepholes[hole], memory))
        return graph.emit(f(_clipped(graph, layer, value)))

    forgotten = gate(forget, 2, cell)
    taken = op.subtract(1, forgotten) if layer.input_forget else gate(i, 0, cell)
    new = op.multiply(taken, g(_clipped(graph, layer, c)))
    cell = graph.emit(op.add(op.multiply(forgotten, cell), new))
    shown = gate(o, 1, cell)
    return [op.multiply(shown, h(cell)), cell]
