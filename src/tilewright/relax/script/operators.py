"""The operators of `R`, by name: those of `tilewright.relax.op`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any, Final

from tilewright.relax import op as operators
from tilewright.relax.op.table import OPERATORS

_MEMORY: Final = "relax.build plans memory by itself: write the computation alone"
_DEVICES: Final = "a program runs on one device: write the whole computation"
_GRADIENTS: Final = "gradients are taken by the framework that trains the model: import its program"

_REPLACEMENTS: Final[dict[str, str]] = {
    "arg": "parameters stand in the signature: `def main(x: R.Tensor((2, 3), 'float32'))`",
    "SeqExpr": "bindings stand in the body of a function or a branch; in Python, use "
    "relax.BlockBuilder",
    "rewriter": "write a pattern of relax.dpl and relax.dpl.rewrite_call",
    "call_builtin_with_ctx": "a program has no machine that a function could ask: write "
    "R.call_packed",
    "register_gradient": _GRADIENTS,
    "builtin.stop_lift_params": "LiftTransformParams moves what depends on weights alone",
    "builtin.alloc_tensor": _MEMORY,
    "memory.view": "write R.reshape, or R.strided_slice for a part",
    "memory.ensure_zero_offset": "arrays begin where their memory does: leave it out",
    "view": "write R.reshape, or R.strided_slice for a part",
    "ensure_zero_offset": "arrays begin where their memory does: leave it out",
    "memory": _MEMORY,
    "vm": _MEMORY,
    "grad": _GRADIENTS,
    "ccl": _DEVICES,
    "dist": _DEVICES,
    "DTensor": f"{_DEVICES} on R.Tensor",
}
"""Advice by unsupported name of TVM; that of a namespace covers all names in it."""

_UNSUPPORTED_NAMESPACES: Final = ("builtin", "memory", "vm", "grad", "ccl", "dist")


def is_unsupported_namespace(name: str) -> bool:
    """Whether `name` is a namespace of TVM that is not supported as a whole."""
    return name in _UNSUPPORTED_NAMESPACES


def replacement_of(name: str) -> str | None:
    """What to write instead of ``R.name``; None for names that TVM does not have."""
    return _REPLACEMENTS.get(name) or _REPLACEMENTS.get(name.partition(".")[0])


_PREFIX = "relax."

_COMPOSITE = ("call_packed",)
"""Functions of `R` without an operator of their own."""


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
        others: further names to suggest, of functions other than operators.

    Raises:
        AttributeError: if there is none, with the most similar name, or what to write instead of
            an unsupported name.
    """
    known = _names()
    if any(other.startswith(f"{name}.") for other in known) or is_unsupported_namespace(name):
        return OperatorNamespace(name)
    function = function_of(name) if name in known or name in _COMPOSITE else None
    advice = replacement_of(name)
    if function is None and advice is not None:
        raise AttributeError(f"R.{name} is not possible here: {advice}")
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
