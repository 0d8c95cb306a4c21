"""Parses one function definition into a `PrimFunc`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tilewright.error import VerifyError
from tilewright.ir.dtype import VOID, DType
from tilewright.ir.expr import values_unknown
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.types import PointerType, PrimType, Type
from tilewright.script.builder import Builder, FunctionFrame
from tilewright.script.constructs.dtypes import type_of_annotation
from tilewright.script.constructs.function import returned_type
from tilewright.script.parser import calls as _calls  # registers what evaluates calls
from tilewright.script.parser import statements as _statements  # registers all statements
from tilewright.script.parser.core import BodyParser
from tilewright.script.parser.evaluator import Evaluator
from tilewright.script.parser.scope import Scope
from tilewright.script.parser.source import Source
from tilewright.tir.analysis.verify import verify_well_formed
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc

del _calls, _statements


@deep_recursion
def parse_prim_func(
    source: Source,
    node: ast.FunctionDef,
    names: tuple[Mapping[str, Any], ...],
    *,
    private: bool = False,
    check_well_formed: bool = True,
) -> PrimFunc:
    """The function that a definition stands for.

    Args:
        source: where it is written.
        node: the definition.
        names: what is visible around it, innermost first.
        private: whether it has no `global_symbol`.
        check_well_formed: whether to make blocks independent of the loops around them, and to
            verify the result (see `verify_well_formed`).

    Raises:
        ScriptError: for any mistake in it.
    """
    scope = Scope(names)
    with Builder() as builder, values_unknown(None):
        parser = BodyParser(source, scope, builder)
        builder.scopes.append(scope)
        builder.span = source.span(node)
        frame = FunctionFrame(node.name, private)
        frame.binds_loops = check_well_formed
        with frame:
            _parameters(parser, frame, node.args)
            _return_type(parser, frame, node)
            parser.block(node.body)
    result = frame.result
    assert result is not None
    if check_well_formed:
        _verify(source, node, result)
    return result


def _verify(source: Source, node: ast.FunctionDef, function: PrimFunc) -> None:
    try:
        verify_well_formed(function)
    except VerifyError as error:
        raise source.error_at(error.span or source.span(node), error.rule) from None


def _parameters(parser: BodyParser, frame: FunctionFrame, arguments: ast.arguments) -> None:
    for unsupported in (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs):
        if unsupported is not None:
            raise parser.error(unsupported, "a script function has plain parameters only")
    if arguments.defaults:
        raise parser.error(arguments.defaults[0], "parameters have no default values")
    seen: set[str] = set()
    for parameter in (*arguments.posonlyargs, *arguments.args):
        name = parameter.arg
        if name in seen:
            raise parser.error(parameter, f"the parameter `{name}` occurs twice")
        seen.add(name)
        if parameter.annotation is None:
            raise parser.error(
                parameter, f"the parameter `{name}` needs a type, such as T.handle or T.Buffer(...)"
            )
        annotation = parser.evaluate(parameter.annotation)
        value = annotation
        if not isinstance(annotation, Buffer):
            value = parser.guarded(parameter.annotation, type_of_annotation, annotation)
        if value is None:
            raise parser.error(
                parameter.annotation, "expected a type: T.Buffer(...), T.handle, T.int32, ..."
            )
        parser.scope.define(name, frame.add_param(name, value))


def _return_type(parser: BodyParser, frame: FunctionFrame, node: ast.FunctionDef) -> None:
    if node.returns is not None:
        annotation = parser.evaluate(node.returns)
        frame.ret_type = parser.guarded(node.returns, returned_type, annotation)


def return_dtype(evaluate: Evaluator, node: ast.FunctionDef) -> DType:
    """The dtype of a call of a function, from its return annotation."""
    if node.returns is None:
        return VOID
    annotation: Type | None = returned_type(evaluate(node.returns))
    if isinstance(annotation, PrimType):
        return annotation.dtype
    return DType("handle") if isinstance(annotation, PointerType) else VOID
