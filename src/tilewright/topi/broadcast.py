"""Binary operators with the broadcasting rules of numpy.

Each takes tensors and scalars; of two scalars the result is a scalar expression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tilewright.error import ShapeError
from tilewright.ir import arithmetic
from tilewright.ir.expr import Expr, is_const_int
from tilewright.te.compute import compute
from tilewright.te.elementwise import broadcast_with, same_extent
from tilewright.te.tensor import Tensor, as_shape, shape_text, zero_like
from tilewright.tir.op import math
from tilewright.topi import tag


def _trunc_divide(a: Any, b: Any) -> Expr:
    """The quotient rounded towards zero; of floats the exact one, as in `floor_divide`."""
    x, y = arithmetic.match_operands(a, b, "trunc_divide")
    if not x.dtype.is_float:
        return arithmetic.truncdiv(x, y)
    whole = math.round((x - math.fmod(x, y)) / y)
    return arithmetic.select(y.equal(0.0), x / y, whole)


BINARY: Final[dict[str, Callable[[Any, Any], Expr]]] = {
    "add": arithmetic.add,
    "subtract": arithmetic.subtract,
    "multiply": arithmetic.multiply,
    "divide": arithmetic.divide,
    "floor_divide": arithmetic.floordiv,
    "trunc_divide": _trunc_divide,
    "mod": arithmetic.truncmod,
    "floor_mod": arithmetic.floormod,
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
    "power": math.power,
    "atan2": math.atan2,
    "left_shift": arithmetic.shift_left,
    "right_shift": arithmetic.shift_right,
    "greater": arithmetic.greater,
    "less": arithmetic.less,
    "equal": arithmetic.equal,
    "not_equal": arithmetic.not_equal,
    "greater_equal": arithmetic.greater_equal,
    "less_equal": arithmetic.less_equal,
    "logical_and": arithmetic.logical_and,
    "logical_or": arithmetic.logical_or,
    "logical_xor": lambda a, b: arithmetic.not_equal(a, b),
    "bitwise_and": arithmetic.bitwise_and,
    "bitwise_or": arithmetic.bitwise_or,
    "bitwise_xor": arithmetic.bitwise_xor,
}
"""What each operator does to a pair of elements."""


def _binary(name: str, apply: Callable[[Any, Any], Expr]) -> Callable[[Any, Any], Any]:
    def operator(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, Tensor) or isinstance(rhs, Tensor):
            return broadcast_with(apply, name, lhs, rhs)
        return apply(lhs, rhs)

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"`{name}` of each pair of elements of `lhs` and `rhs`, which broadcast."
    return operator


add, subtract, multiply, divide, floor_divide, trunc_divide, mod, floor_mod, maximum, minimum, \
    power, atan2, left_shift, right_shift, greater, less, equal, not_equal, greater_equal, \
    less_equal, logical_and, logical_or, logical_xor, bitwise_and, bitwise_or, bitwise_xor = (
        _binary(name, apply) for name, apply in BINARY.items()
    )  # fmt: skip


def broadcast_to(data: Tensor, shape: Sequence[Any]) -> Tensor:
    """`data` repeated to `shape`.

    A symbolic extent that is not known to be the wanted one is taken for it unless it is 1 when
    the program runs.

    Raises:
        ShapeError: if `data` has more dimensions than `shape`, or an extent is neither 1 nor that
            of `shape`.
    """
    target = as_shape(shape, "topi.broadcast_to")
    offset = len(target) - data.ndim
    fits = offset >= 0 and all(map(_may_repeat, data.shape, target[offset:]))
    if not fits:
        raise ShapeError(
            f"topi.broadcast_to: shape {shape_text(data.shape)} cannot be repeated to "
            f"{shape_text(target)}"
        )

    def element(*ax: Any) -> Expr:
        used = zip(ax[offset:], data.shape, target[offset:], strict=True)
        return data(*(_repeated(index, extent, wanted) for index, extent, wanted in used))

    return compute(target, element, "T_broadcast_to", tag.BROADCAST)


def _may_repeat(extent: Expr, wanted: Expr) -> bool:
    known = is_const_int(extent) and is_const_int(wanted)
    return not known or is_const_int(extent, 1) or same_extent(extent, wanted)


def _repeated(index: Expr, extent: Expr, wanted: Expr) -> Expr:
    if is_const_int(extent, 1):
        return zero_like(index)
    if is_const_int(extent) or same_extent(extent, wanted):
        return index
    return arithmetic.select(extent == 1, zero_like(index), index)
