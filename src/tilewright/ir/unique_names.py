"""Names that are each given once."""

from __future__ import annotations

from collections.abc import Iterable


class UniqueNames:
    """Gives ``C``, ``C_1``, ``C_2``, ... to those who want the name ``C``."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def reserve(self, names: Iterable[str]) -> None:
        """Give these names to nobody."""
        self._taken.update(names)

    def unique(self, wanted: str) -> str:
        """`wanted`, with a number if that name has been given."""
        name, number = wanted, 0
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name
