"""Parsing of function bodies: statements, and expressions that build calls of operators."""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from tilewright.error import ArgumentError, DTypeError, StructInfoError
from tilewright.ir.module import GlobalVar
from tilewright.relax.expr import Call, RelaxExpr
from tilewright.relax.script.annotations import StructInfoFunction
from tilewright.relax.script.context import GraphBuilder
from tilewright.relax.script.statements import Cast, Emission
from tilewright.relax.struct_info import StructInfo
from tilewright.script.parser.core import BodyParser
from tilewright.script.parser.evaluator import EXPRESSIONS, Evaluator, undefined_name
from tilewright.script.parser.operators import COMPARISONS
from tilewright.script.parser.scope import MISSING, Scope
from tilewright.script.parser.source import Source

Handler = Callable[[Any, Any], Any]

GRAPH_EXPRESSIONS: Final[dict[type[ast.AST], Handler]] = {}
"""What evaluates syntax nodes in a graph function in another way than in a tensor program."""


class GraphEvaluator(Evaluator):
    """Evaluates expressions of a graph function."""

    handlers: ClassVar[Mapping[type[ast.AST], Handler]] = ChainMap(GRAPH_EXPRESSIONS, EXPRESSIONS)
    instead_of_builtins: ClassVar[Mapping[Any, str]] = {
        min: "R.minimum", max: "R.maximum", all: "R.logical_and", any: "R.logical_or",
        bool: "an `if` statement",
    }  # fmt: skip

    def __init__(self, source: Source, scope: Scope, builder: GraphBuilder) -> None:
        super().__init__(source, scope)
        self.builder = builder
        self._callee: ast.AST | None = None

    def __call__(self, node: ast.AST) -> Any:
        """The value of an expression; calls inside of it are bound at once."""
        value = self.unbound(node)
        if isinstance(value, (Emission, Cast)):
            from tilewright.relax.script.parser.bindings import bind_value

            return bind_value(self.builder, "", value, self.source.span(node))
        return value

    def unbound(self, node: ast.AST) -> Any:
        """The value of an expression, which may be one that is still to be bound."""
        value = super().__call__(node)
        if isinstance(value, Call) and value.span is None:
            return value.replace(span=self.source.span(node))
        if isinstance(value, GlobalVar):
            self.declare(node, value)
        if isinstance(value, StructInfoFunction) and node is not self._callee:
            return self._alone(node, value)
        return value

    def _alone(self, node: ast.AST, value: StructInfoFunction) -> Any:
        """Struct info that is written without parentheses, such as `R.Object`."""
        try:
            return value()
        except ArgumentError as error:
            raise self.source.error(node, str(error)) from None

    def within(self, scope: Scope) -> GraphEvaluator:
        return GraphEvaluator(self.source, scope, self.builder)

    def within_names(self, names: tuple[Mapping[str, Any], ...]) -> GraphEvaluator:
        """An evaluator in a new function, around which `names` are visible."""
        scope = Scope(names)
        scope.push()
        return self.within(scope)

    def declare(self, node: ast.AST, name: GlobalVar) -> None:
        """Make known the signature of a function of the module."""
        from tilewright.relax.script.parser.signatures import declare

        declare(self, node, name)

    def call_function(self, callee: GlobalVar, arguments: list[Any], keywords: Any) -> Any:
        """The call of a function of the module."""
        if keywords:
            raise ArgumentError("functions of the module take positional arguments only")
        if self.builder.is_tensor_program(callee):
            name = callee.name_hint
            raise ArgumentError(
                f"`{name}` is a tensor program, which writes into its arguments: write "
                f"R.call_tir(cls.{name}, (...), out_sinfo=R.Tensor(...))"
            )
        return Call(callee, arguments)


def in_graph(*kinds: type[ast.AST]) -> Callable[[Handler], Handler]:
    """Decorator: the function evaluates syntax nodes of these kinds in graph functions."""

    def register(handler: Handler) -> Handler:
        for kind in kinds:
            GRAPH_EXPRESSIONS[kind] = handler
        return handler

    return register


@in_graph(ast.Name)
def _name(evaluator: GraphEvaluator, node: ast.Name) -> Any:
    scope = evaluator.scope
    value = scope.find(node.id)
    if value is not MISSING:
        return value
    line = scope.left_at(node.id)
    if line:
        message = (
            f"`{node.id}` is known only in the block that ended at line {line}: what is used "
            f"after a dataflow block is an argument of its R.output, and after branches the "
            "variable that both assign last"
        )
    elif evaluator.builder.find_size(node.id) is not None:
        message = f"the symbolic size `{node.id}` needs a declaration: {node.id} = T.int64()"
    else:
        message = undefined_name(evaluator, node.id)
        if evaluator.builder.function.in_signature:
            message += f'; in a signature, a symbolic size is a string: "{node.id}"'
    raise evaluator.source.error(node, message)


