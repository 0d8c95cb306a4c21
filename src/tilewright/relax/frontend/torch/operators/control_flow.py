"""Branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

from tilewright.ir.arithmetic import equal
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Var as Size
from tilewright.relax.expr import Call, If, PrimValue, RelaxExpr, SeqExpr, Tuple, TupleGetItem, Var
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import UNKNOWN, Graph
from tilewright.relax.frontend.torch.table import converts
from tilewright.relax.struct_info import FuncStructInfo, PrimStructInfo, TupleStructInfo

MOST_DOUBLINGS: Final = 62
"""A loop runs at most ``2**62`` times."""


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
    if UNKNOWN in branches:
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
    state = [graph.emit(value) for value in carried]
    loop = _Loop(graph, condition, body, [value.struct_info for value in state], others)
    if not loop.is_known:
        return UNKNOWN
    return _items(graph, loop.run(state))


class _Loop:
    """A function that runs the body of a loop up to ``2**power`` times.

    It calls itself for ``power - 1`` and, if the condition still holds, once more. So the stack
    stays small, however often the body runs.
    """

    def __init__(
        self, graph: Graph, condition: torch.fx.GraphModule, body: torch.fx.GraphModule,
        infos: Sequence[Any], others: Sequence[Any],
    ) -> None:  # fmt: skip
        self._graph, self._condition, self._others = graph, condition, others
        self._captured = [value for value in others if isinstance(value, Var)]
        power = Size("power", INT64)
        state = [Var(f"state_{n}", info) for n, info in enumerate(infos)]
        inside = [Var(value.name_hint, value.struct_info) for value in self._captured]
        params = [Var("power", PrimStructInfo("int64", power)), *state, *inside]
        name = graph.builder.get_unique_name("loop")
        taken: list[Any] = [param.struct_info for param in params]
        signature = FuncStructInfo(taken, TupleStructInfo(infos))
        self._name = graph.builder.declare_func(name, signature)
        with graph.builder.function(name, params, private=True):
            operands = self._operands(inside)
            once = _branch(graph, body, [*state, *operands])
            twice = self._twice(PrimValue(power - 1), state, inside)
            self.is_known = UNKNOWN not in (once, twice)
            result = If(PrimValue(equal(power, 0)), once, twice) if self.is_known else Tuple(state)
            graph.builder.emit_func_output(graph.emit(result))

    def run(self, state: Sequence[Any]) -> Any:
        """Run the body as long as the condition holds."""
        return self._continued(
            PrimValue(const(MOST_DOUBLINGS, INT64)), state, self._captured, Tuple(state)
        )

    def _operands(self, captured: Sequence[Any]) -> list[Any]:
        """The other operands, where variables are those of the function."""
        variables = iter(captured)
        return [next(variables) if isinstance(v, Var) else v for v in self._others]

    def _twice(self, power: Any, state: Sequence[Any], captured: Sequence[Any]) -> Any:
        self._graph.builder.begin_scope()
        half = self._graph.emit(self._call(power, state, captured))
        result = self._continued(power, _items(self._graph, half), captured, half)
        blocks = self._graph.builder.end_scope()
        return UNKNOWN if result is UNKNOWN else SeqExpr(blocks, result)

    def _continued(
        self, power: Any, state: Sequence[Any], captured: Sequence[Any], otherwise: Any
    ) -> Any:
        """The call for `state` if the condition holds for it."""
        graph = self._graph
        results = _results(graph, self._condition, [*state, *self._operands(captured)])
        if results is UNKNOWN:
            return UNKNOWN
        condition = _truth(graph, results[0])
        graph.builder.begin_scope()
        more = graph.emit(self._call(power, state, captured))
        call = SeqExpr(graph.builder.end_scope(), more)
        return graph.emit(If(condition, call, SeqExpr([], otherwise)))

    def _call(self, power: Any, state: Sequence[Any], captured: Sequence[Any]) -> Call:
        return Call(self._name, [power, *state, *captured])


def _truth(graph: Graph, condition: Any) -> Any:
    """A condition as an array without dimensions, or a number."""
    if not isinstance(condition, RelaxExpr):
        return PrimValue(condition)
    return graph.reshape(condition, []) if graph.rank_of(condition) else condition


def _items(graph: Graph, results: Any) -> list[Any]:
    """The results of the call of a program, which has the node's."""
    return [graph.emit(TupleGetItem(results, index)) for index in range(len(graph.result))]


def _branch(graph: Graph, program: torch.fx.GraphModule, operands: Sequence[Any]) -> Any:
    """A program as an expression of its own, in which operands are known by what they are outside.

    Raises:
        UnsupportedError: if it returns None.
    """
    graph.builder.begin_scope()
    results = _results(graph, program, operands)
    blocks = graph.builder.end_scope()
    if results is UNKNOWN:
        return UNKNOWN
    if any(value is None for value in results):
        raise UnsupportedError("a branch that returns None is not supported")
    fields = [value if isinstance(value, RelaxExpr) else PrimValue(value) for value in results]
    return SeqExpr(blocks, Tuple(fields))


def _results(graph: Graph, program: torch.fx.GraphModule, operands: Sequence[Any]) -> Any:
    """The results of a program that is a part of another one."""
    node = graph.node
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    graph.values.update(zip(placeholders, operands, strict=True))
    graph.convert_calls(program.graph)
    graph.node = node
    results: Any = graph.argument(program.graph.output_node().args[0])
    results = results if isinstance(results, list) else [results]
    return UNKNOWN if any(value is UNKNOWN for value in results) else results
