"""Unique names for variables and buffers, by scope."""

from __future__ import annotations

import keyword
import re
import unicodedata
from typing import Any

_NOT_IDENTIFIER = re.compile(r"\W")


def is_name(text: str) -> bool:
    """Whether Python reads `text` as a name, and as the same one."""
    is_same = unicodedata.normalize("NFKC", text) == text  # or Python reads another name
    return text.isidentifier() and is_same and not keyword.iskeyword(text)


class NameTable:
    """Names of the objects that are in scope; a name is free again when its scope is left.

    Objects are keyed by identity, because `==` on expressions builds a comparison.
    """

    def __init__(self, reserved: tuple[str, ...] = (), show_address: bool = False) -> None:
        self._reserved = frozenset(reserved)
        self._show_address = show_address
        self._names: dict[int, str] = {}
        self._used: set[str] = set()
        self._scopes: list[list[tuple[int, str | None, str | None]]] = [[]]
        self._alive: list[Any] = []

    def push(self) -> None:
        """Enter a scope."""
        self._scopes.append([])

    def pop(self) -> None:
        """Leave the scope entered last, with the names defined in it."""
        for key, name, previous in reversed(self._scopes.pop()):
            if name is not None:
                self._used.discard(name)
            if previous is None:
                del self._names[key]
            else:
                self._names[key] = previous

    def find(self, item: object) -> str | None:
        """The text that stands for `item`, if it is in scope."""
        return self._names.get(id(item))

    def define(self, item: Any, hint: str) -> str:
        """A new name for `item` in the current scope: `hint` or `hint_1`, `hint_2`, ..."""
        if self._show_address:
            hint = f"{hint}_{id(item):#x}"
        name = self.unique(hint)
        self._used.add(name)
        self._remember(item, name, name)
        return name

    def alias(self, item: Any, text: str) -> None:
        """Let `text`, such as ``A.data``, stand for `item` in the current scope."""
        self._remember(item, None, text)

    def unique(self, hint: str) -> str:
        """A valid Python identifier made from `hint` that is not in use."""
        base = _NOT_IDENTIFIER.sub("_", unicodedata.normalize("NFKC", hint)) or "v"
        if not base.isidentifier():
            base = f"v_{base}"
        name, suffix = base, 0
        while name in self._used or self._is_reserved(name):
            suffix += 1
            name = f"{base}_{suffix}"
        return name

    def _remember(self, item: Any, name: str | None, text: str) -> None:
        key = id(item)
        self._scopes[-1].append((key, name, self._names.get(key)))
        self._names[key] = text
        self._alive.append(item)

    def _is_reserved(self, name: str) -> bool:
        return name in self._reserved or keyword.iskeyword(name)
