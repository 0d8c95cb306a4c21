"""Which object the innermost ``with`` statement of a thread is about."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class ScopeStack(Generic[T]):
    """The objects of the ``with`` statements that a thread is in, for classes with a `current()`.

    Every thread has a stack of its own, which begins empty; only a thread that goes on with the
    work of another one (`on_large_stack`) shares its stack.
    """

    def __init__(self) -> None:
        self._items: ContextVar[list[T]] = ContextVar("items")

    @property
    def items(self) -> list[T]:
        """The objects, innermost last."""
        items = self._items.get(None)
        if items is None:
            items = []
            self._items.set(items)
        return items

    def enter(self, item: T) -> None:
        """A ``with`` statement begins."""
        self.items.append(item)

    def leave(self) -> None:
        """The innermost one ends."""
        self.items.pop()

    def innermost(self) -> T | None:
        """The object of the innermost one; None outside of all."""
        items = self._items.get(None)
        return items[-1] if items else None
