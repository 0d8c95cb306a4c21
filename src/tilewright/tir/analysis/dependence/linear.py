"""Linear forms in the notation of isl, and the names of sizes in it."""

from __future__ import annotations

from typing import Any, Final

Linear = dict[str, int]
"""The coefficient of each dimension, size, unknown or quotient; that of ``""`` is the constant."""


def plus(a: Linear, b: Linear, times: int = 1) -> Linear:
    """``a + times * b``."""
    total = dict(a)
    for name, coefficient in b.items():
        total[name] = total.get(name, 0) + times * coefficient
    return {name: coefficient for name, coefficient in total.items() if coefficient}


def is_constant(form: Linear) -> bool:
    """Whether the form is a number."""
    return not form or (len(form) == 1 and "" in form)


def text_of(form: Linear) -> str:
    """The form in the notation of isl."""
    parts = [str(c) if not name else name if c == 1 else f"{c}*{name}" for name, c in form.items()]
    return " + ".join(parts) or "0"


# --- sizes --------------------------------------------------------------------------------------

_OPAQUE: Final[dict[str, str]] = {}
"""Names of expressions of sizes that are not linear forms, such as ``n * m``."""

_DISPLAYED: Final[dict[str, str]] = {}
"""What is shown for these names."""


def parameter_name(var: Any) -> str:
    """The name of a size: unique among the variables that exist at the same time."""
    plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in var.name)
    return f"p_{plain}_{id(var):x}"


def opaque_name(key: str, text: str) -> str:
    """The name of an expression of sizes.

    Args:
        key: the same for the same expressions.
        text: the expression for people.
    """
    name = _OPAQUE.get(key)
    if name is None:
        name = _OPAQUE[key] = f"t{len(_OPAQUE)}"
        _DISPLAYED[name] = text
    return name


def displayed(parameter: str) -> str:
    """The name of a size for people."""
    known = _DISPLAYED.get(parameter)
    return parameter[2:].rpartition("_")[0] if known is None else known
