"""Decorated functions: `T.prim_func`, alone or as part of a module."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError, ScriptError, VerifyError
from tilewright.ir.dtype import VOID, DType, PointerType, PrimType, Type
from tilewright.ir.expr import values_unknown
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.recursion import deep_recursion
from tilewright.script.builder import Builder, FunctionFrame
from tilewright.script.constructs.dtypes import type_of_annotation
from tilewright.script.constructs.function import returned_type
from tilewright.script.parser import calls as _calls  # registers the evaluation of calls
from tilewright.script.parser import statements as _statements  # registers all statements
from tilewright.script.parser.calls import ModuleReference
from tilewright.script.parser.core import BodyParser
from tilewright.script.parser.evaluator import Evaluator
from tilewright.script.parser.scope import Definition, Scope, definition_of, is_class_body
from tilewright.script.parser.source import Source, without_internals
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
        names: visible names, innermost scope first.
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


class FunctionDecorator:
    """Base class of decorators such as `T.prim_func`.

    A function on its own is parsed at once. In the body of a class it waits: if the class is a
    module, the module parses it; if not, the class's attribute is the parsed function.
    """

    check_well_formed = True
    """Whether to verify the result."""

    def __call__(self, func: Any = None) -> Any:
        """Decorate `func`."""
        return self.decorate(func, 2)

    def decorate(self, func: Any, depth: int) -> Any:
        """What the definition of `func` becomes; `depth` is that of `sys._getframe`."""
        if isinstance(func, BaseFunc):
            return func
        if not callable(func):
            raise ArgumentError(f"{self!r} decorates a function, got {func!r}")
        is_member = is_class_body(sys._getframe(depth))
        try:
            definition = definition_of(func, depth)
            if is_member:
                return ModuleMember(self, func, definition)
            return self.parse(definition.source, definition.node, definition.names)
        except ScriptError as error:
            raise without_internals(error) from error.__cause__

    def parse(
        self,
        source: Source,
        node: ast.FunctionDef,
        names: tuple[Mapping[str, Any], ...],
        check_well_formed: bool = True,
    ) -> BaseFunc:
        """The function that a definition stands for."""
        raise NotImplementedError

    def declare(
        self,
        evaluate: Evaluator,
        node: ast.FunctionDef,
        name: GlobalVar,
        module: ModuleReference,
    ) -> None:
        """Note in the module what calls of the function need to know before it is parsed."""

    def check_module(self, source: Source, module: IRModule) -> None:
        """Check what depends on all functions of a module together.

        Raises:
            ScriptError: for a mistake.
        """


class ModuleMember:
    """A decorated function in the body of a class."""

    def __init__(self, decorator: FunctionDecorator, function: Any, definition: Definition) -> None:
        self.decorator, self.function, self._definition = decorator, function, definition

    def __get__(self, instance: object, owner: type) -> BaseFunc:
        """The function on its own, for a class other than a module."""
        source, node, names = self._definition
        try:
            return self.decorator.parse(source, node, names)
        except ScriptError as error:
            raise without_internals(error) from error.__cause__


class PrimFuncDecorator(FunctionDecorator):
    """`T.prim_func`, with or without options."""

    def __init__(self, private: bool = False, check_well_formed: bool = True) -> None:
        self.private, self.check_well_formed = private, check_well_formed

    def __call__(
        self,
        func: Any = None,
        private: bool | None = None,
        check_well_formed: bool | None = None,
    ) -> Any:
        """Parse a function to a `PrimFunc`.

        Args:
            private: leave out the `global_symbol`, so that it is not exported.
            check_well_formed: verify the result.
        """
        chosen = PrimFuncDecorator(
            self.private if private is None else private,
            self.check_well_formed if check_well_formed is None else check_well_formed,
        )
        return chosen if func is None else chosen.decorate(func, 2)

    def __repr__(self) -> str:
        return "T.prim_func"

    def parse(
        self,
        source: Source,
        node: ast.FunctionDef,
        names: tuple[Mapping[str, Any], ...],
        check_well_formed: bool = True,
    ) -> BaseFunc:
        return parse_prim_func(
            source,
            node,
            names,
            private=self.private,
            check_well_formed=check_well_formed and self.check_well_formed,
        )

    def declare(
        self,
        evaluate: Evaluator,
        node: ast.FunctionDef,
        name: GlobalVar,
        module: ModuleReference,
    ) -> None:
        if node.returns is not None:
            module.return_dtypes[name] = return_dtype(evaluate, node)
