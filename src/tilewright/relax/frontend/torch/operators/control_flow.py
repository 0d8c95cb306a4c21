"""Branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tilewright.relax.expr import If, PrimValue, RelaxExpr, SeqExpr, Tuple, TupleGetItem
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
    node = graph.node
    if not isinstance(condition, RelaxExpr):
        condition = PrimValue(condition)
    elif graph.rank_of(condition):
        condition = graph.reshape(condition, [])
    branches = [_branch(graph, program, operands) for program in (then, otherwise)]
    graph.node = node
    if UNKNOWN in branches:
        return UNKNOWN
    chosen = graph.emit(If(condition, *branches))
    return [graph.emit(TupleGetItem(chosen, index)) for index in range(len(graph.result))]


def _branch(graph: Graph, program: torch.fx.GraphModule, operands: Sequence[Any]) -> Any:
    """One of the programs, in which the operands are known by what they are outside."""
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    graph.values.update(zip(placeholders, operands, strict=True))
    graph.builder.begin_scope()
    graph.convert_calls(program.graph)
    blocks = graph.builder.end_scope()
    results = [graph.argument(value) for value in program.graph.output_node().args[0]]  # type: ignore[union-attr]
    if any(value is UNKNOWN for value in results):
        return UNKNOWN
    if any(value is None for value in results):
        raise UnsupportedError("a branch that returns None is not supported")
    fields = [value if isinstance(value, RelaxExpr) else PrimValue(value) for value in results]
    return SeqExpr(blocks, Tuple(fields))
