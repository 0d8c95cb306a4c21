"""Elementwise operators of several arrays, which broadcast as in numpy; numbers are arrays, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright import topi
from tilewright.ir.dtype import BOOL, DType
from tilewright.ir.expr import IntImm
from tilewright.relax.expr import Call
from tilewright.relax.op.broadcasting import (
    broadcast_info,
    call_broadcasting,
    operand_dtype,
    scalar_of,
    with_numbers,
)
from tilewright.relax.op.rules import require_value
from tilewright.relax.op.table import Inference, call, named, register
from tilewright.relax.op.unary import is_float, is_number
from tilewright.relax.struct_info import StructInfo, TensorStructInfo

__all__ = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal", "ewise_fma",
    "floor_divide", "floor_mod", "greater", "greater_equal", "left_shift", "less", "less_equal",
    "logical_and", "logical_or", "logical_xor", "masked_fill", "maximum", "minimum", "mod",
    "multiply", "not_equal", "power", "right_shift", "subtract",
]  # fmt: skip

ARITHMETIC: Final = {
    "add": "x1 + x2.",
    "subtract": "x1 - x2.",
    "multiply": "x1 * x2.",
    "floor_divide": "x1 / x2, rounded down.",
    "mod": "The remainder of x1 / x2, with the sign of x1.",
    "floor_mod": "The remainder of x1 / x2, with the sign of x2.",
}
DIVISIONS: Final = frozenset(("floor_divide", "mod", "floor_mod"))
EXTREMA: Final = {
    "maximum": "The larger element; NaN where one is NaN.",
    "minimum": "The smaller element; NaN where one is NaN.",
}
FLOAT: Final = {
    "divide": "x1 / x2 of floats.",
    "power": "x1 to the power of x2, of floats.",
}
COMPARISON: Final = {
    "equal": "Whether x1 == x2.",
    "not_equal": "Whether x1 != x2.",
    "greater": "Whether x1 > x2.",
    "greater_equal": "Whether x1 >= x2.",
    "less": "Whether x1 < x2.",
    "less_equal": "Whether x1 <= x2.",
}
LOGICAL: Final = {
    "logical_and": "Whether both hold.",
    "logical_or": "Whether one of both holds.",
    "logical_xor": "Whether exactly one of both holds.",
}
BITWISE: Final = {
    "bitwise_and": "The bits that are set in both.",
    "bitwise_or": "The bits that are set in one of both.",
    "bitwise_xor": "The bits that are set in exactly one of both.",
}
SHIFT: Final = {
    "left_shift": "The bits of x1 shifted up by x2.",
    "right_shift": "The bits of x1 shifted down by x2; signed numbers keep their sign.",
}

_HINTS: Final = {
    "divide": "use floor_divide, or convert both with astype",
    "power": "convert both with astype",
}


def _binary(
    name: str,
    doc: str,
    is_allowed: Callable[[DType], bool],
    wanted: str,
    result: DType | None = None,
) -> Callable[[Any, Any], Call]:
    kernel = getattr(topi, name)

    def infer(inference: Inference) -> TensorStructInfo:
        dtype = operand_dtype(inference, (0, 1))
        if dtype is not None and not is_allowed(dtype):
            hint = _HINTS.get(name, "convert both with astype")
            inference.error(f"the arguments must have {wanted}, they have {dtype!s}; {hint}")
        if dtype is not None and dtype.is_integral:
            _check_number(inference, name, dtype)
        return broadcast_info(inference, (0, 1), result or dtype)

    op = register(
        name,
        ("x1", "x2"),
        infer,
        lambda builder, expr: call_broadcasting(builder, expr, kernel, name, (0, 1)),
    )

    @named(name, doc)
    def function(x1: Any, x2: Any) -> Call:
        return call(op, *with_numbers(x1, x2))

    return function


def _check_number(inference: Inference, name: str, dtype: DType) -> None:
    """Refuse to divide by the number 0, and to shift by more bits than there are."""
    scalar = scalar_of(inference.call.args[1], None)
    number = scalar.value if scalar is not None else None
    if not isinstance(number, IntImm):
        return
    if name in DIVISIONS and number.value == 0:
        inference.error(f"{inference.name_of(1)} is 0, by which integers are not divided")
    if name in SHIFT and not 0 <= number.value < dtype.bits:
        inference.error(
            f"{inference.name_of(1)} is {number.value}, integers of {dtype!s} are shifted by 0 to "
            f"{dtype.bits - 1}"
        )


def _is_any(dtype: DType) -> bool:
    return is_number(dtype) or dtype.is_bool


def _is_bool(dtype: DType) -> bool:
    return dtype.is_bool


def _is_integral(dtype: DType) -> bool:
    return dtype.is_integral


def _is_integer(dtype: DType) -> bool:
    return dtype.is_integral and not dtype.is_bool


add, subtract, multiply, floor_divide, mod, floor_mod = (
    _binary(name, doc, is_number, "numbers") for name, doc in ARITHMETIC.items()
)
maximum, minimum = (_binary(n, doc, _is_any, "numbers or bools") for n, doc in EXTREMA.items())
divide, power = (_binary(n, doc, is_float, "a float dtype") for n, doc in FLOAT.items())
equal, not_equal, greater, greater_equal, less, less_equal = (
    _binary(name, doc, _is_any, "numbers or bools", BOOL) for name, doc in COMPARISON.items()
)
logical_and, logical_or, logical_xor = (
    _binary(name, doc, _is_bool, "dtype bool") for name, doc in LOGICAL.items()
)
bitwise_and, bitwise_or, bitwise_xor = (
    _binary(n, doc, _is_integral, "integers or bools") for n, doc in BITWISE.items()
)
left_shift, right_shift = (_binary(n, doc, _is_integer, "integers") for n, doc in SHIFT.items())


def _infer_ewise_fma(inference: Inference) -> StructInfo:
    dtype = operand_dtype(inference, (0, 1, 2))
    if dtype is not None and not is_number(dtype):
        inference.error(f"the arguments must have numbers, they have {dtype!s}")
    return broadcast_info(inference, (0, 1, 2), dtype)


def _multiply_add(a: Any, b: Any, c: Any) -> Any:
    return topi.add(topi.multiply(a, b), c)


_EWISE_FMA = register(
    "ewise_fma",
    ("x1", "x2", "x3"),
    _infer_ewise_fma,
    lambda builder, expr: call_broadcasting(builder, expr, _multiply_add, "ewise_fma", (0, 1, 2)),
)


def ewise_fma(x1: Any, x2: Any, x3: Any) -> Call:
    """x1 * x2 + x3."""
    return call(_EWISE_FMA, *with_numbers(x1, x2, x3))


def _infer_masked_fill(inference: Inference) -> StructInfo:
    info, mask = inference.tensor(0), inference.tensor(1)
    if mask.dtype is not None and not mask.dtype.is_bool:
        inference.error(
            f"{inference.name_of(1)} must have dtype bool, it has {mask.dtype!s}; compare it with "
            "something"
        )
    value: Any = inference.attr("value")
    if info.dtype is not None:
        require_value(inference, value, info.dtype)
    return broadcast_info(inference, (0, 1), info.dtype)


def _legalize_masked_fill(builder: Any, expr: Call) -> Any:
    info = expr.args[0].struct_info
    assert isinstance(info, TensorStructInfo)
    dtype, value = info.dtype, expr.attrs["value"]
    assert dtype is not None, "arrays of unknown dtype are not compiled"

    def fill(x: Any, mask: Any) -> Any:
        return topi.where(mask, topi.full((), dtype, value), x)

    return call_broadcasting(builder, expr, fill, "masked_fill", (0, 1))


_MASKED_FILL = register("masked_fill", ("x", "mask"), _infer_masked_fill, _legalize_masked_fill)


def masked_fill(x: Any, mask: Any, value: float) -> Call:
    """`x` with `value` where `mask` holds, which broadcasts."""
    return call(_MASKED_FILL, x, mask, attrs={"value": value})
