"""C types of the dtypes of the IR, and identifiers.

float16 and bfloat16 values are held in `float` variables, always rounded to their type; in memory
they are `uint16_t`.
"""

from __future__ import annotations

import re
from typing import Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Var
from tilewright.ir.unique_names import UniqueNames

_NAMES = {
    "bool": "bool",
    "float16": "float",
    "bfloat16": "float",
    "float32": "float",
    "float64": "double",
    "handle": "void*",
    "void": "void",
}
HALVES = {"float16": "f16", "bfloat16": "bf16"}


def value_type(dtype: DType) -> str:
    """The C type of a variable of type `dtype`."""
    _require_scalar(dtype)
    if dtype.is_int or dtype.is_uint:
        return f"{dtype.code}{_storage_bits(dtype)}_t"
    return _NAMES[dtype]


def memory_type(dtype: DType) -> str:
    """The C type of an element of a buffer of type `dtype`."""
    return "uint16_t" if dtype in HALVES else value_type(dtype)


def suffix(dtype: DType) -> str:
    """A short name for `dtype`, used in the names of helper functions."""
    return {"int": "i", "uint": "u", "float": "f", "bfloat": "bf", "bool": "b"}.get(
        dtype.code, ""
    ) + str(dtype.bits)


def _storage_bits(dtype: DType) -> int:
    if dtype.bits not in (8, 16, 32, 64):
        raise CodegenError(f"target c: dtype {dtype!s} has no C type")
    return dtype.bits


def _require_scalar(dtype: DType) -> None:
    if dtype.lanes != 1 or dtype.code == "float8":
        raise CodegenError(f"target c: dtype {dtype!s} has no C type")


KEYWORDS: Final = frozenset(
    """
    auto bool break case char const continue default do double else enum extern false float for goto
    if inline int long register restrict return short signed sizeof static struct switch true
    typedef union unsigned void volatile while NULL main
    """.split()  # noqa: SIM905, a table of words reads best as words
)


LIBRARY: Final = (
    "fabs", "sqrt", "floor", "ceil", "trunc", "nearbyint", "copysign", "fmod", "ldexp",
    "nextafter", "fma",
)  # fmt: skip
"""Functions of math.h with the same meaning as operators of the IR."""

FUNCTIONS: Final = frozenset(
    {f"{name}{kind}" for name in LIBRARY for kind in ("", "f")}
    | {"isnan", "isinf", "isfinite", "malloc", "free", "printf", "fflush", "stdout", "errno"}
)
"""What code mentions, so that no variable can have these names."""


class Names(UniqueNames):
    """Unique identifiers of variables, as similar to their names as C allows."""

    def __init__(self) -> None:
        super().__init__((*KEYWORDS, *FUNCTIONS))
        self._of: dict[Var, str] = {}

    def define(self, var: Var) -> str:
        """A new identifier for `var`."""
        name = self._of[var] = self.unique(var.name)
        return name

    def __getitem__(self, var: Var) -> str:
        return self._of[var]

    def __contains__(self, var: Var) -> bool:
        return var in self._of

    def unique(self, wanted: str) -> str:
        """An unused identifier, derived from `wanted`."""
        base = re.sub(r"\W", "_", wanted) or "v"
        if base[0].isdigit() or base.startswith(("tw_", "_")):
            base = f"v{base}"
        return super().unique(base)


def c_name(function: str) -> str:
    """The C name of a function of the module."""
    name = re.sub(r"\W", "_", function)
    return f"{name}_" if name in KEYWORDS else name
