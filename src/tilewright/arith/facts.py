"""What is known about the variables of a program: ranges, values, and conditions that hold.

Everything that is derived from them (bounds, remainders, effects) is remembered per node, and per
constraint scope: entering a scope starts new tables and leaving it brings the old ones back.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.ir.expr import And, Call, Expr, is_const_int

Interval = tuple[int, int]

UNBOUNDED = 1 << 100
"""Stands for infinity: beyond every value of every dtype, yet ordinary arithmetic works on it."""

EVERYTHING: Interval = (-UNBOUNDED, UNBOUNDED)


class SymbolicRange(NamedTuple):
    """``minimum <= variable <= maximum``, in terms of variables that are bound further out."""

    minimum: Expr
    maximum: Expr
    extent: Expr


FormKey = frozenset[tuple[Expr, int]]
"""The terms of a linear form without its constant: the identity of the form in a table."""


class Facts:
    """Ranges and values of variables, and the constraints of the scopes that are open.

    Attributes:
        ranges: constant bounds of variables.
        symbolic: ranges of variables whose ends are not constant.
        values: expressions that variables stand for.
        data: variables that hold what was read from memory, so that arithmetic on them may wrap.
        forms: bounds of linear forms, from constraints.
        remainders: ``(divisor, remainder)`` of expressions, from constraints.
        bounds_memo: bounds of nodes, as far as computed under the present constraints.
        effects_memo: effects of nodes.
        expanded_memo: terms of sums, multiplied out; see `tilewright.arith.simplify.expand`.
        modular_memo: remainders of nodes.
        simplified: nodes and their simplified forms.
        unknown: variables that were looked up without success; learning about one of them makes
            the tables worth computing again.
    """

    __slots__ = (
        "bounds_memo", "data", "effects_memo", "expanded_memo", "forms", "modular_memo", "ranges",
        "remainders", "simplified", "symbolic", "unknown", "values",
    )  # fmt: skip

    def __init__(self) -> None:
        self.ranges: dict[Expr, Interval] = {}
        self.symbolic: dict[Expr, SymbolicRange] = {}
        self.values: dict[Expr, Expr] = {}
        self.data: set[Expr] = set()
        self.forms: dict[FormKey, Interval] = {}
        self.remainders: dict[Expr, Interval] = {}
        self.forget()

    def forget(self) -> None:
        """Drop everything that was derived; the facts themselves stay."""
        self.bounds_memo: dict[Expr, Interval] = {}
        self.effects_memo: dict[Expr, int] = {}
        self.expanded_memo: dict[Expr, dict[tuple[Expr, ...], int]] = {}
        self.modular_memo: dict[Expr, Interval] = {}
        self.simplified: dict[Expr, Expr] = {}
        self.unknown: set[Expr] = set()

    def inner(self) -> Facts:
        """A copy to which a scope can add its constraints."""
        copy = Facts.__new__(Facts)
        copy.ranges = dict(self.ranges)
        copy.symbolic = dict(self.symbolic)
        copy.values = dict(self.values)
        copy.data = set(self.data)
        copy.forms = dict(self.forms)
        copy.remainders = dict(self.remainders)
        copy.forget()
        return copy


def conjuncts(*conditions: Expr) -> list[Expr]:
    """What must hold for all of `conditions` to hold, in order.

    Parts that `And` joins are taken apart, marks by `likely` are taken off, and the constant True
    is left out.
    """
    found: list[Expr] = []
    for condition in conditions:
        if isinstance(condition, And):
            found += conjuncts(condition.a, condition.b)
        elif isinstance(condition, Call) and getattr(condition.op, "name", None) == "tir.likely":
            found += conjuncts(*condition.args)
        elif not is_const_int(condition, 1):
            found.append(condition)
    return found
