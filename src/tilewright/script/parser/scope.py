"""Names and their values: scopes, and the surroundings of a decorated function."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Mapping
from types import FrameType, FunctionType
from typing import Any, Final, NamedTuple

from tilewright.error import ArgumentError, ScriptError
from tilewright.script.parser.source import Source, source_of_file

MISSING: Final[Any] = object()

_REFUSED: Final = frozenset({
    "breakpoint", "compile", "copyright", "credits", "delattr", "eval", "exec", "exit", "globals",
    "help", "input", "license", "locals", "memoryview", "open", "quit", "setattr", "super", "vars",
})  # fmt: skip
"""Builtins that make no sense while a script is read."""


class RangeValue:
    """``range(...)`` in a script: a loop in a ``for``, Python's own range elsewhere."""

    __slots__ = ("arguments",)

    def __init__(self, *arguments: Any) -> None:
        if not 1 <= len(arguments) <= 3:
            raise TypeError(f"range takes 1 to 3 arguments, got {len(arguments)}")
        self.arguments = arguments

    def python(self) -> range:
        """Python's range, which needs numbers."""
        return range(*self.arguments)

    def __iter__(self) -> Any:
        return iter(self.python())

    def __len__(self) -> int:
        return len(self.python())

    def __getitem__(self, index: Any) -> Any:
        return self.python()[index]


BUILTINS: Final[Mapping[str, Any]] = {
    name: value
    for name, value in vars(builtins).items()
    if not name.startswith("_") and name not in _REFUSED
} | {"range": RangeValue}


class Scope:
    """Names of the script, innermost block first, then those of the Python code around it.

    Args:
        outer: dictionaries of the surrounding Python code, innermost first.
    """

    def __init__(self, outer: Iterable[Mapping[str, Any]] = ()) -> None:
        self._outer = tuple(outer)
        self._blocks: list[dict[str, Any]] = [{}]
        self._left: dict[str, int] = {}

    def push(self, names: dict[str, Any] | None = None) -> None:
        """Enter a block."""
        self._blocks.append(names if names is not None else {})

    def pop(self, last_line: int = 0) -> None:
        """Leave the innermost block, whose names end here."""
        for name in self._blocks.pop():
            self._left[name] = last_line

    def define(self, name: str, value: Any) -> None:
        """Let `name` stand for `value` until the end of the block."""
        self._blocks[-1][name] = value

    def find(self, name: str) -> Any:
        """What `name` stands for, or `MISSING`."""
        for names in reversed(self._blocks):
            if name in names:
                return names[name]
        for outer in self._outer:
            if name in outer:
                return outer[name]
        return BUILTINS.get(name, MISSING)

    def is_defined_here(self, name: str) -> bool:
        """Whether the innermost block defines `name`."""
        return name in self._blocks[-1]

    def left_at(self, name: str) -> int | None:
        """The last line of the block that defined `name`, if it has ended."""
        return self._left.get(name)

    def names(self) -> tuple[set[str], set[str]]:
        """The names of the script, and those around it, for suggestions."""
        own = {n for names in self._blocks for n in names}
        outer = {n for names in (*self._outer, BUILTINS) for n in names if not n.startswith("_")}
        return own, {name for name in outer if self.find(name) is not MISSING}

    def outer(self) -> tuple[Mapping[str, Any], ...]:
        """The Python code around the script, innermost first."""
        return self._outer

    def snapshot(self) -> tuple[Mapping[str, Any], ...]:
        """All names as they are now, innermost first, for a scope inside of this one."""
        return (*(dict(names) for names in reversed(self._blocks)), *self._outer)


Names = tuple[Mapping[str, Any], ...]
"""Dictionaries of names, innermost first."""


class Definition(NamedTuple):
    """A definition that a decorator was applied to."""

    source: Source
    node: Any
    """Its `ast.FunctionDef` or `ast.ClassDef`."""
    names: Names
    """The visible names."""


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
