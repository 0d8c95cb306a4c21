"""Branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch

from tilewright.relax import op
from tilewright.relax.expr import If, PrimValue, RelaxExpr, Tuple, TupleGetItem
from tilewright.relax.frontend.loops import UnknownPartError, data_dependent_loop
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import UNKNOWN, Graph
from tilewright.relax.frontend.torch.table import converts


@converts("cond")
def cond(
    graph: Graph,
    condition: Any,
    then: torch.fx.GraphModule,
    otherwise: torch.fx.GraphModule,
    operands: Sequence[Any] = (),
) -> Any:
    """The results of one of two programs, which take the same operands."""
    branches = [_branch(graph, program, operands) for program in (then, otherwise)]
    if None in branches:
        return UNKNOWN
    return _items(graph, graph.emit(If(_truth(graph, condition), *branches)))


@converts("while_loop")
def while_loop(
    graph: Graph,
    condition: torch.fx.GraphModule,
    body: torch.fx.GraphModule,
    carried: Sequence[Any],
    others: Sequence[Any] = (),
) -> Any:
    """What is carried after the body has run as long as the condition holds."""
    if not all(isinstance(value, RelaxExpr) for value in carried):
        raise UnsupportedError("a loop can carry tensors only")

    def goes_on(state: Sequence[Any]) -> Any:
        (result,) = _known_results(graph, condition, [*state, *others])
        truth = _truth(graph, result)
        return graph.emit(op.full((), truth, "bool")) if isinstance(truth, PrimValue) else truth

    def step(state: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any]]:
        after = _known_results(graph, body, [*state, *others])
        return goes_on(after), after, []

    try:
        state = [graph.emit(value) for value in carried]
        return data_dependent_loop(graph, goes_on(state), state, step)[0]
    except UnknownPartError:
        return UNKNOWN


def _truth(graph: Graph, condition: Any) -> Any:
    """A condition as an array without dimensions, or a number."""
    if not isinstance(condition, RelaxExpr):
        return PrimValue(condition)
    return graph.reshape(condition, []) if graph.rank_of(condition) else condition


def _items(graph: Graph, results: Any) -> list[Any]:
    """The results of the call of a program, which has the node's."""
    return [graph.emit(TupleGetItem(results, index)) for index in range(len(graph.result))]


def _branch(graph: Graph, program: torch.fx.GraphModule, operands: Sequence[Any]) -> Any:
    """A program as an expression of its own, in which operands are known by what they are outside;
    None if something in it cannot be converted.

    Raises:
        UnsupportedError: if it returns None.
    """

    def fields() -> Tuple:
        results = _known_results(graph, program, operands)
        if any(value is None for value in results):
            raise UnsupportedError("a branch that returns None is not supported")
        return Tuple(
            [value if isinstance(value, RelaxExpr) else PrimValue(value) for value in results]
        )

    with suppress(UnknownPartError):
        return graph.branch(fields)


def _known_results(
    graph: Graph, program: torch.fx.GraphModule, operands: Sequence[Any]
) -> list[Any]:
    """The results of a program that is a branch, or a part of a loop.

    Raises:
        UnknownPartError: if something in it cannot be converted.
    """
    node = graph.node
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    graph.values.update(zip(placeholders, operands, strict=True))
    graph.convert_calls(program.graph)
    graph.node = node
    results: Any = graph.argument(program.graph.output_node().args[0])
    results = results if isinstance(results, list) else [results]
    if any(value is UNKNOWN for value in results):
        raise UnknownPartError
    return results
