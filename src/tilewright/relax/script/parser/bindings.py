"""Statements that bind variables: assignments, and values whose effect matters."""

from __future__ import annotations

import ast
from typing import Any, Final

from tilewright.error import DiagnosticError, StructInfoError
from tilewright.ir.expr import Var as Size
from tilewright.ir.module import GlobalVar
from tilewright.ir.node import Span
from tilewright.relax.expr import (
    Call,
    Constant,
    DataflowVar,
    MatchCast,
    PrimValue,
    RelaxExpr,
    ShapeExpr,
    TupleGetItem,
    Var,
    VarBinding,
    as_relax,
)
from tilewright.relax.normalize import value_struct_info
from tilewright.relax.op.table import operator_of
from tilewright.relax.script.annotations import as_struct_info
from tilewright.relax.script.context import Declaration, GraphBuilder
from tilewright.relax.script.parser.evaluator import GraphParser, parses_graph
from tilewright.relax.script.statements import (
    BranchFrame,
    Cast,
    DataflowFrame,
    Emission,
    IfFrame,
    ReturnedValue,
)
from tilewright.relax.struct_info import StructInfo, TupleStructInfo
from tilewright.relax.struct_info_relation import BaseCheckResult, struct_info_base_check
from tilewright.script.builder import Frame, set_name
from tilewright.script.constructs.function import MetaVar
from tilewright.script.parser.operators import binary
from tilewright.script.parser.source import is_iterable, kind_of


def bind_value(
    builder: GraphBuilder,
    name: str,
    value: Any,
    span: Span | None,
    *,
    annotation: StructInfo | None = None,
    is_output: bool = False,
) -> Var:
    """Bind a value to a new variable.

    Args:
        builder: where to.
        name: of the variable; empty for one that is made up.
        value: an expression, or what `R.emit` or `R.match_cast` gives.
        span: where it is written.
        annotation: declared struct info.
        is_output: whether it can be used after the dataflow block that it is in.
    """
    blocks = builder.blocks
    is_local = blocks.in_dataflow and not is_output
    kind = DataflowVar if is_local else Var
    name = name or blocks.get_unique_name("lv" if blocks.in_dataflow else "gv")
    if isinstance(value, Cast):
        var = kind(name, annotation or value.struct_info, span)
        return blocks.emit_normalized(MatchCast(var, value.value, value.struct_info, span))
    if isinstance(value, Emission):
        annotation, value = annotation or value.struct_info, value.value
    operand = blocks.normalize(as_relax(value))
    if annotation is not None:
        _check_annotation(builder, name, annotation, value_struct_info(blocks, operand), span)
    return blocks.emit_normalized(VarBinding(kind(name, annotation, span), operand, span))


def _check_annotation(
    builder: GraphBuilder, name: str, said: StructInfo, known: StructInfo, span: Span | None
) -> None:
    """Refuse an annotation that contradicts the value, or that says more than is known of it."""
    result = struct_info_base_check(said, known, builder.blocks.analyzer)
    if result is BaseCheckResult.FAIL_L0:
        raise StructInfoError(f"`{name}` is said to be {said!r}, but its value is {known!r}", span)
    if result is BaseCheckResult.FAIL_L1 and builder.verifies:
        raise StructInfoError(
            f"`{name}` is said to be {said!r}, but of its value only {known!r} is known: write "
            f"R.match_cast(value, {said!r}), which checks it when the program runs",
            span,
        )


# --- assignments -----------------------------------------------------------------------------


@parses_graph(ast.Assign)
def _assign(parser: GraphParser, node: ast.Assign) -> None:
    value = parser.evaluate.unbound(node.value)
    first, *others = node.targets
    if others and isinstance(value, RelaxExpr) and not isinstance(value, Var):
        raise parser.error(node, "one name for a value: write `b = a` in a line of its own")
    bound = assign(parser, node, first, value)
    for target in others:
        if not isinstance(target, ast.Name):
            raise parser.error(target, "of several names for one value, each stands alone")
        parser.scope.define(target.id, bound)


@parses_graph(ast.AugAssign)
def _augmented(parser: GraphParser, node: ast.AugAssign) -> None:
    assign(parser, node, node.target, augmented_value(parser, node))


def augmented_value(parser: GraphParser, node: ast.AugAssign) -> Any:
    """The value that ``x += y`` gives to ``x``."""
    if not isinstance(node.target, ast.Name):
        raise parser.error(node.target, _NO_CHANGE)
    old = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    return binary(type(node.op), parser.evaluate(old), parser.evaluate(node.value))


@parses_graph(ast.AnnAssign)
def _annotated(parser: GraphParser, node: ast.AnnAssign) -> None:
    if not isinstance(node.target, ast.Name):
        raise parser.error(node.target, "only names can be annotated")
    known = annotation_of(parser, node)
    if node.value is None:
        function = parser.builder.function
        function.declared[function.branches, node.target.id] = Declaration(known, node)
        return
    assign(parser, node, node.target, parser.evaluate.unbound(node.value), known)


def annotation_of(parser: GraphParser, node: ast.AnnAssign) -> StructInfo:
    """The struct info of an annotated assignment."""
    annotation = parser.evaluate(node.annotation)
    return parser.guarded(node.annotation, as_struct_info, annotation)


