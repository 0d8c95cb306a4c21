"""Kinds of parts of the tuner by their names, such as ``"evolutionary"``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tilewright.error import UnknownNameError, did_you_mean

T = TypeVar("T")


class Registry(Generic[T]):
    """Functions that make a part of the tuner, by name.

    Args:
        what: what they make, for messages.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._makers: dict[str, Callable[..., T]] = {}

    def add(self, *names: str) -> Callable[[Any], Any]:
        """Decorator: a class, or a function that makes a part, under these names."""

        def register(maker: Any) -> Any:
            for name in names:
                self._makers[name] = maker
            return maker

        return register

    @property
    def names(self) -> list[str]:
        """The names that are known."""
        return sorted(self._makers)

    def make(self, name: str, *args: Any, **kwargs: Any) -> T:
        """The part of that name.

        Raises:
            UnknownNameError: if there is none.
        """
        maker = self._makers.get(name)
        if maker is None:
            hint = did_you_mean(name, self._makers, f"; known are {', '.join(self.names)}")
            raise UnknownNameError(f"there is no {self.what} {name!r}{hint}")
        return maker(*args, **kwargs)
