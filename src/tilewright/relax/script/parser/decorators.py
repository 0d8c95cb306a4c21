"""`R.function` and `R.macro`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tilewright.error import VerifyError
from tilewright.ir.module import BaseFunc, IRModule
from tilewright.ir.node import Span
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.expr import Function
from tilewright.relax.script.parser.functions import parse_function
from tilewright.script.parser.calls import ModuleReference
from tilewright.script.parser.decorators import FunctionDecorator
from tilewright.script.parser.macro import Macro, MacroDecorator
from tilewright.script.parser.scope import Scope
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


class GraphFunctionDecorator(FunctionDecorator):
    """`R.function`, with or without options."""

    def __init__(
        self, pure: bool = True, private: bool = False, check_well_formed: bool = True
    ) -> None:
        self.pure, self.private, self.check_well_formed = pure, private, check_well_formed

    def __call__(
        self,
        f: Any = None,
        pure: bool | None = None,
        private: bool | None = None,
        check_well_formed: bool | None = None,
    ) -> Any:
        """Parse a function to a graph function.

        Args:
            f: the function.
            pure: whether it has no effect but its result.
            private: leave out the `global_symbol`, so that it is not exported.
            check_well_formed: verify the result, and with it all of the module that it is in.
        """
        chosen = GraphFunctionDecorator(
            self.pure if pure is None else pure,
            self.private if private is None else private,
            self.check_well_formed if check_well_formed is None else check_well_formed,
        )
        return chosen if f is None else chosen.decorate(f, 2)

    def __repr__(self) -> str:
        return "R.function"

    def parse(
        self,
        source: Source,
        node: ast.FunctionDef,
        names: tuple[Mapping[str, Any], ...],
        check_well_formed: bool = True,
    ) -> BaseFunc:
        should_check = check_well_formed and self.check_well_formed
        result = parse_function(
            source, node, names, pure=self.pure, private=self.private, verifies=should_check
        )
        is_member = isinstance(Scope(names).find("cls"), ModuleReference)
        if should_check and not is_member:
            _check(source, source.span(node), result)
        return result

    def check_module(self, source: Source, module: IRModule) -> None:
        _check(source, Span(source.filename, 1, 0, 1, 1), module)


def _check(source: Source, place: Span, checked: Function | IRModule) -> None:
    """Refuse an ill-formed function or module, at the position of the mistake if known."""
    try:
        check_well_formed(checked)
    except VerifyError as error:
        raise source.error_at(error.span or place, error.rule) from None


function = GraphFunctionDecorator()
macro = GraphMacroDecorator()