def assign(
    parser: GraphParser,
    statement: ast.stmt,
    target: ast.expr,
    value: Any,
    annotation: StructInfo | None = None,
) -> Any:
    """Assign `value` to a name or several; what the name stands for."""
    if isinstance(target, ast.Name):
        named = parser.guarded(statement, _named, parser, statement, target, value, annotation)
        parser.scope.define(target.id, named)
        return named
    if isinstance(target, (ast.Tuple, ast.List)):
        return _unpack(parser, statement, target, value)
    if isinstance(target, ast.Starred):
        raise parser.error(target, "`*` is not possible here: write one name for each field")
    raise parser.error(target, _NO_CHANGE)


_NO_CHANGE: Final = "values of a graph do not change: an assignment gives a name to a value"


def _unpack(
    parser: GraphParser, statement: ast.stmt, target: ast.Tuple | ast.List, value: Any
) -> Any:
    """Assign the fields of a tuple to several names."""
    if isinstance(value, (RelaxExpr, Emission, Cast)):
        value = _fields(parser, target, value)
    if isinstance(value, str) or not is_iterable(value):
        raise parser.error(target, f"{len(target.elts)} names for a single value")
    values = list(value)
    if len(values) != len(target.elts):
        raise parser.error(target, f"{len(target.elts)} names for {len(values)} values")
    for item, part in zip(target.elts, values, strict=True):
        assign(parser, statement, item, part)
    return value


def _fields(parser: GraphParser, target: ast.expr, value: Any) -> list[RelaxExpr]:
    """The fields of a value, which is bound first."""
    span = parser.source.span(target)
    if isinstance(value, Var):
        var = value
    else:
        var = parser.guarded(target, bind_value, parser.builder, "", value, span)
    info = var.struct_info
    if not isinstance(info, TupleStructInfo):
        raise parser.error(target, f"several names for a value that is not a tuple but {info!r}")
    return [TupleGetItem(var, index, None, span) for index in range(len(info.fields))]


_FRAMES: Final = (DataflowFrame, IfFrame, BranchFrame)
"""What ``with`` opens."""


def _named(
    parser: GraphParser,
    statement: ast.stmt,
    target: ast.Name,
    value: Any,
    annotation: StructInfo | None,
) -> Any:
    """What a name stands for after ``name = value``."""
    builder, name = parser.builder, target.id
    if isinstance(value, MetaVar):
        return value.value
    if isinstance(value, (Frame, ReturnedValue, *_FRAMES)):
        written = parser.source.text_of(getattr(statement, "value", statement))
        raise DiagnosticError(f"`{written}` is not a value of a graph")
    if isinstance(value, Size) and not value.name:
        return _declared_size(builder, name, value)
    if annotation is None and not _is_graph_value(value):
        return value
    dataflow = builder.function.dataflow
    is_output = dataflow is not None and dataflow.outputs.get(name) is statement
    return bind_value(
        builder,
        name,
        value,
        parser.source.span(statement),
        annotation=annotation,
        is_output=is_output,
    )


def _declared_size(builder: GraphBuilder, name: str, size: Size) -> Size:
    """The symbolic size after ``name = T.int64()``: that of the signature, or a new one."""
    known = builder.find_size(name)
    if known is not None:
        if known.dtype is not size.dtype:
            raise DiagnosticError(
                f"the symbolic size `{name}` has dtype {known.dtype!s}: "
                f"{name} = T.{known.dtype!s}()"
            )
        return known
    set_name(size, name)
    builder.function.sizes[name] = size
    return size


def _is_graph_value(value: Any) -> bool:
    """Whether a value is bound to a variable of the graph, rather than kept as Python's."""
    if isinstance(value, (tuple, list)):
        return any(map(_is_graph_value, value))
    return isinstance(value, (RelaxExpr, GlobalVar, Emission, Cast))


# --- values alone ----------------------------------------------------------------------------


@parses_graph(ast.Expr)
def _expression(parser: GraphParser, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, (str, type(...))):
        return  # a docstring, or `...`
    value = parser.evaluate.unbound(node.value)
    if value is None:
        return
    if isinstance(value, _FRAMES):
        written = parser.source.text_of(node)
        raise parser.error(node, f"this is opened by `with {written}:`")
    if isinstance(value, ReturnedValue):
        from tilewright.relax.script.parser.control import end_function

        end_function(parser, node, value.value, node.value)
        return
    if isinstance(value, (Var, GlobalVar)) or not _is_graph_value(value):
        raise parser.error(node, f"this has no effect: it is {kind_of(value)}")
    bound = bind_value(parser.builder, "_", value, parser.source.span(node))
    is_void = isinstance(bound.struct_info, TupleStructInfo) and not bound.struct_info.fields
    if not is_void and _has_no_effect(value):
        raise parser.error(
            node,
            f"this has no effect: its value, {bound.struct_info!r}, is not bound; write "
            "`name = ...`, or leave it out",
        )


def _has_no_effect(value: Any) -> bool:
    """Whether a value could be left out if nothing uses it."""
    operator = operator_of(value)
    if isinstance(value, Call):
        return operator is not None and operator.is_pure
    return isinstance(value, (Constant, PrimValue, ShapeExpr, TupleGetItem))


@parses_graph(ast.Pass)
def _pass(parser: GraphParser, node: ast.Pass) -> None:
    del parser, node
