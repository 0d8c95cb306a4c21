"""Numbers as people read them."""

from __future__ import annotations

import math
from typing import Final

_TIMES: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "\u00b5s"), (1e-9, "ns"))
_PREFIXES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def digits(value: float) -> str:
    """Three digits, without an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def seconds(value: float) -> str:
    """A time such as ``"12.3 µs"``."""
    for unit, name in _TIMES:
        if value >= unit:
            return f"{digits(value / unit)} {name}"
    return f"{digits(value * 1e9)} ns"


def duration(value: float) -> str:
    """A time that somebody waited, such as ``"2 min 5 s"``."""
    if value < 60:
        return f"{digits(value)} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def rate(value: float) -> str:
    """Operations per second, such as ``"170 GFLOP/s"``."""
    return amount(value, "FLOP/s")


def amount(value: float, unit: str) -> str:
    """Many of a unit, such as ``"3.07 kB"``."""
    for factor, prefix in _PREFIXES:
        if value >= factor:
            return f"{digits(value / factor)} {prefix}{unit}"
    return f"{digits(value)} {unit}"


def count(number: int, what: str) -> str:
    """``"1 candidate"``, ``"2 candidates"``."""
    return f"{number} {what}{'' if number == 1 else 's'}"
