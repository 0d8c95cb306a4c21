"""Tables of conversions, and what of a program could not be converted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tilewright.error import UnsupportedOperatorError

Converter = Callable[..., Any]
"""Takes the `Emitter` and the arguments of the call; returns the value, or several. A call that it
returns is bound to a variable."""

AnyConverter = TypeVar("AnyConverter", bound=Converter)


class ConverterTable:
    """The conversions of the operators of a framework, by the operators' names."""

    def __init__(self) -> None:
        self._converters: dict[str, Converter] = {}

    def convert_by(self, converters: Mapping[str, Converter]) -> None:
        """Enter conversions; several names of operators are divided by spaces."""
        for names, converter in converters.items():
            for name in names.split():
                assert name not in self._converters, f"{name} has two conversions"
                self._converters[name] = converter

    def converts(self, *names: str) -> Callable[[AnyConverter], AnyConverter]:
        """Decorator: enter the function for the operators `names`."""

        def enter(converter: AnyConverter) -> AnyConverter:
            self.convert_by({" ".join(names): converter})
            return converter

        return enter

    def get(self, name: str) -> Converter | None:
        """The conversion of an operator; None if there is none."""
        return self._converters.get(name)


SHOWN_PLACES = 3
"""Maximum number of places shown for each problem."""


class UnsupportedError(Exception):
    """Raised by a conversion that does not cover a call; says what it does not cover."""


class Problems:
    """The calls that could not be converted, by operator and reason.

    Args:
        advice: the last line of the error, which says what to do.
    """

    def __init__(self, advice: str) -> None:
        self._advice = advice
        self._places: dict[tuple[str, str], list[str]] = defaultdict(list)

    def add(self, operator: str, reason: str, place: str) -> None:
        """A call of `operator` at `place` of the program cannot be converted."""
        self._places[operator, reason].append(place)

    def check(self) -> None:
        """Raise an error that lists them all, if there are any.

        Raises:
            UnsupportedOperatorError: then.
        """
        if not self._places:
            return
        kinds = "1 kind" if len(self._places) == 1 else f"{len(self._places)} kinds"
        lines = [f"{kinds} of operations of the program cannot be converted:"]
        for (operator, reason), places in sorted(self._places.items()):
            lines.append(f"  {operator}: {reason}")
            lines += [f"    {place}" for place in places[:SHOWN_PLACES]]
            if len(places) > SHOWN_PLACES:
                lines.append(f"    and {len(places) - SHOWN_PLACES} more")
        raise UnsupportedOperatorError("\n".join([*lines, self._advice]))
