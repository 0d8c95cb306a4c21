"""Caches of what was worked out about programs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

V = TypeVar("V")

LOCK: Final = threading.RLock()
"""Held while something is worked out, also by isl: one lock, so that threads cannot block each
other for ever."""


_ALL: Final[list[LRUCache[Any]]] = []
"""All of them; they belong to modules, and live as long as the process."""


def clear_caches() -> None:
    """Forget what was worked out about all programs, which keeps them alive."""
    for cache in _ALL:
        cache.clear()


class LRUCache(Generic[V]):
    """The values that were asked for last, up to a number of them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[Any, tuple[Any, V]] = OrderedDict()
        _ALL.append(self)

    def get(self, key: Any, keep: Any, make: Callable[[], V]) -> V:
        """The value of `key`, made if it is not known.

        Args:
            key: equal keys have one value; it may name objects by `id`.
            keep: objects that `key` names by `id`: they are kept alive, so that no other object
                gets the same one.
            make: gives the value.
        """
        items = self._items
        found = items.get(key)
        if found is not None:
            try:  # noqa: SIM105 (which takes longer)
                items.move_to_end(key)
            except KeyError:  # another thread has dropped it in between
                pass
            return found[1]
        with LOCK:
            found = items.get(key)
            if found is None:
                found = items[key] = keep, make()
                if len(items) > self._size:
                    items.popitem(last=False)
            return found[1]

    def clear(self) -> None:
        """Forget everything."""
        with LOCK:
            self._items.clear()
