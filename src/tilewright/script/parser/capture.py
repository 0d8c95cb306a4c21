"""The source of a decorated function or class, and the names that are visible there."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import FrameType, FunctionType
from typing import Any, NamedTuple

from tilewright.error import ArgumentError, ScriptError
from tilewright.script.parser.source import Source, source_of_file

Names = tuple[Mapping[str, Any], ...]
"""Dictionaries of names, innermost first."""


class Definition(NamedTuple):
    """A definition that a decorator was applied to."""

    source: Source
    node: Any
    """Its `ast.FunctionDef` or `ast.ClassDef`."""
    names: Names
    """What is visible around it."""


def definition_of(function: FunctionType, depth: int) -> Definition:
    """The definition of a function, seen from a decorator.

    Args:
        function: the decorated function.
        depth: how many Python frames above the caller the decorator was applied.

    Raises:
        ScriptError: if the source is not known.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        raise ArgumentError(f"expected a Python function, got {function!r}")
    names = (*closure_of(function), *visible_names(depth + 1), function.__globals__)
    source = _source(code.co_filename, function.__globals__, function.__name__)
    node = source.find(ast.FunctionDef, function.__name__, code.co_firstlineno)
    if node is None:
        raise _no_source(function.__name__, code.co_filename)
    return Definition(source, node, names)


def class_definition(cls: type, depth: int) -> Definition:
    """The definition of a class, seen from a decorator; arguments are those of `definition_of`."""
    frame = sys._getframe(depth + 1)
    # While a decorator is applied, the frame is at the line of the decorator.
    source = _source(frame.f_code.co_filename, frame.f_globals, cls.__name__)
    node = source.find(ast.ClassDef, cls.__name__, frame.f_lineno)
    if node is None:
        raise _no_source(cls.__name__, frame.f_code.co_filename)
    closures: list[Mapping[str, Any]] = []
    for member in vars(cls).values():
        function = getattr(member, "function", member)
        if isinstance(function, FunctionType):
            closures.extend(closure_of(function))
    names = (*closures, *visible_names(depth + 1), frame.f_globals)
    return Definition(source, node, names)


def closure_of(function: FunctionType) -> Names:
    """The nonlocal variables of a function, which are those that have a value by now."""
    names = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return (names,) if names else ()


def visible_names(depth: int) -> Names:
    """Local names around the place where a decorator is applied, as they are now."""
    frame: FrameType | None = sys._getframe(depth + 1)
    found: list[Mapping[str, Any]] = []
    while frame is not None and frame.f_locals is not frame.f_globals:
        found.append(dict(frame.f_locals))
        if not is_class_body(frame):
            break
        frame = frame.f_back
    return tuple(found)


def is_class_body(frame: FrameType) -> bool:
    """Whether a Python frame executes the body of a class."""
    names = frame.f_locals
    return "__qualname__" in names and "__module__" in names and frame.f_code.co_argcount == 0


def _source(filename: str, module_globals: dict[str, Any], name: str) -> Source:
    source = source_of_file(filename, module_globals)
    if source is None:
        raise _no_source(name, filename)
    return source


def _no_source(name: str, filename: str) -> ScriptError:
    return ScriptError(
        f"the source of `{name}` in {filename!r} is not available: define it in a file or a "
        "notebook cell, or parse its text with tilewright.script.from_source"
    )
