"""Macros: functions whose statements become part of the function that calls them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tilewright.error import DiagnosticError
from tilewright.script.builder.stack import current_builder
from tilewright.script.constructs.function import MetaVar
from tilewright.script.parser.core import BodyParser
from tilewright.script.parser.evaluator import Evaluator
from tilewright.script.parser.scope import Scope, definition_of
from tilewright.script.parser.source import Source

_DEEPEST = 64
"""Macros that call each other more deeply are taken for an endless recursion."""


class Macro:
    """A macro; calling it inside of a script function adds its statements there.

    Args:
        source: where it is written.
        node: its definition.
        names: names visible at the definition, innermost scope first.
        hygienic: whether its free names mean what they mean at its definition, rather than at
            its call.
    """

    def __init__(
        self,
        source: Source,
        node: ast.FunctionDef,
        names: tuple[Mapping[str, Any], ...],
        hygienic: bool,
    ) -> None:
        self._source, self.node, self._names, self.hygienic = source, node, names, hygienic
        self.__name__ = node.name

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        builder = current_builder()
        if builder is None:
            raise DiagnosticError(f"the macro {self.__name__} is called inside of a script only")
        if len(builder.scopes) >= _DEEPEST:
            raise DiagnosticError(f"the macro {self.__name__} calls itself without end")
        names = self._names
        if not self.hygienic and builder.scopes:
            names = builder.scopes[-1].snapshot()
        scope = Scope(names)
        bound = self._bind(arguments, keywords)
        span = builder.span
        builder.scopes.append(scope)
        try:
            parser = builder.parser or BodyParser
            return self.run(parser(self._source, scope, builder), bound)
        finally:
            builder.scopes.pop()
            builder.span = span

    def run(self, parser: Any, bound: dict[str, Any]) -> Any:
        """Parse the statements with the parameters `bound`."""
        if any(isinstance(statement, ast.Return) for statement in self.node.body):
            raise self._source.error(self.node, "a macro adds statements, it returns nothing")
        parser.block(self.node.body, bound)

    def _bind(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """The parameters with their values."""
        spec = self.node.args
        names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        if len(arguments) > len(names) and spec.vararg is None:
            raise TypeError(f"{self.__name__}() takes {len(names)} arguments, got {len(arguments)}")
        bound = dict(zip(names, arguments, strict=False))
        evaluate = Evaluator(self._source, Scope(self._names))
        defaults = dict(zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=True))
        keyword_only = dict(zip((a.arg for a in spec.kwonlyargs), spec.kw_defaults, strict=True))
        for name in (*names, *keyword_only):
            default = defaults.get(name) or keyword_only.get(name)
            if name in keywords:
                if name in bound:
                    raise TypeError(f"{self.__name__}() got two values for {name!r}")
                bound[name] = keywords.pop(name)
            elif name not in bound:
                if default is None:
                    raise TypeError(f"{self.__name__}() needs a value for {name!r}")
                bound[name] = evaluate(default)
        if keywords and spec.kwarg is None:
            raise TypeError(f"{self.__name__}() has no parameter {next(iter(keywords))!r}")
        if spec.vararg is not None:
            bound[spec.vararg.arg] = tuple(map(_plain, arguments[len(names) :]))
        if spec.kwarg is not None:
            bound[spec.kwarg.arg] = {name: _plain(value) for name, value in keywords.items()}
        return {name: _plain(value) for name, value in bound.items()}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, MetaVar) else value


class MacroDecorator:
    """`T.macro`, with or without options."""

    written = "T.macro"

    def __init__(self, hygienic: bool = True) -> None:
        self.hygienic = hygienic

    def __call__(self, function: Any = None, *, hygienic: bool | None = None) -> Any:
        if function is None:
            return type(self)(self.hygienic if hygienic is None else hygienic)
        definition = definition_of(function, depth=1)
        return self.make(definition.source, definition.node, definition.names)

    def make(
        self, source: Source, node: ast.FunctionDef, names: tuple[Mapping[str, Any], ...]
    ) -> Macro:
        """The macro of a definition; arguments are those of `Macro`."""
        return Macro(source, node, names, self.hygienic)

    def __repr__(self) -> str:
        return self.written


def define_macro(evaluate: Evaluator, node: ast.FunctionDef) -> Macro:
    """The macro that a definition inside of a script makes."""
    decorators = [evaluate(item) for item in node.decorator_list]
    if len(decorators) != 1 or not isinstance(decorators[0], MacroDecorator):
        place = node.decorator_list[0] if node.decorator_list else node
        raise evaluate.source.error(
            place, "a function inside of a function is a macro: decorate it with `@T.macro`"
        )
    return decorators[0].make(evaluate.source, node, evaluate.scope.snapshot())
