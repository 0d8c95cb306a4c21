"""Updates of one element by an operator that is commutative and associative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tilewright.ir.arithmetic import multiply
from tilewright.ir.convert import const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Add, And, Call, Expr, Max, Min, Mul, Or, Sub, Var
from tilewright.ir.op import Op
from tilewright.tir.analysis.identical import identical
from tilewright.tir.buffer import BufferLoad


class Update(NamedTuple):
    """``target = operator(target, value)``."""

    operator: type[Expr] | Op
    value: Expr


_CLASSES: Final = (Add, Mul, Min, Max, And, Or)
_BITWISE: Final = ("tir.bitwise_and", "tir.bitwise_or", "tir.bitwise_xor")


def match_update(value: Expr, target: BufferLoad) -> Update | None:
    """The operator by which `value` updates `target`, which may stand deep in a chain of it."""
    if isinstance(value, Sub):
        inner = _match_chain(value.a, target, Add)
        if inner is None:
            return None
        minus = multiply(value.b, -1) if not value.dtype.is_uint else None
        if minus is None:
            return None
        return Update(Add, minus if inner is target else Add(inner, minus))
    operator = operator_of(value)
    if operator is None:
        return None
    rest = _match_chain(value, target, operator)
    return None if rest is None or rest is target else Update(operator, rest)


def operator_of(value: Expr) -> type[Expr] | Op | None:
    """The commutative and associative operator of an expression; None if it has another one."""
    if isinstance(value, _CLASSES):
        return type(value)
    if isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in _BITWISE:
        return value.op
    return None


def _match_chain(value: Expr, target: BufferLoad, operator: type[Expr] | Op) -> Expr | None:
    """What `value` combines with `target`; `target` itself for nothing, None for no match."""
    if isinstance(value, BufferLoad):
        return target if identical(value, target) else None
    if operator_of(value) is not operator:
        return None
    operands = value.args if isinstance(value, Call) else (value.a, value.b)  # type: ignore[attr-defined]
    for inner, other in (operands, operands[::-1]):
        rest = _match_chain(inner, target, operator)
        if rest is not None:
            return other if rest is target else apply_operator(operator, rest, other)
    return None


def is_idempotent(operator: type[Expr] | Op) -> bool:
    """Whether combining a value twice is the same as once."""
    if isinstance(operator, Op):
        return operator.name != "tir.bitwise_xor"
    return operator not in (Add, Mul)


def apply_operator(operator: type[Expr] | Op, a: Expr, b: Expr) -> Expr:
    """``operator(a, b)``."""
    if isinstance(operator, Op):
        return Call(a.dtype, operator, (a, b))
    return operator(a, b)  # type: ignore[call-arg]


def operands_for(stem: str, targets: Sequence[BufferLoad]) -> tuple[Var, ...]:
    """New variables of the dtypes of `targets`, as operands of a `CommReducer`."""
    if len(targets) == 1:
        return (Var(stem, targets[0].dtype),)
    return tuple(Var(f"{stem}{number}", target.dtype) for number, target in enumerate(targets))


def neutral_element(operator: type[Expr] | Op, dtype: DType) -> Expr | None:
    """The element that leaves every other as it is; None if there is none."""
    if dtype.is_vector:
        return None
    if isinstance(operator, Op):
        ones = dtype.max_int if dtype.is_uint else -1
        return const(ones if operator.name == "tir.bitwise_and" else 0, dtype)
    if operator is And or operator is Or:
        return const(operator is And, dtype)
    if operator is Add or operator is Mul:
        return const(int(operator is Mul), dtype)
    return limit(dtype, least=operator is Max)


def limit(dtype: DType, *, least: bool) -> Expr:
    """The value that no other one is below (or above)."""
    if dtype.is_integral:
        return const(dtype.min_int if least else dtype.max_int, dtype)
    return const(float("-inf") if least else float("inf"), dtype)
