"""Which object the innermost ``with`` statement of a thread is about."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class ScopeStack(threading.local, Generic[T]):
    """The objects of the ``with`` statements that a thread is in, for classes with a `current()`.

    Every thread has a stack of its own, which begins empty.
    """

    def __init__(self) -> None:
        self._items: list[T] = []

    def enter(self, item: T) -> None:
        """A ``with`` statement begins."""
        self._items.append(item)

    def leave(self) -> None:
        """The innermost one ends."""
        self._items.pop()

    def innermost(self) -> T | None:
        """The object of the innermost one; None outside of all."""
        return self._items[-1] if self._items else None
