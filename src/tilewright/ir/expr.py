"""Scalar and vector expressions.

Python operators on expressions build expressions. Operands of different dtypes are promoted, a
Python number takes the dtype of the other operand, and constants are folded, so `x + 0` is `x`.
`==` and `!=` build comparisons too. The truth value of `a == b` is whether the two say the same, as
`structural_equal` finds it; all other expressions whose value is not known refuse to be a truth
value, and so do comparisons of indices in the function of a computation or in a script, which
raise instead of silently choosing a branch (see `values_unknown`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar, Final

from tilewright.error import TVMError
from tilewright.ir.dtype import BOOL, DType, Type
from tilewright.ir.node import Node, attr, binds, child, derived, meta, node, use
from tilewright.ir.op import Op
from tilewright.ir.operators import Operators


class SymbolicTruthError(TVMError, TypeError):
    """A symbolic expression was used where Python needs True or False."""


_UNKNOWN: ContextVar[frozenset[Expr] | None] = ContextVar("unknown values", default=frozenset())


@contextmanager
def values_unknown(variables: Iterable[Expr] | None) -> Generator[None]:
    """Inside, `a == b` has no truth value if it depends on one of `variables`, say, on an index.

    Which of two variables is meant may be asked all the same.

    Args:
        variables: the variables, which stand for many values; None if no comparison has a truth
            value, not even one of two variables.
    """
    outer = _UNKNOWN.get()
    known = variables is not None and outer is not None
    token = _UNKNOWN.set(outer.union(variables) if known else None)  # type: ignore[union-attr, arg-type]
    try:
        yield
    finally:
        _UNKNOWN.reset(token)


def _is_same(comparison: EQ | NE) -> bool:
    """Whether both sides of a comparison say the same.

    Raises:
        SymbolicTruthError: where it depends on values that are not known; see `values_unknown`.
    """
    from tilewright.ir.rewrite import walk
    from tilewright.ir.structural import structural_equal

    unknown = _UNKNOWN.get()
    if unknown is None:
        raise _unknown_truth(comparison)
    both_variables = isinstance(comparison.a, Var) and isinstance(comparison.b, Var)
    if unknown and not both_variables and not unknown.isdisjoint(walk(comparison)):
        raise _unknown_truth(comparison)
    return structural_equal(comparison.a, comparison.b)


def _unknown_truth(expr: Expr) -> SymbolicTruthError:
    return SymbolicTruthError(
        f"the value of `{expr!r}` is not known while the program is built; use "
        "tir.if_then_else, tir.all or tir.any in an expression, and structural_equal(a, b) "
        "or `a is b` to compare two expressions"
    )


class Expr(Operators, Node):
    """Base class of all scalar and vector expressions; every subclass has a `dtype`."""

    __slots__ = ()
    dtype: DType

    def __bool__(self) -> bool:
        raise _unknown_truth(self)


@node
class Var(Expr):
    """A variable: a loop variable, a function parameter, a symbolic size, a pointer.

    Two variables are the same only if they are the same object; names need not be unique. The type
    of a pointer may stand for its dtype: ``Var("p", PointerType(PrimType("float32")))``.
    """

    name: str = meta()
    dtype: DType = attr(source="dtype if dtype.__class__ is DType else Type.dtype_of(dtype)")
    type_annotation: Type | None = attr(
        default=None,
        source="type_annotation if type_annotation is not None or dtype.__class__ is DType "
        "else Type.annotation_of(dtype)",
    )


@node
class SizeVar(Var):
    """A variable that is known to be at least 0, such as a symbolic extent."""


@node
class IntImm(Expr):
    """An integer constant (also of dtype bool)."""

    dtype: DType = attr()
    value: int = attr()

    def __bool__(self) -> bool:
        return self.value != 0

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __float__(self) -> float:
        return float(self.value)


@node
class FloatImm(Expr):
    """A floating-point constant."""

    dtype: DType = attr()
    value: float = attr()

    def __bool__(self) -> bool:
        return self.value != 0

    def __float__(self) -> float:
        return self.value


@node
class StringImm(Expr):
    """A string constant, as an argument of a call or the message of an assertion."""

    value: str = attr()
    dtype: DType = derived("DType('handle')")

    def __str__(self) -> str:
        return self.value


@node
class Cast(Expr):
    """`value` converted to `dtype`: floats truncate towards zero, integers wrap around."""

    dtype: DType = attr()
    value: Expr = child()


@node
class BinaryExpr(Expr):
    """Base class of operators with two operands of one dtype.

    Attributes:
        a: the left operand.
        b: the right operand.
        symbol: the operator in Python; its name, where Python has a function for it or nothing.
    """

    __node_name__ = ""
    symbol: ClassVar[str]
    a: Expr = child()
    b: Expr = child()
    dtype: DType = derived("a.dtype")


def compare_dtype(operand: DType) -> DType:
    """The dtype of a comparison of two values of dtype `operand`."""
    return BOOL if operand.lanes == 1 else BOOL.with_lanes(operand.lanes)


@node
class CompareExpr(BinaryExpr):
    """Base class of comparisons; the result is bool, with the lanes of the operands."""

    __node_name__ = ""
    dtype: DType = derived("compare_dtype(a.dtype)")


@node
class Add(BinaryExpr):
    """`a + b`; integers wrap around."""

    symbol = "+"


@node
class Sub(BinaryExpr):
    """`a - b`; integers wrap around."""

    symbol = "-"


@node
class Mul(BinaryExpr):
    """`a * b`; integers wrap around."""

    symbol = "*"


@node
class Div(BinaryExpr):
    """`a / b`; for integers, rounded towards zero."""

    symbol = "/"


@node
class Mod(BinaryExpr):
    """The remainder of `Div`: it has the sign of `a`."""

    symbol = "truncmod"


@node
class FloorDiv(BinaryExpr):
    """The floor of `a / b`."""

    symbol = "//"


@node
class FloorMod(BinaryExpr):
    """The remainder of `FloorDiv`: it has the sign of `b`."""

    symbol = "%"


@node
class Min(BinaryExpr):
    """The smaller of `a` and `b`; NaN where either is NaN."""

    symbol = "min"


@node
class Max(BinaryExpr):
    """The larger of `a` and `b`; NaN where either is NaN."""

    symbol = "max"


@node
class EQ(CompareExpr):
    """`a == b`; its truth value is whether both say the same."""

    symbol = "=="

    def __bool__(self) -> bool:
        return _is_same(self)


@node
class NE(CompareExpr):
    """`a != b`; its truth value is whether the two differ, as `structural_equal` finds it."""

    symbol = "!="

    def __bool__(self) -> bool:
        return not _is_same(self)


@node
class LT(CompareExpr):
    """`a < b`."""

    symbol = "<"


@node
class LE(CompareExpr):
    """`a <= b`."""

    symbol = "<="


@node
class GT(CompareExpr):
    """`a > b`."""

    symbol = ">"


@node
class GE(CompareExpr):
    """`a >= b`."""

    symbol = ">="


@node
class And(BinaryExpr):
    """Logical and; scalar operands short-circuit."""

    symbol = "and"


@node
class Or(BinaryExpr):
    """Logical or; scalar operands short-circuit."""

    symbol = "or"


NEGATED: Final = {LT: GE, GE: LT, GT: LE, LE: GT, EQ: NE, NE: EQ}
"""The comparison that holds where another does not, of integers."""


@node
class Not(Expr):
    """Logical not."""

    a: Expr = child()
    dtype: DType = derived("a.dtype")


@node
class Select(Expr):
    """`true_value` where `condition` holds, else `false_value`; both are evaluated."""

    condition: Expr = child()
    true_value: Expr = child()
    false_value: Expr = child()
    dtype: DType = derived("true_value.dtype")


@node
class Ramp(Expr):
    """The vector ``[base, base + stride, ..., base + (lanes - 1) * stride]``."""

    base: Expr = child()
    stride: Expr = child()
    lanes: int = attr()
    dtype: DType = derived("base.dtype.with_lanes(lanes)")


@node
class Broadcast(Expr):
    """The vector of `lanes` copies of `value`."""

    value: Expr = child()
    lanes: int = attr()
    dtype: DType = derived("value.dtype.with_lanes(lanes)")


@node
class Shuffle(Expr):
    """The lanes numbered `indices` (constants) of the concatenation of `vectors`."""

    vectors: tuple[Expr, ...] = child()
    indices: tuple[Expr, ...] = child()
    dtype: DType = derived("vectors[0].dtype.element.with_lanes(len(indices))")


@node
class Let(Expr):
    """`body` in which `var` stands for `value`."""

    var: Var = binds()
    value: Expr = child()
    body: Expr = child()
    dtype: DType = derived("body.dtype")


@node
class Call(Expr):
    """A call of an intrinsic (`Op`) or of a function of the module (`GlobalVar`)."""

    dtype: DType = attr()
    op: Op | Node = use(source="Op.get(op) if op.__class__ is str else op")
    args: tuple[Expr, ...] = child()


def is_const_int(value: object, equal_to: int | None = None) -> bool:
    """Whether `value` is an integer constant (and equal to the given one)."""
    return value.__class__ is IntImm and (
        equal_to is None or value.value == equal_to  # type: ignore[attr-defined]
    )


def const_int_value(value: object) -> int | None:
    """The value of an integer constant; None for anything else."""
    return value.value if isinstance(value, IntImm) else None


def constant_product(values: Iterable[object]) -> int | None:
    """The product of integer constants; None if any of `values` is something else."""
    product = 1
    for value in values:
        if not isinstance(value, IntImm):
            return None
        product *= value.value
    return product
