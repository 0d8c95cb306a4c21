"""Values as expressions: constants, conversions between dtypes, and what they fold to."""

from __future__ import annotations

import copyreg
import math
import operator
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.dtype import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType
from tilewright.ir.expr import Broadcast, Cast, Expr, FloatImm, IntImm, StringImm
from tilewright.ir.node import Node, set_conversion

_PYTHON_NUMBERS = frozenset((bool, int, float))


def const(value: object, dtype: str | None = None) -> Expr:
    """A constant expression.

    Args:
        value: a Python or numpy number or bool, or a string.
        dtype: by default bool, int32 (int64 if the value needs it) or float32; a vector dtype
            gives a `Broadcast`.

    Raises:
        DTypeError: if `value` is not a number or does not fit `dtype`.
    """
    number: Any = value
    if value.__class__ not in _PYTHON_NUMBERS:
        if isinstance(value, str):
            return StringImm(value)
        if isinstance(value, Expr):
            return value if dtype is None else cast(dtype, value)
        if hasattr(value, "item"):  # numpy scalars carry their own dtype
            dtype = dtype or getattr(value, "dtype", None)
            number = number.item()
        if not isinstance(number, (bool, int, float)):
            raise DTypeError(f"expected a number or an expression, got {value!r}")
    if dtype.__class__ is DType:
        target: DType = dtype  # type: ignore[assignment]
    else:
        target = _default_dtype(number) if dtype is None else DType(dtype)
    if target.lanes > 1:
        return Broadcast(_scalar_const(number, target.element), target.lanes)
    return _scalar_const(number, target)


def _default_dtype(value: bool | float) -> DType:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT32 if -(1 << 31) <= value < 1 << 31 else INT64
    return FLOAT32


def _scalar_const(value: bool | float, dtype: DType) -> Expr:
    if dtype.is_float:
        return FloatImm(dtype, round_float(float(value), dtype))
    if dtype.is_bool:
        return IntImm(dtype, int(bool(value)))
    if not dtype.is_integral:
        raise DTypeError(f"a constant cannot have dtype {dtype!s}")
    if isinstance(value, float):
        if not value.is_integer():
            raise DTypeError(f"{value!r} is not a value of dtype {dtype!s}")
        value = int(value)
    if not dtype.min_int <= value <= dtype.max_int:
        raise DTypeError(f"{value} is outside of dtype {dtype!s}")
    return IntImm(dtype, int(value))


def as_integer(value: Any) -> int | None:
    """The number that `value` is for Python; None for a bool and for what is not an integer."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def round_float(value: float, dtype: DType) -> float:
    """`value` rounded to the nearest value of the float type `dtype`."""
    if dtype.bits == 64 or not math.isfinite(value):
        return value
    if dtype is FLOAT32:
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)
    import numpy as np

    with np.errstate(over="ignore"):
        return float(dtype.numpy.type(value))


def as_expr(value: object, dtype: str | None = None) -> Expr:
    """`value` as an expression: an expression itself, a number, or an object that stands for one.

    Objects stand for an expression through a method `as_expr()`: TE tensors of rank 0 and
    iteration variables do.
    """
    if isinstance(value, Expr):
        return value
    convert = getattr(value, "as_expr", None)
    return convert() if convert is not None else const(value, dtype)


def exact_expr(value: object) -> Expr:
    """`value` as an expression to be converted: a Python float keeps all its digits, as float64."""
    return const(value, FLOAT64) if value.__class__ is float else as_expr(value)


def cast(dtype: str, value: object) -> Expr:
    """`value` converted to `dtype`; a scalar is broadcast to the lanes of a vector dtype."""
    target: DType = dtype if dtype.__class__ is DType else DType(dtype)  # type: ignore[assignment]
    expr = exact_expr(value)
    source = expr.dtype
    if source is target:
        return expr
    if source.lanes == 1 and target.lanes > 1:
        return Broadcast(cast(target.element, expr), target.lanes)
    if source.lanes != target.lanes:
        raise DTypeError(f"cannot cast {source!s} to {target!s}: different numbers of lanes")
    if isinstance(expr, (IntImm, FloatImm)) and not target.is_handle:
        return fold_cast(expr.value, target, Cast(target, expr))
    if isinstance(expr, Broadcast):
        return Broadcast(cast(target.element, expr.value), expr.lanes)
    return Cast(target, expr)


def fold_cast(value: float, target: DType, otherwise: Expr) -> Expr:
    """The constant `value` converted to `target`, or `otherwise` where that is undefined."""
    if target.is_float or target.is_bool:
        return const(value, target)
    if not math.isfinite(value):
        return otherwise
    whole = int(value)
    if isinstance(value, float) and not target.min_int <= whole <= target.max_int:
        return otherwise
    return IntImm(target, wrap_int(whole, target))


def wrap_int(value: int, dtype: DType) -> int:
    """`value` modulo 2**bits, in the range of the integer type `dtype`."""
    if dtype.min_int <= value <= dtype.max_int:
        return value
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.is_int and value > dtype.max_int else value


set_conversion(Expr, as_expr)
set_conversion(StringImm, as_expr)


Attributes = Mapping[str, Any]
EMPTY: Final[Attributes] = MappingProxyType({})


def _read_only(values: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(values)


# Python itself cannot pickle read-only dictionaries.
copyreg.pickle(MappingProxyType, lambda values: (_read_only, (dict(values),)))


def as_attribute(value: object) -> Any:
    """A Python value as it is kept in an attribute dictionary.

    Numbers and bools become constants (so that `T.bool(True)` and `True` are the same), sequences
    become tuples, mappings become dictionaries; strings, None and nodes stay as they are.
    """
    if value is None or isinstance(value, (str, Node)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(as_attribute(item) for item in value)
    if isinstance(value, Mapping):
        return attributes(value)
    if isinstance(value, (bool, int, float)) or hasattr(value, "item"):
        return const(value)
    if getattr(value, "is_attribute", False):  # such as a Target
        return value
    raise ArgumentError(f"cannot keep {value!r} as an attribute: use numbers, strings or nodes")


def attributes(values: Mapping[str, Any] | None) -> Attributes:
    """A dictionary of attributes, each value converted by `as_attribute`."""
    if not values:
        return EMPTY
    for key in values:
        if not isinstance(key, str):
            raise ArgumentError(f"attribute names are strings, got {key!r}")
    return {str(key): as_attribute(value) for key, value in values.items()}


set_conversion(Attributes, attributes)
