"""The operators of `R`, by name: whatever `tilewright.relax.op` has."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.relax import op as operators
from tilewright.relax.op.table import OPERATORS
from tilewright.relax.script.elsewhere import instead_of, is_namespace

_PREFIX = "relax."

_COMPOSITE = ("call_packed",)
"""Functions that make calls of something else than an operator of their own."""


def function_of(name: str) -> Callable[..., Any] | None:
    """The Python function that makes calls of the operator `name`, such as ``relax.nn.relu``."""
    value: Any = operators
    for part in name.removeprefix(_PREFIX).split("."):
        value = getattr(value, part, None)
    return value if callable(value) else None


def top_level_names() -> set[str]:
    """The first parts of the names of all operators."""
    return {name.partition(".")[0] for name in _names()}


def _names() -> list[str]:
    return [op.name.removeprefix(_PREFIX) for op in OPERATORS]


def find(name: str, others: Sequence[str] = ()) -> Any:
    """The operator function or the namespace of operators that ``R.name`` stands for.

    Args:
        name: the name.
        others: names that are no operators, which may be meant.

    Raises:
        AttributeError: if there is none; it says which name is most like it, or what to write
            instead of one that is known from elsewhere.
    """
    known = _names()
    if any(other.startswith(f"{name}.") for other in known) or is_namespace(name):
        return OperatorNamespace(name)
    function = function_of(name) if name in known or name in _COMPOSITE else None
    instead = instead_of(name)
    if function is None and instead is not None:
        raise AttributeError(f"R.{name} is not possible here: {instead}")
    if function is None or name.rpartition(".")[2].startswith("_"):
        raise AttributeError(f"R has no {name!r}{_suggestion(name, [*known, *others])}")
    return function


def _suggestion(name: str, known: list[str]) -> str:
    """``; did you mean ...?`` with a name of another namespace, too, if its end is the same."""
    same_end = [other for other in known if other.rpartition(".")[2] == name.rpartition(".")[2]]
    close = same_end or difflib.get_close_matches(name, known, n=1)
    return f"; did you mean R.{close[0]}?" if close else ""


class OperatorNamespace:
    """Operators whose names start alike, such as those of ``R.nn``."""

    is_script_namespace = True

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return find(f"{self._name}.{name}")

    def __dir__(self) -> list[str]:
        start = f"{self._name}."
        return sorted(n.removeprefix(start) for n in _names() if n.startswith(start))

    def __repr__(self) -> str:
        return f"R.{self._name}"
