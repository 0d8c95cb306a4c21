"""Results of analyses as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")


class TextTable(Sequence[Item]):
    """A list that prints as a table with aligned columns.

    Subclasses say what is in its rows.
    """

    heading: tuple[str, ...]
    """Of each column."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = tuple(items)

    def row(self, item: Item) -> tuple[str, ...]:
        """What the columns say about an item."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __str__(self) -> str:
        rows = [self.heading, *map(self.row, self._items)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    __repr__ = __str__
