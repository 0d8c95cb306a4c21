"""The table of conversions, and what of a program could not be converted.

The table goes from the name of an ATen operator to a function that converts a call. An entry is for
an operator with all its overloads (``aten.add``) or for one of them (``aten.max.dim``), which comes
first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from tilewright.error import UnsupportedOperatorError

Converter = Callable[..., Any]
"""Takes the `Graph` and the arguments of the call; returns the value, or several. A call that it
returns is bound to a variable."""

CONVERTERS: Final[dict[str, Converter]] = {}
"""All conversions."""

AnyConverter = TypeVar("AnyConverter", bound=Converter)


def convert_by(converters: Mapping[str, Converter]) -> None:
    """Enter conversions; several names of operators are divided by spaces."""
    for names, converter in converters.items():
        for name in names.split():
            assert name not in CONVERTERS, f"{name} has two conversions"
            CONVERTERS[name] = converter


def converts(*names: str) -> Callable[[AnyConverter], AnyConverter]:
    """Enter the decorated function for the operators `names`.

    Its parameters are those of the operator's schema in their order; keyword-only ones have the
    names of the schema. What says where and how torch keeps the elements (device, layout,
    memory format) is left out.
    """

    def enter(converter: AnyConverter) -> AnyConverter:
        convert_by({" ".join(names): converter})
        return converter

    return enter


def converter_of(target: object) -> Converter | None:
    """The conversion of calls of `target`, an overload of an operator; None if there is none."""
    return CONVERTERS.get(str(target)) or CONVERTERS.get(str(target).rpartition(".")[0])


SHOWN_PLACES = 3
"""Maximum number of places shown for each problem."""


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
