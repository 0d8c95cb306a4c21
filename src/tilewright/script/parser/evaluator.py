"""Evaluates Python expressions of a script, one syntax node at a time.

Every error is raised about the innermost node whose evaluation failed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeVar

from tilewright.error import ArgumentError, ScriptError
from tilewright.ir.dtype import VOID
from tilewright.ir.expr import Call
from tilewright.ir.module import GlobalVar
from tilewright.ir.recursion import pass_on_recursion_error
from tilewright.script.constructs.nodes import call_argument
from tilewright.script.parser.closed_world import TRUST
from tilewright.script.parser.scope import BUILTINS, MISSING, Scope
from tilewright.script.parser.source import Source, describe, is_iterable, suggestion

Handler = Callable[["Evaluator", Any], Any]
HandlerT = TypeVar("HandlerT", bound=Handler)

EXPRESSIONS: Final[dict[type[ast.AST], Handler]] = {}
"""What evaluates each kind of syntax node; filled by the modules that import this one."""


def evaluates(*kinds: type[ast.AST]) -> Callable[[HandlerT], HandlerT]:
    """Decorator: the function evaluates syntax nodes of these kinds."""

    def register(handler: HandlerT) -> HandlerT:
        for kind in kinds:
            EXPRESSIONS[kind] = handler
        return handler

    return register


class Evaluator:
    """Evaluates expressions of one source in one scope."""

    handlers: ClassVar[Mapping[type[ast.AST], Handler]] = EXPRESSIONS
    """What evaluates each kind of syntax node."""
    instead_of_builtins: ClassVar[Mapping[Any, str]] = {
        min: "T.min", max: "T.max", all: "T.all", any: "T.any", bool: "a comparison",
    }  # fmt: skip
    """What to write instead of builtins that need to know values."""

    def __init__(self, source: Source, scope: Scope) -> None:
        self.source, self.scope = source, scope

    def __call__(self, node: ast.AST) -> Any:
        """The value of an expression.

        Raises:
            ScriptError: for any failure, with its position.
        """
        handler = self.handlers.get(node.__class__)
        if handler is None:
            name = _WRITTEN.get(node.__class__, f"`{type(node).__name__}`")
            raise self.source.error(node, f"{name} is not possible in a script")
        try:
            return handler(self, node)
        except ScriptError:
            raise
        except Exception as error:
            pass_on_recursion_error(error)
            raise self.source.error(node, describe(error)) from error

    def made(self, value: Any) -> Any:
        """Account for a list or string that an expression makes; their total size is limited."""
        allowance = self.source.allowance
        return value if allowance is None else allowance.pay_for(value)

    def within(self, scope: Scope) -> Evaluator:
        """An evaluator like this one of expressions in another scope."""
        return Evaluator(self.source, scope)

    def call_function(
        self, callee: GlobalVar, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        """The call of a function of the module."""
        if keywords:
            raise ArgumentError("functions of the module take positional arguments only")
        module = self.scope.find("cls")
        dtypes = getattr(module, "return_dtypes", {})
        return Call(dtypes.get(callee, VOID), callee, tuple(map(call_argument, arguments)))


_WRITTEN: Final[dict[type[ast.AST], str]] = {
    ast.Await: "`await`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield from`",
    ast.NamedExpr: "`:=`",
}


@evaluates(ast.Constant)
def _constant(evaluator: Evaluator, node: ast.Constant) -> Any:
    if isinstance(node.value, (complex, bytes)):
        kind = type(node.value).__name__
        raise evaluator.source.error(node, f"{kind} constants are not possible in a script")
    return node.value


@evaluates(ast.Name)
def _name(evaluator: Evaluator, node: ast.Name) -> Any:
    scope = evaluator.scope
    value = scope.find(node.id)
    if value is not MISSING:
        return value
    line = scope.left_at(node.id)
    if line:
        message = f"`{node.id}` is defined only in a block that ended at line {line}"
    else:
        message = undefined_name(evaluator, node.id)
    raise evaluator.source.error(node, message)


def undefined_name(evaluator: Evaluator, name: str) -> str:
    """The error of an undefined name."""
    if evaluator.source.allowance is not None and name in BUILTINS:
        return f"a text may not use the builtin `{name}`; {TRUST}"
    return f"undefined name `{name}`{suggestion(name, *evaluator.scope.names())}"


def _items(evaluator: Evaluator, nodes: list[ast.expr]) -> list[Any]:
    """The values of several expressions, possibly starred."""
    values: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            values.extend(evaluator(node.value))
        else:
            values.append(evaluator(node))
    return evaluator.made(values)


@evaluates(ast.Tuple)
def _tuple(evaluator: Evaluator, node: ast.Tuple) -> Any:
    return tuple(_items(evaluator, node.elts))


@evaluates(ast.List)
def _list(evaluator: Evaluator, node: ast.List) -> Any:
    return _items(evaluator, node.elts)


@evaluates(ast.Set)
def _set(evaluator: Evaluator, node: ast.Set) -> Any:
    return set(_items(evaluator, node.elts))


@evaluates(ast.Dict)
def _dict(evaluator: Evaluator, node: ast.Dict) -> Any:
    values: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            values.update(evaluator(value))
        else:
            values[evaluator(key)] = evaluator(value)
    return evaluator.made(values)


@evaluates(ast.Slice)
def _slice(evaluator: Evaluator, node: ast.Slice) -> Any:
    parts = (node.lower, node.upper, node.step)
    return slice(*(None if part is None else evaluator(part) for part in parts))


@evaluates(ast.Starred)
def _starred(evaluator: Evaluator, node: ast.Starred) -> Any:
    raise evaluator.source.error(node, "`*` is not possible here")


@evaluates(ast.JoinedStr)
def _joined(evaluator: Evaluator, node: ast.JoinedStr) -> str:
    return evaluator.made("".join(str(evaluator(part)) for part in node.values))


@evaluates(ast.FormattedValue)
def _formatted(evaluator: Evaluator, node: ast.FormattedValue) -> str:
    value = evaluator(node.value)
    convert = {ord("r"): repr, ord("s"): str, ord("a"): ascii}.get(node.conversion)
    if convert is not None:
        value = convert(value)
    if node.format_spec is None:
        return format(value)
    spec = evaluator(node.format_spec)
    if any(int(number) > 1000 for number in "".join(_digits(spec)).split()):
        raise evaluator.source.error(node, f"the format {spec!r} is too wide")
    return format(value, spec)


def _digits(text: str) -> list[str]:
    return [c if c.isascii() and c.isdigit() else " " for c in text]


# --- functions and comprehensions -----------------------------------------------------------


@evaluates(ast.Lambda)
def _lambda(evaluator: Evaluator, node: ast.Lambda) -> Any:
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise evaluator.source.error(node, "a lambda in a script has plain parameters only")
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    return LambdaFunction(evaluator.within(Scope(evaluator.scope.snapshot())), names, node)


class LambdaFunction:
    """A lambda of a script, callable from Python."""

    def __init__(self, evaluator: Evaluator, names: list[str], node: ast.Lambda) -> None:
        import inspect

        self._evaluator, self._names, self._node = evaluator, names, node
        self.__name__ = "<lambda>"
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])

    def __repr__(self) -> str:
        return "a lambda"

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self._names):
            raise TypeError(f"the lambda takes {len(self._names)} arguments, got {len(values)}")
        scope = self._evaluator.scope
        scope.push(dict(zip(self._names, values, strict=True)))
        try:
            return self._evaluator(self._node.body)
        finally:
            scope.pop()


@evaluates(ast.ListComp)
def _list_comprehension(evaluator: Evaluator, node: ast.ListComp) -> Any:
    return _comprehension(evaluator, node, lambda: evaluator(node.elt))


@evaluates(ast.GeneratorExp)
def _generator(evaluator: Evaluator, node: ast.GeneratorExp) -> Any:
    return _comprehension(evaluator, node, lambda: evaluator(node.elt))


@evaluates(ast.SetComp)
def _set_comprehension(evaluator: Evaluator, node: ast.SetComp) -> Any:
    return set(_comprehension(evaluator, node, lambda: evaluator(node.elt)))


@evaluates(ast.DictComp)
def _dict_comprehension(evaluator: Evaluator, node: ast.DictComp) -> Any:
    pairs = _comprehension(evaluator, node, lambda: (evaluator(node.key), evaluator(node.value)))
    return dict(pairs)


_MOST_ITEMS: Final = 1_000_000


def _comprehension(evaluator: Evaluator, node: Any, element: Callable[[], Any]) -> list[Any]:
    """The elements of a comprehension over Python values."""
    found: list[Any] = []

    def run(depth: int) -> None:
        if depth == len(node.generators):
            found.append(element())
            if len(found) > _MOST_ITEMS:
                raise evaluator.source.error(node, f"more than {_MOST_ITEMS} elements")
            return
        generator = node.generators[depth]
        values = evaluator(generator.iter)
        if not is_iterable(values):
            raise evaluator.source.error(
                generator.iter,
                f"a comprehension runs over Python values such as range(4) or a list, not over "
                f"{evaluator.source.text_of(generator.iter)}; write a for loop",
            )
        for value in values:
            if evaluator.source.allowance is not None:
                evaluator.source.allowance.spend(1)
            evaluator.scope.push()
            try:
                _bind_plain(evaluator, generator.target, value)
                if all(evaluator(condition) for condition in generator.ifs):
                    run(depth + 1)
            finally:
                evaluator.scope.pop()

    run(0)
    return found


def _bind_plain(evaluator: Evaluator, target: ast.expr, value: Any) -> None:
    """Bind the names of a comprehension."""
    if isinstance(target, ast.Name):
        evaluator.scope.define(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        values = list(value)
        if len(values) != len(target.elts):
            raise evaluator.source.error(
                target, f"{len(target.elts)} names for {len(values)} values"
            )
        for item, part in zip(target.elts, values, strict=True):
            _bind_plain(evaluator, item, part)
    else:
        raise evaluator.source.error(target, "expected a name")
