"""What is known about loop variables while a pass walks down the loops, and what follows from it.

Intervals of affine expressions decide almost every condition that lowering meets (`m_0 * 16 + m_1
< 1000` for known loops), and multiplying out simplifies almost every index. For divisions and for
symbolic extents there is the analyzer of `tilewright.arith`, which is made when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tilewright.arith import Analyzer
from tilewright.arith.bounds import type_bounds
from tilewright.arith.facts import EVERYTHING, UNBOUNDED, Interval
from tilewright.arith.linear import LinearForm, without_low_digits
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    Call,
    Cast,
    CompareExpr,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Select,
    SizeVar,
    Var,
    is_const_int,
)
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For, IfThenElse, Stmt
from tilewright.tir.transform.analysis.affine import (
    affine,
    difference,
    expand,
    factors_of,
    to_expr,
)

_HARD = (FloorDiv, FloorMod, Div, Mod, Min, Max, Select)
"""What multiplying out does not see through."""


class Ranges:
    """Intervals of variables, and of the expressions over them."""

    def __init__(self) -> None:
        self._of: dict[Var, Interval] = {}
        self._bound: dict[Var, tuple[Expr, Expr]] = {}
        self._analyzer: Analyzer | None = None
        self._assumed: list[Expr] = []

    def bind(self, var: Var, minimum: Expr, extent: Expr) -> None:
        """Let `var` run over `extent` values from `minimum`."""
        self._bound[var] = (minimum, extent)
        if self._analyzer is not None:
            self._analyzer.bind_range(var, minimum, extent)
        if var.dtype.is_index:
            low = self.interval(minimum)[0]
            self._of[var] = low, self.interval(as_expr(minimum + extent))[1] - 1
        elif isinstance(minimum, IntImm) and isinstance(extent, IntImm):
            self._of[var] = minimum.value, minimum.value + extent.value - 1
        else:
            self._of[var] = type_bounds(var.dtype)

    def not_negative(self, var: Var) -> None:
        """Let `var` be zero or more."""
        self._of[var] = (0, UNBOUNDED)

    def is_not_negative(self, form: LinearForm) -> bool:
        """Whether the interval of an expanded expression has no negative numbers."""
        return self.interval_of(form)[0] >= 0

    @property
    def analyzer(self) -> Analyzer:
        """An analyzer that knows the same ranges."""
        if self._analyzer is None:
            self._analyzer = Analyzer()
            for var, (minimum, extent) in self._bound.items():
                self._analyzer.bind_range(var, minimum, extent)
        return self._analyzer

    @contextmanager
    def assuming(self, condition: Expr) -> Iterator[None]:
        """Simplify indices where `condition` holds."""
        before = len(self._assumed)
        self._assumed += map(without_likely, conjuncts(condition))
        yield
        del self._assumed[before:]

    def simplify_index(self, index: Expr) -> Expr:
        """An integer expression as a person would write it."""
        index = expand(index)
        if index.dtype.lanes != 1 or not any(isinstance(node, _HARD) for node in walk(index)):
            return index
        with ExitStack() as known:
            for condition in self._assumed:
                known.enter_context(self.analyzer.constraint(condition))
            return self.analyzer.simplify(index)

    def interval(self, expr: Expr) -> Interval:
        """Bounds of an integer expression."""
        if expr.dtype.is_index or isinstance(expr, (Var, IntImm)):
            return self.interval_of(affine(expr))
        return type_bounds(expr.dtype)  # it may wrap around

    def interval_of(self, form: LinearForm) -> Interval:
        """Bounds of an expanded expression."""
        return form.bounds(self._product)

    def _product(self, term: Any) -> Interval:
        first, *others = factors_of(term)
        low, high = self._atom(first)
        for factor in others:
            a, b = self._atom(factor)
            if low < 0 or a < 0:
                return EVERYTHING
            low, high = low * a, high * b
        return low, high

    def _atom(self, atom: Expr) -> Interval:
        if isinstance(atom, Var):
            return self._of.get(atom, (0, UNBOUNDED) if isinstance(atom, SizeVar) else EVERYTHING)
        if isinstance(atom, Cast) and atom.dtype.is_int and atom.value.dtype.is_int:
            inner = self.interval(atom.value)
            return inner if atom.value.dtype.bits <= atom.dtype.bits else EVERYTHING
        if isinstance(atom, (FloorDiv, FloorMod)) and isinstance(atom.b, IntImm):
            return self._division(atom, atom.b.value)
        if isinstance(atom, (Min, Max)):
            pick = min if isinstance(atom, Min) else max
            a, b = self.interval(atom.a), self.interval(atom.b)
            return pick(a[0], b[0]), pick(a[1], b[1])
        return EVERYTHING

    def _division(self, atom: FloorDiv | FloorMod, divisor: int) -> Interval:
        if divisor <= 0:
            return EVERYTHING
        low, high = self.interval(atom.a)
        if isinstance(atom, FloorDiv):
            return low // divisor, high // divisor
        if low // divisor == high // divisor:
            return low % divisor, high % divisor
        return 0, divisor - 1

    def simplify_condition(self, condition: Expr) -> Expr:
        """`condition` without the conjuncts that always hold; False if one of them never does."""
        result: Expr = const(True, BOOL)
        for part in conjuncts(condition):
            known = self.decide(part)
            if known is None:
                result = logical_and(result, part)
            elif not known:
                return const(False, BOOL)
        return result

    def decide(self, condition: Expr) -> bool | None:
        """Whether `condition` holds for all values, or for none; None if that is not known."""
        condition = without_likely(condition)
        if isinstance(condition, IntImm):
            return bool(condition.value)
        if not isinstance(condition, CompareExpr) or condition.a.dtype.lanes != 1:
            return None
        dtype, known = condition.a.dtype, None
        if dtype.is_index:
            low, high = self.interval_of(difference(condition.a, condition.b))
            known = _sign_decides(condition, low, high)
        if not dtype.is_int or any(isinstance(n, (BufferLoad, Call)) for n in walk(condition)):
            return None  # arithmetic on data may wrap around
        return self._analyzed(condition) if known is None else known

    def without_low_digits(self, condition: Expr) -> Expr:
        """``8 * i + j < 1000`` with ``0 <= j < 8`` as ``i < 125``; `condition` itself if there is
        nothing like `j` in it."""
        if not (isinstance(condition, LT) and isinstance(condition.b, IntImm)):
            return condition
        if not condition.a.dtype.is_index:
            return condition
        form = affine(condition.a)
        shorter = without_low_digits(
            form._replace(constant=form.constant - condition.b.value),
            lambda lower: lower.bounds(self._product),
        )
        if shorter is None or len(shorter.terms) == len(form.terms):
            return condition
        dtype = condition.a.dtype
        return LT(to_expr(LinearForm(shorter.terms, 0), dtype), const(-shorter.constant, dtype))

    def _analyzed(self, condition: CompareExpr) -> bool | None:
        """What the analyzer says, where symbolic bounds or divisions may decide."""
        nodes = list(walk(condition))
        symbolic = any(
            isinstance(node, Var) and not is_const_int(self._bound[node][1])
            for node in nodes
            if isinstance(node, Var) and node in self._bound
        )
        is_hard = any(isinstance(node, _HARD) for node in nodes)
        if condition.a.dtype.is_index and not symbolic and not is_hard:
            return None
        found = self.analyzer.simplify(condition)
        return bool(found.value) if isinstance(found, IntImm) else None


def _sign_decides(condition: CompareExpr, low: int, high: int) -> bool | None:
    """The truth of `a ? b` from bounds of `a - b`."""
    negative, not_positive = high < 0, high <= 0
    positive, not_negative = low > 0, low >= 0
    holds, fails = {
        LT: (negative, not_negative),
        LE: (not_positive, positive),
        GT: (positive, not_positive),
        GE: (not_negative, negative),
        EQ: (low == high == 0, negative or positive),
        NE: (negative or positive, low == high == 0),
    }[condition.__class__]
    return True if holds else False if fails else None


def conjuncts(condition: Expr) -> list[Expr]:
    """The parts of a conjunction, in order, as they are: marks by `likely` stay."""
    if isinstance(condition, And):
        return conjuncts(condition.a) + conjuncts(condition.b)
    return [condition]


def without_likely(condition: Expr) -> Expr:
    """`condition` without the mark that it usually holds."""
    if isinstance(condition, Call) and isinstance(condition.op, Op):
        return condition.args[0] if condition.op.name == "tir.likely" else condition
    return condition


class EnclosingScope:
    """The loops and branches around a statement of `func`, as a pass walks down."""

    def __init__(self, func: PrimFunc) -> None:
        self._ranges = Ranges()
        self._not_negative: list[LinearForm] = []
        for buffer in func.buffer_map.values():
            for extent in buffer.shape:
                if isinstance(extent, Var):
                    self._ranges.not_negative(extent)

    def enter(self, loop: For) -> None:
        """Be inside of `loop` from now on. Its variable means nothing elsewhere."""
        self._ranges.bind(loop.loop_var, loop.min, loop.extent)

    @contextmanager
    def where(self, condition: Expr) -> Iterator[None]:
        """Be where `condition` holds."""
        known = len(self._not_negative)
        for part in conjuncts(condition):
            form = _not_negative(without_likely(part))
            if form is not None:
                self._not_negative.append(form)
        try:
            yield
        finally:
            del self._not_negative[known:]

    def in_branches(self, stmt: IfThenElse, rewrite: Callable[[Stmt], Stmt]) -> IfThenElse:
        """A branch with its cases rewritten, the first where the condition holds."""
        with self.where(stmt.condition):
            taken = rewrite(stmt.then_case)
        other = None if stmt.else_case is None else rewrite(stmt.else_case)
        if taken is stmt.then_case and other is stmt.else_case:
            return stmt
        return stmt.replace(then_case=taken, else_case=other)

    def is_not_negative(self, form: LinearForm) -> bool:
        """Whether `form` is zero or more for certain."""
        return self._ranges.is_not_negative(form) or any(
            self._ranges.is_not_negative(form.plus(known, -1)) for known in self._not_negative
        )


def _not_negative(condition: Expr) -> LinearForm | None:
    """What is zero or more where a comparison of integers holds; None for other conditions."""
    if not isinstance(condition, (LT, LE, GT, GE)):
        return None
    if not condition.a.dtype.is_index or condition.a.dtype.lanes != 1:
        return None
    if any(isinstance(node, (BufferLoad, Call)) for node in walk(condition)):
        return None  # it may have changed since
    if isinstance(condition, (LT, LE)):
        form = difference(condition.b, condition.a)
    else:
        form = difference(condition.a, condition.b)
    strict = isinstance(condition, (LT, GT))
    return form._replace(constant=form.constant - strict)
