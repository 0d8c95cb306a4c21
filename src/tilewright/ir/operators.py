"""Python's operators on expressions, and on objects that stand for expressions.

Operands of different dtypes are promoted, a Python number takes the dtype of the other operand, and
constants are folded, so `x + 0` is `x`; see `tilewright.ir.arithmetic`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_CONSTRUCTORS: dict[str, Callable[..., Any]] = {}
"""The functions behind the operators, by name: they are made of nodes, which have operators."""

_NUMBERS = frozenset((int, float, bool))


def bind_constructors(constructors: dict[str, Callable[..., Any]]) -> None:
    """Make the operators call `constructors`, which has all names that `Operators` mentions."""
    _CONSTRUCTORS.update(constructors)


def is_numpy_scalar(value: object) -> bool:
    """Whether `value` is a numpy number, or an array without dimensions."""
    return hasattr(value, "item") and getattr(value, "ndim", None) == 0


def _forward(name: str) -> Callable[[Any, object], Any]:
    """The operator of the constructor `name` whose left operand is the object."""

    def operator(self: Any, other: object) -> Any:
        if other.__class__ in _NUMBERS or self.accepts(other):
            return self.operate(name, self, other)
        return NotImplemented

    return operator


def _reflected(name: str) -> Callable[[Any, object], Any]:
    """The operator of the constructor `name` whose right operand is the object."""

    def operator(self: Any, other: object) -> Any:
        if other.__class__ in _NUMBERS or self.accepts(other):
            return self.operate(name, other, self)
        return NotImplemented

    return operator


def _unary(name: str) -> Callable[[Any], Any]:
    """The operator of the constructor `name` whose only operand is the object."""
    return lambda self: self.operate(name, self)


class Operators:
    """Python's operators, all of which go through `operate`."""

    __slots__ = ()
    operator_priority = 0
    """Where the two sides differ, the side with the higher priority decides what is built."""

    def operate(self, name: str, *operands: object) -> Any:
        """What the operator does: the function `name` of `tilewright.ir.arithmetic` by default."""
        return _CONSTRUCTORS[name](*operands)

    def accepts(self, other: object) -> bool:
        """Whether `operate` is for an operation with `other`; else the other side is asked."""
        if isinstance(other, Operators):
            return other.operator_priority <= self.operator_priority
        return isinstance(other, (int, float)) or is_numpy_scalar(other)

    # Identity is the key of every dictionary of nodes, although == builds an expression.
    __hash__ = object.__hash__

    __add__, __radd__ = _forward("add"), _reflected("add")
    __sub__, __rsub__ = _forward("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _forward("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _forward("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _forward("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _forward("floormod"), _reflected("floormod")
    __lshift__, __rlshift__ = _forward("shift_left"), _reflected("shift_left")
    __rshift__, __rrshift__ = _forward("shift_right"), _reflected("shift_right")
    __and__, __rand__ = _forward("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _forward("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _forward("bitwise_xor"), _reflected("bitwise_xor")
    # Python itself reflects a comparison, by the opposite one.
    __lt__ = _forward("less")
    __le__ = _forward("less_equal")
    __gt__ = _forward("greater")
    __ge__ = _forward("greater_equal")
    __neg__ = _unary("negative")
    __invert__ = _unary("bitwise_not")
    __abs__ = _unary("absolute")

    def __eq__(self, other: object) -> Any:
        return self.operate("equal", self, other) if self.accepts(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return self.operate("not_equal", self, other) if self.accepts(other) else NotImplemented

    def __pos__(self) -> Any:
        return self

    def astype(self, dtype: str) -> Any:
        """This value converted to `dtype`."""
        return _CONSTRUCTORS["cast"](dtype, self)

    def equal(self, other: object) -> Any:
        """`self == other` as an expression."""
        return self.operate("equal", self, other)
