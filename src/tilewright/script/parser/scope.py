"""Names and what they stand for."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from typing import Any, Final

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
        """The last line of the block in which `name` was defined, if it has ended."""
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
