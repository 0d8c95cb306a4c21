"""Macros of graphs, whose `return` gives the value of the call."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tilewright.script.parser.macro import Macro, MacroDecorator
from tilewright.script.parser.source import Source


class GraphMacro(Macro):
    """A macro; its statements become part of the function that calls it."""

    def run(self, parser: Any, bound: dict[str, Any]) -> Any:
        """Parse the statements; the value of the call."""
        *statements, last = self.node.body
        if not isinstance(last, ast.Return):
            statements = self.node.body
        parser.scope.push(bound)
        for statement in statements:
            if isinstance(statement, ast.Return):
                raise parser.error(statement, "`return` is the last statement of a macro")
            parser.statement(statement)
        value = None
        if isinstance(last, ast.Return) and last.value is not None:
            value = parser.evaluate(last.value)
        parser.scope.pop(last.end_lineno or last.lineno)
        return value


class GraphMacroDecorator(MacroDecorator):
    """`R.macro`, with or without options."""

    written = "R.macro"

    def make(
        self, source: Source, node: ast.FunctionDef, names: tuple[Mapping[str, Any], ...]
    ) -> Macro:
        return GraphMacro(source, node, names, self.hygienic)
