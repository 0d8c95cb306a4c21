"""Updates of elements: by an operator that is commutative and associative, or by choosing between
old and new values, as for arguments of maxima."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tilewright.ir.arithmetic import multiply
from tilewright.ir.convert import const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    Add,
    And,
    Call,
    CompareExpr,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Select,
    Sub,
    Var,
)
from tilewright.ir.node import Node
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.expressions import identical
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


def choice_of(expr: Expr) -> tuple[Expr, Expr, Expr] | None:
    """Condition and both values of a `Select` or `T.if_then_else`."""
    if isinstance(expr, Select):
        return expr.condition, expr.true_value, expr.false_value
    if isinstance(expr, Call) and getattr(expr.op, "name", "") == "tir.if_then_else":
        return expr.args[0], expr.args[1], expr.args[2]
    return None


class Selection(NamedTuple):
    """What chooses between old and new values.

    Attributes:
        values: the new ones.
        results: what is chosen, in terms of variables for both.
    """

    values: tuple[Expr, ...]
    results: tuple[Expr, ...]


def match_selection(
    values: Sequence[Expr], targets: Sequence[BufferLoad], lhs: Sequence[Var], rhs: Sequence[Var]
) -> Selection | None:
    """Values each of which is chosen from the old one and one new value.

    What decides is made of comparisons of old values, the new ones, and constants.

    `targets` are the elements with the old values, `lhs` and `rhs` the variables for old and new
    ones.
    """
    selection = _Matcher(targets, lhs, rhs)
    news = tuple(selection.new_value(n, value) for n, value in enumerate(values))
    if None in news:
        return None
    selection.news = tuple(new for new in news if new is not None)
    found = [selection.abstract(value) for value in values]
    results = tuple(result for result in found if result is not None)
    if len(results) != len(values):
        return None
    pairs = zip(lhs, results, strict=True)
    if not all(any(node is old for node in walk(result)) for old, result in pairs):
        return None
    return Selection(selection.news, results)


class _Matcher:
    """Finds the new values, and what is chosen in terms of variables for both."""

    def __init__(
        self, targets: Sequence[BufferLoad], lhs: Sequence[Var], rhs: Sequence[Var]
    ) -> None:
        self.targets, self.lhs, self.rhs = targets, lhs, rhs
        self.news: tuple[Expr, ...] = ()
        self._memory = {target.buffer.data for target in targets}

    def _is_new(self, expr: Node) -> bool:
        """Whether an expression does not depend on the old values."""
        loads = (node for node in walk(expr) if isinstance(node, BufferLoad))
        return all(load.buffer.data not in self._memory for load in loads)

    def new_value(self, position: int, value: Expr) -> Expr | None:
        """What is chosen in place of the old value; None if that is not one expression."""
        old = self.targets[position]
        news = [leaf for leaf in self._chosen(value) if not identical(leaf, old)]
        if not news or not all(self._is_new(leaf) and identical(leaf, news[0]) for leaf in news):
            return None
        return news[0]

    def _chosen(self, value: Expr) -> list[Expr]:
        if self._is_new(value):
            return [value]
        if isinstance(value, (Min, Max)):
            return [*self._chosen(value.a), *self._chosen(value.b)]
        choice = choice_of(value)
        return [value] if choice is None else [*self._chosen(choice[1]), *self._chosen(choice[2])]

    def abstract(self, expr: Expr, beside: Expr | None = None) -> Expr | None:
        """`expr` in terms of variables for old and new values; None if there is more in it.

        `beside` is what it is compared with: of equal new values, the one of the same component
        counts.
        """
        for var, target in zip(self.lhs, self.targets, strict=True):
            if identical(expr, target):
                return var
        known = [n for n, new in enumerate(self.news) if identical(expr, new)]
        if known:
            old = [] if beside is None else [n for n in known if identical(beside, self.targets[n])]
            return self.rhs[(old or known)[0]]
        if isinstance(expr, (IntImm, FloatImm)):
            return expr
        if isinstance(expr, (CompareExpr, Min, Max, And, Or)):
            a, b = self.abstract(expr.a, expr.b), self.abstract(expr.b, expr.a)
            return None if a is None or b is None else type(expr)(a, b)
        if isinstance(expr, Not):
            inner = self.abstract(expr.a)
            return None if inner is None else Not(inner)
        is_nan_test = isinstance(expr, Call) and getattr(expr.op, "name", "") == "tir.isnan"
        return self._rebuilt(expr) if is_nan_test or choice_of(expr) is not None else None

    def _rebuilt(self, expr: Expr) -> Expr | None:
        children = expr.args if isinstance(expr, Call) else expr.children()
        found = {id(child): self.abstract(child) for child in children}  # type: ignore[arg-type]
        if None in found.values():
            return None
        return expr.map_children(lambda child: found.get(id(child), child))
