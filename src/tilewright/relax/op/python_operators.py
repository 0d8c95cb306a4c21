"""What Python's operators on graph expressions build."""

from __future__ import annotations

from typing import Any, Final

from tilewright.relax.op import elementwise as binary
from tilewright.relax.op import linear_algebra, unary

_FUNCTIONS: Final = {
    "floordiv": binary.floor_divide,
    "floormod": binary.floor_mod,
    "shift_left": binary.left_shift,
    "shift_right": binary.right_shift,
    "absolute": unary.abs,
    "negative": unary.negative,
    "bitwise_not": unary.bitwise_not,
    "matmul": linear_algebra.matmul,
}
"""The functions whose names are not those of `tilewright.ir.arithmetic`."""


def operate(name: str, *operands: object) -> Any:
    """The call that stands for the function `name` of `tilewright.ir.arithmetic`."""
    function = _FUNCTIONS.get(name) or getattr(binary, name)
    return function(*operands)
