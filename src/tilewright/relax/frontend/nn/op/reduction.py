"""Operators that combine elements along dimensions."""

from __future__ import annotations

from tilewright.relax import op
from tilewright.relax.frontend.nn.op.operator import renamed

sum, max, min, mean = (
    renamed(getattr(op, name), name, "x", "axis", "keepdims")
    for name in ("sum", "max", "min", "mean")
)
argmax, argmin = (
    renamed(getattr(op, name), name, "x", "axis", "keepdims") for name in ("argmax", "argmin")
)
cumsum = renamed(op.cumsum, "cumsum", "data", "axis", "dtype", "exclusive")
