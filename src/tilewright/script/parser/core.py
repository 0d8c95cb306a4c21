"""The parser of function bodies: statements, one syntax node at a time."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeVar

from tilewright.error import ScriptError
from tilewright.ir.recursion import pass_on_recursion_error
from tilewright.script.parser.evaluator import Evaluator
from tilewright.script.parser.scope import Scope
from tilewright.script.parser.source import Source, describe

Handler = Callable[["BodyParser", Any], None]
HandlerT = TypeVar("HandlerT", bound=Handler)

STATEMENTS: Final[dict[type[ast.AST], Handler]] = {}
"""What parses each kind of statement; filled by the modules that import this one."""


def parses(*kinds: type[ast.AST]) -> Callable[[HandlerT], HandlerT]:
    """Decorator: the function parses statements of these kinds."""

    def register(handler: HandlerT) -> HandlerT:
        for kind in kinds:
            STATEMENTS[kind] = handler
        return handler

    return register


class BodyParser:
    """Parses statements of one source into the constructs of a builder."""

    handlers: ClassVar[Mapping[type[ast.AST], Handler]] = STATEMENTS
    """What parses each kind of statement."""
    unsupported: ClassVar[Mapping[type[ast.AST], tuple[str, str]]] = {}
    """Further kinds that are refused: how each is written, and a hint."""

    def __init__(self, source: Source, scope: Scope, builder: Any) -> None:
        self.source, self.scope, self.builder = source, scope, builder
        builder.parser = type(self)
        self.evaluate: Any = self.evaluator()

    def evaluator(self) -> Evaluator:
        """What evaluates the expressions of statements."""
        return Evaluator(self.source, self.scope)

    def error(self, node: ast.AST, message: str) -> ScriptError:
        """The error `message` about a syntax node."""
        return self.source.error(node, message)

    def guarded(self, node: ast.AST, action: Callable[..., Any], *arguments: Any) -> Any:
        """The result of `action`, whose errors are about `node`."""
        try:
            return action(*arguments)
        except ScriptError:
            raise
        except Exception as error:
            pass_on_recursion_error(error)
            raise self.source.error(node, describe(error)) from error

    def block(self, statements: Sequence[ast.stmt], names: dict[str, Any] | None = None) -> None:
        """Parse an indented body, and close the constructs that it opened without ``with``."""
        depth = len(self.builder.frames)
        self.scope.push(names)
        for statement in statements:
            self.statement(statement)
        last = statements[-1]
        self.guarded(last, self.builder.close_to, depth)
        self.scope.pop(last.end_lineno or last.lineno)

    def statement(self, node: ast.stmt) -> None:
        """Parse one statement."""
        handler = self.handlers.get(node.__class__)
        if handler is None:
            name = type(node).__name__.lower()
            name, hint = {**_UNSUPPORTED, **self.unsupported}.get(node.__class__, (name, ""))
            raise self.error(node, f"`{name}` is not possible in a script{hint}")
        self.builder.span = self.source.span(node)
        self.guarded(node, handler, self, node)


_UNSUPPORTED: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Break: ("break", ": write `while` with a condition"),
    ast.Continue: ("continue", ": put the rest of the body into an `if`"),
    ast.Try: ("try", ""),
    ast.Raise: ("raise", ": write `assert condition, message`"),
    ast.ClassDef: ("class", ": modules stand outside of functions"),
    ast.AsyncFunctionDef: ("async", ""),
    ast.AsyncFor: ("async", ""),
    ast.AsyncWith: ("async", ""),
    ast.Import: ("import", ": import outside of the function"),
    ast.ImportFrom: ("import", ": import outside of the function"),
    ast.Global: ("global", ": names of the surrounding Python code are visible anyway"),
    ast.Nonlocal: ("nonlocal", ": names of the surrounding Python code are visible anyway"),
    ast.Delete: ("del", ""),
    ast.Match: ("match", ": write `if` and `elif`"),
}