@in_graph(ast.Call)
def _call(evaluator: GraphEvaluator, node: ast.Call) -> Any:
    evaluator._callee = node.func
    return EXPRESSIONS[ast.Call](evaluator, node)


_ATTRIBUTES: Final = {
    "shape": "write R.shape_of(x), or the symbolic sizes of its struct info, such as n",
    "dtype": "the dtype is part of its struct info",
    "ndim": "the rank is part of its struct info",
}
"""What users look for at arrays, and where it is."""


@in_graph(ast.Attribute)
def _attribute(evaluator: GraphEvaluator, node: ast.Attribute) -> Any:
    owner = evaluator.scope.find(node.value.id) if isinstance(node.value, ast.Name) else None
    if node.attr in _ATTRIBUTES and isinstance(owner, RelaxExpr):
        written = evaluator.source.text_of(node)
        raise ArgumentError(f"there is no `{written}` in a script: {_ATTRIBUTES[node.attr]}")
    return EXPRESSIONS[ast.Attribute](evaluator, node)


@in_graph(ast.Subscript)
def _subscript(evaluator: GraphEvaluator, node: ast.Subscript) -> Any:
    is_name = isinstance(node.value, ast.Attribute)  # so evaluating it twice does no harm
    if is_name and isinstance(evaluator(node.value), StructInfo):
        written = evaluator.source.text_of(node.value)
        raise ArgumentError(f"struct info is called: write {written}(...)")
    return EXPRESSIONS[ast.Subscript](evaluator, node)


@in_graph(ast.Compare)
def _compare(evaluator: GraphEvaluator, node: ast.Compare) -> Any:
    values = [evaluator(node.left), *map(evaluator, node.comparators)]
    if not any(isinstance(value, RelaxExpr) for value in values):
        return EXPRESSIONS[ast.Compare](evaluator, node)
    if len(node.ops) > 1:
        raise DTypeError("only two values are compared at a time: combine with R.logical_and")
    kind = type(node.ops[0])
    if kind in _PYTHON_ONLY:
        raise DTypeError(
            f"`{COMPARISONS[kind][0]}` asks what Python knows of values, not their elements: "
            "compare arrays with `==`"
        )
    if kind in _EQUALITY:
        from tilewright.relax.script.operators import find

        return find(_EQUALITY[kind])(*values)
    return COMPARISONS[kind][1](*values)


_PYTHON_ONLY: Final = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
_EQUALITY: Final[dict[type[ast.cmpop], str]] = {ast.Eq: "equal", ast.NotEq: "not_equal"}


_INSTEAD: Final[dict[type[ast.AST], str]] = {
    ast.And: "R.logical_and(a, b)",
    ast.Or: "R.logical_or(a, b)",
    ast.Not: "R.logical_not(a)",
}


@in_graph(ast.BoolOp)
def _bool_operator(evaluator: GraphEvaluator, node: ast.BoolOp) -> Any:
    return EXPRESSIONS[ast.BoolOp](_Refusing(evaluator, _INSTEAD[type(node.op)]), node)


@in_graph(ast.UnaryOp)
def _unary(evaluator: GraphEvaluator, node: ast.UnaryOp) -> Any:
    if isinstance(node.op, ast.Not):
        return EXPRESSIONS[ast.UnaryOp](_Refusing(evaluator, _INSTEAD[ast.Not]), node)
    return EXPRESSIONS[ast.UnaryOp](evaluator, node)


@in_graph(ast.IfExp)
def _if_expression(evaluator: GraphEvaluator, node: ast.IfExp) -> Any:
    _Refusing(evaluator, "an `if` statement, or R.where(condition, a, b)")(node.test)
    return EXPRESSIONS[ast.IfExp](evaluator, node)


class _Refusing(GraphEvaluator):
    """An evaluator of operands whose truth Python needs to know, which that of an array is not."""

    def __init__(self, evaluator: GraphEvaluator, instead: str) -> None:
        super().__init__(evaluator.source, evaluator.scope, evaluator.builder)
        self._evaluator, self._instead = evaluator, instead

    def __call__(self, node: ast.AST) -> Any:
        value = self._evaluator(node)
        if isinstance(value, RelaxExpr):
            raise self.source.error(
                node, f"Python does not know the elements of an array: write {self._instead}"
            )
        return value


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
