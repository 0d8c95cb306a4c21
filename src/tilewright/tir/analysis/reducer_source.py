"""A reducer as Python source: equal for reducers that differ in names only, and quick to try."""

from __future__ import annotations

from operator import is_
from typing import Any, NamedTuple

from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    EQ,
    NE,
    Add,
    And,
    BinaryExpr,
    Call,
    CompareExpr,
    Div,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Sub,
    Var,
)
from tilewright.ir.op import Op
from tilewright.tir.analysis.update import choice_of, operator_of
from tilewright.tir.expr import CommReducer


class Source(NamedTuple):
    """A reducer.

    Attributes:
        dtypes: of the components.
        results: for each component the Python expression of ``x0, x1, ...`` and ``y0, y1, ...`` it
            is combined by; None if there is no such expression.
        operators: for each component, the operator of `tir.analysis.update` that combines it, and
            nothing else; None if there is none.
        selects: for each component, whether it is chosen from values by comparing them.
        groups: the components that depend on each other.
        compared: for each component, the first of those that values of it are compared with.
        constants: for each component, the constants that values of it are compared with.
        asks_for_nan: for each component, whether values are tested for being NaN.
    """

    dtypes: tuple[DType, ...]
    results: tuple[str | None, ...]
    operators: tuple[type[Expr] | Op | None, ...]
    selects: tuple[bool, ...]
    groups: tuple[tuple[int, ...], ...]
    compared: tuple[int, ...]
    constants: tuple[tuple[Any, ...], ...]
    asks_for_nan: tuple[bool, ...]


def source_of(combiner: CommReducer) -> Source:
    """The Python source of a reducer."""
    return _Reader(combiner).source()


class _UnknownError(Exception):
    """An expression that has no source."""


class _Reader:
    """Translates the results of one reducer."""

    def __init__(self, combiner: CommReducer) -> None:
        self._combiner = combiner
        pairs = [*enumerate(combiner.lhs), *enumerate(combiner.rhs)]
        self._components = {var: component for component, var in pairs}
        self._names = {var: f"x{n}" for n, var in enumerate(combiner.lhs)}
        self._names |= {var: f"y{n}" for n, var in enumerate(combiner.rhs)}
        count = len(combiner.result)
        self._constants: list[set[Any]] = [set() for _ in range(count)]
        self._asks_for_nan = [False] * count
        self._same_order = _Classes(count)
        self._used: set[int] = set()
        self._selects = True

    def source(self) -> Source:
        combiner = self._combiner
        results: list[str | None] = []
        selects: list[bool] = []
        together = _Classes(len(combiner.result))
        for component, result in enumerate(combiner.result):
            self._used, self._selects = {component}, True
            try:
                results.append(self._value(result))
                self._note_same_order([self._combiner.lhs[component], *_leaves(result)])
            except _UnknownError:
                results.append(None)
                self._used.update(range(len(combiner.result)))
                self._selects = False
            selects.append(self._selects)
            for other in self._used:
                together.join(component, other)
        return Source(
            tuple(var.dtype for var in combiner.lhs),
            tuple(results),
            tuple(self._operator(n, result) for n, result in enumerate(combiner.result)),
            tuple(selects),
            together.members(),
            tuple(self._same_order.first(n) for n in range(len(results))),
            tuple(tuple(sorted(found)) for found in self._constants),
            tuple(self._asks_for_nan),
        )

    def _operator(self, component: int, result: Expr) -> type[Expr] | Op | None:
        """The operator of ``x <operator> y``, for one component alone."""
        operator = operator_of(result)
        if operator is None:
            return None
        pair = [self._combiner.lhs[component], self._combiner.rhs[component]]
        operands = result.args if isinstance(result, Call) else result.children()
        orders = pair, pair[::-1]
        return operator if any(all(map(is_, operands, order)) for order in orders) else None

    def _value(self, expr: Expr) -> str:
        if isinstance(expr, Var):
            if expr not in self._names:
                raise _UnknownError
            self._used.add(self._components[expr])
            return self._names[expr]
        if isinstance(expr, IntImm):
            return repr(bool(expr.value) if expr.dtype.is_bool else expr.value)
        if isinstance(expr, FloatImm):
            return f"real(float({str(expr.value)!r}))"
        if isinstance(expr, CompareExpr):
            return self._comparison(expr)
        if isinstance(expr, Not):
            return f"(not {self._value(expr.a)})"
        if isinstance(expr, (And, Or)):
            return f"({self._value(expr.a)} {expr.symbol} {self._value(expr.b)})"
        if isinstance(expr, (Min, Max)):
            self._note_compared(expr)
            name = "least" if isinstance(expr, Min) else "greatest"
            return f"{name}({self._value(expr.a)}, {self._value(expr.b)})"
        if isinstance(expr, (Add, Sub, Mul, Div)):
            return self._arithmetic(expr)
        choice = choice_of(expr)
        if choice is not None:
            condition, yes, no = map(self._value, choice)
            return f"({yes} if {condition} else {no})"
        if isinstance(expr, Call) and getattr(expr.op, "name", "") == "tir.isnan":
            self._note_nan_test(expr.args[0])
            value = self._value(expr.args[0])
            return f"({value} != {value})"
        raise _UnknownError

    def _arithmetic(self, expr: BinaryExpr) -> str:
        self._selects = False
        if isinstance(expr, Div) and not expr.dtype.is_float:
            raise _UnknownError
        return f"({self._value(expr.a)} {expr.symbol} {self._value(expr.b)})"

    def _comparison(self, expr: CompareExpr) -> str:
        self._note_compared(expr)
        if isinstance(expr, (EQ, NE)) and expr.a is expr.b:
            self._note_nan_test(expr.a)
        return f"({self._value(expr.a)} {expr.symbol} {self._value(expr.b)})"

    def _note_compared(self, expr: BinaryExpr) -> None:
        """The components on both sides have one order, with the constants."""
        self._note_same_order([*_leaves(expr.a), *_leaves(expr.b)])

    def _note_same_order(self, values: list[Expr]) -> None:
        """Some values are compared with each other, or one is chosen from them."""
        found = [
            self._components[v] for v in values if isinstance(v, Var) and v in self._components
        ]
        for component in found:
            self._same_order.join(found[0], component)
        for value in values:
            if isinstance(value, (IntImm, FloatImm)):
                for component in found:
                    self._constants[component].add(value.value)
            elif not isinstance(value, Var) and not value.dtype.is_bool:
                self._selects = False

    def _note_nan_test(self, expr: Expr) -> None:
        if isinstance(expr, Var) and expr in self._components:
            self._asks_for_nan[self._components[expr]] = expr.dtype.is_float


def _leaves(expr: Expr) -> list[Expr]:
    """What the value of an expression may be chosen from."""
    if isinstance(expr, (Min, Max)):
        return [*_leaves(expr.a), *_leaves(expr.b)]
    choice = choice_of(expr)
    return [expr] if choice is None else [*_leaves(choice[1]), *_leaves(choice[2])]


class _Classes:
    """Classes of numbers that belong together."""

    def __init__(self, count: int) -> None:
        self._first = list(range(count))

    def first(self, number: int) -> int:
        """The smallest number of the class."""
        return self._first[number]

    def join(self, a: int, b: int) -> None:
        one, other = sorted((self._first[a], self._first[b]))
        self._first = [one if first == other else first for first in self._first]

    def members(self) -> tuple[tuple[int, ...], ...]:
        """All classes."""
        return tuple(
            tuple(n for n, own in enumerate(self._first) if own == first)
            for first in dict.fromkeys(self._first)
        )
