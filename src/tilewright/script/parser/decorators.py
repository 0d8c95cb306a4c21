"""Decorators that parse the function below them, alone or as part of a module."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError, ScriptError
from tilewright.ir.function import BaseFunc, GlobalVar
from tilewright.ir.module import IRModule
from tilewright.script.parser.calls import ModuleReference
from tilewright.script.parser.capture import Definition, definition_of, is_class_body
from tilewright.script.parser.diagnostics import without_internals
from tilewright.script.parser.evaluator import Evaluator
from tilewright.script.parser.functions import parse_prim_func, return_dtype
from tilewright.script.parser.source import Source


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
        """The function on its own, for a class that is no module."""
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
            func: the function.
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
