"""The parser of the statements of graph functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from tilewright.error import StructInfoError
from tilewright.relax.script.context import GraphBuilder
from tilewright.relax.script.parser.evaluator import GraphEvaluator
from tilewright.script.parser.core import BodyParser

Handler = Callable[[Any, Any], None]

GRAPH_STATEMENTS: Final[dict[type[ast.AST], Handler]] = {}
"""What parses each kind of statement of a graph function."""


def parses_graph(*kinds: type[ast.AST]) -> Callable[[Handler], Handler]:
    """Decorator: the function parses statements of these kinds in graph functions."""

    def register(handler: Handler) -> Handler:
        for kind in kinds:
            GRAPH_STATEMENTS[kind] = handler
        return handler

    return register


class GraphParser(BodyParser):
    """Parses statements of a graph function into the blocks of a builder."""

    builder: GraphBuilder
    evaluate: GraphEvaluator
    handlers: ClassVar[Mapping[type[ast.AST], Handler]] = GRAPH_STATEMENTS
    unsupported: ClassVar[Mapping[type[ast.AST], tuple[str, str]]] = {
        ast.For: ("for", ": a graph has no loops; build repeated layers with relax.BlockBuilder"),
        ast.While: ("while", ": a graph has no loops; a function may call itself"),
        ast.Try: ("try", ": write R.assert_op(condition, format=...) for what must hold"),
        ast.Raise: ("raise", ": write R.assert_op(condition, format=...)"),
        ast.Delete: ("del", ": what is not used any more is freed by itself"),
        ast.Match: ("match", ": write `if` and `else`"),
        ast.Assert: ("assert", ": write R.assert_op(condition, format=...)"),
    }

    def evaluator(self) -> GraphEvaluator:
        return GraphEvaluator(self.source, self.scope, self.builder)

    def guarded(self, node: ast.AST, action: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return action(*arguments)
        except StructInfoError as error:
            if error.span is None or error.span.filename != self.source.filename:
                return super().guarded(node, _raise, error)
            message = str(error).removeprefix(f"{error.span}: ")
            raise self.source.error_at(error.span, message) from error
        except Exception as error:
            return super().guarded(node, _raise, error)

    def statement(self, node: ast.stmt) -> None:
        """Parse one statement."""
        if self.builder.function.has_left:
            return  # as Python does not reach it
        if self.builder.function.result is not None:
            raise self.error(node, "nothing can follow `return`")
        super().statement(node)


def _raise(error: Exception) -> None:
    raise error
