"""Evaluates calls, attributes and subscripts."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from tilewright.error import ArgumentError, ScriptError, TVMError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, SymbolicTruthError
from tilewright.ir.module import BaseFunc, GlobalVar
from tilewright.ir.node import Node
from tilewright.script.constructs.access import PartialAccess, access, index_items
from tilewright.script.parser import closed_world
from tilewright.script.parser.evaluator import Evaluator, evaluates
from tilewright.script.parser.source import describe, kind_of, suggestion
from tilewright.tir.buffer import Buffer


class FunctionDefinition(NamedTuple):
    """A function of the module that is being parsed."""

    decorator: Any
    """Its `tilewright.script.parser.decorators.FunctionDecorator`."""
    node: ast.FunctionDef
    parse: Callable[[], BaseFunc]


State = TypeVar("State")


class ModuleReference:
    """The module being parsed, as ``cls`` or by its name: its functions are attributes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.functions: dict[str, GlobalVar] = {}
        self.return_dtypes: dict[GlobalVar, DType] = {}
        self.others: dict[str, Any] = {}
        """Other names of the class body, such as macros."""
        self.definitions: dict[GlobalVar, FunctionDefinition] = {}
        """The functions that are to be parsed."""
        self.parsed: dict[GlobalVar, BaseFunc] = {}
        """Those that have been, and functions that were added while they were."""
        self.in_progress: set[GlobalVar] = set()
        """Those that are being parsed."""
        self._states: dict[type, Any] = {}

    def __repr__(self) -> str:
        return f"the module {self.name}"

    def state(self, kind: type[State]) -> State:
        """What the parsers of another package keep for this module: one `kind` of it."""
        if kind not in self._states:
            self._states[kind] = kind()
        return self._states[kind]

    def parse(self, name: GlobalVar) -> BaseFunc:
        """A function of the module, which is parsed now if it has not been."""
        if name not in self.parsed:
            self.in_progress.add(name)
            self.parsed[name] = self.definitions[name].parse()
            self.in_progress.discard(name)
        return self.parsed[name]

    def find(self, name: str) -> Any:
        """The function or other name, or an error."""
        if name in self.functions:
            return self.functions[name]
        if name in self.others:
            return self.others[name]
        known = [*self.functions, *self.others]
        hint = suggestion(name, known) or f"; it has {', '.join(known) or 'none'}"
        raise ArgumentError(f"the module has no function `{name}`{hint}")


@evaluates(ast.Attribute)
def _attribute(evaluator: Evaluator, node: ast.Attribute) -> Any:
    value = evaluator(node.value)
    name = node.attr
    if isinstance(value, ModuleReference):
        return value.find(name)
    if name.startswith("__"):
        raise ArgumentError(f"`{name}` is not accessible in a script")
    read = getattr if evaluator.source.allowance is None else closed_world.attribute
    try:
        return read(value, name)
    except AttributeError as error:
        if isinstance(value, Node) or not str(error):
            raise ArgumentError(
                f"{kind_of(value)} has no attribute `{name}`{suggestion(name, _public(value))}"
            ) from None
        raise


def _public(value: Any) -> list[str]:
    return [name for name in dir(value) if not name.startswith("_")]


@evaluates(ast.Subscript)
def _subscript(evaluator: Evaluator, node: ast.Subscript) -> Any:
    value = evaluator(node.value)
    index = evaluator(node.slice)
    if isinstance(value, Buffer):
        return access(value, index_items(index), evaluator.source.span(node))
    if isinstance(value, PartialAccess):
        items = value.items + index_items(index)
        return access(value.buffer, items, evaluator.source.span(node))
    if isinstance(value, Expr):
        raise ArgumentError(f"{value!r} is a single value, it has no elements")
    return evaluator.made(value[index])


@evaluates(ast.Call)
def _call(evaluator: Evaluator, node: ast.Call) -> Any:
    function = evaluator(node.func)
    arguments: list[Any] = []
    for item in node.args:
        if isinstance(item, ast.Starred):
            arguments.extend(evaluator(item.value))
        else:
            arguments.append(evaluator(item))
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        value = evaluator(keyword.value)
        if keyword.arg is None:
            keywords.update(value)
        else:
            keywords[keyword.arg] = value
    if isinstance(function, GlobalVar):
        return evaluator.call_function(function, arguments, keywords)
    if isinstance(function, BaseFunc):
        raise ArgumentError(
            "a function is called by another one only inside of a module: put both into a class "
            "with `@I.ir_module` and call `cls.name(...)`"
        )
    if not callable(function):
        written = evaluator.source.text_of(node.func)
        raise ArgumentError(f"`{written}` is {kind_of(function)}, which cannot be called")
    if evaluator.source.allowance is not None:
        evaluator.source.allowance.check_call(function, arguments, keywords)
    try:
        return function(*arguments, **keywords)
    except ScriptError:
        raise
    except TypeError as error:
        text = describe(error)
        if isinstance(error, SymbolicTruthError) and isinstance(function, Hashable):
            instead = evaluator.instead_of_builtins.get(function)
            if instead is not None:
                text = f"Python's `{function.__name__}` needs known values: write {instead}"
        elif not isinstance(error, TVMError):
            text = _wrong_arguments(function, arguments, keywords) or text
            text = f"{evaluator.source.text_of(node.func)}: {text}"
        raise evaluator.source.error(node, text) from error


def _wrong_arguments(function: Any, arguments: list[Any], keywords: dict[str, Any]) -> str:
    """The mismatch of arguments and parameters, if any."""
    try:
        inspect.signature(function).bind(*arguments, **keywords)
    except TypeError as error:
        return str(error)
    except ValueError:  # a builtin without a signature
        return ""
    return ""
