"""How quantities are written."""

from __future__ import annotations


def unit(dtype: str) -> str:
    """Of operations on this dtype."""
    return "GFLOP/s" if "float" in dtype else "GOP/s"


def duration(seconds: float | None) -> str:
    """With a unit that fits."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
