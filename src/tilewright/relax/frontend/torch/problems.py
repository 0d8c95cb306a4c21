"""What of a program could not be converted: gathered, and told at once."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from tilewright.error import UnsupportedOperatorError

SHOWN_PLACES = 3
"""So many places are shown for each problem."""


class UnsupportedError(Exception):
    """Raised by a conversion that does not cover a call; says what it does not cover."""


class Place(NamedTuple):
    """Where a call comes from."""

    module: str
    """The path of the module in the model, such as ``layers.0.conv``."""
    source: str
    """The line of the model's code."""

    def __str__(self) -> str:
        where = f"module {self.module}" if self.module else "the model itself"
        return f"in {where}" + (f", {self.source}" if self.source else "")


class Problems:
    """The calls that could not be converted, by operator and reason."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], list[Place]] = defaultdict(list)

    def add(self, node: Any, reason: str) -> None:
        """`node`, a call of the program, cannot be converted."""
        self._places[str(node.target), reason].append(place_of(node))

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
        lines.append(
            "Write these parts of the model with other operations, or give "
            "run_decompositions() of the exported program a table that decomposes them."
        )
        raise UnsupportedOperatorError("\n".join(lines))


def place_of(node: Any) -> Place:
    """Where the call `node` is in the model."""
    modules = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    trace = (node.meta.get("stack_trace") or "").strip().splitlines()
    places = [line.strip() for line in trace if line.lstrip().startswith("File ")]
    code = trace[-1].strip() if trace else ""
    source = f"{places[-1].removeprefix('File ')}: {code}" if places else ""
    return Place(modules[-1].removeprefix("L['self'].") if modules else "", source)
