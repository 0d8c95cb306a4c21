"""What a value takes to compute: its operations by kind, and what it loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
    Cast,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Select,
    Sub,
    Var,
)
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad

KINDS: Final = (
    "mad", "add_sub", "mul", "div_mod", "compare", "math_function", "other_function",
)  # fmt: skip
"""Kinds of operations that there are for floats and for integers."""

NAMES: Final = (
    *(f"float_{kind}" for kind in KINDS), *(f"int_{kind}" for kind in KINDS), "bool", "select",
)  # fmt: skip
"""All kinds of operations, in the order in which `Operations.counts` has them."""

INTEGERS: Final = len(KINDS)
BOOL, SELECT = len(NAMES) - 2, len(NAMES) - 1
MAD, ADD_SUB, MUL, DIV_MOD, COMPARE, MATH, OTHER = range(len(KINDS))

_KIND_OF: Final[Mapping[type, int]] = {
    Add: ADD_SUB, Sub: ADD_SUB, Mul: MUL, Div: DIV_MOD, Mod: DIV_MOD, FloorDiv: DIV_MOD,
    FloorMod: DIV_MOD, Min: COMPARE, Max: COMPARE, EQ: COMPARE, NE: COMPARE, LT: COMPARE,
    LE: COMPARE, GT: COMPARE, GE: COMPARE,
}  # fmt: skip

_COMPARISONS: Final = frozenset({EQ, NE, LT, LE, GT, GE})

_LEAVES: Final = frozenset({IntImm, FloatImm, Var})

_FREE: Final = frozenset({"tir.likely", "tir.reinterpret", "tir.reduce_lanes"})

_ARITHMETIC: Final = {
    "tir.fma": MAD, "tir.fabs": ADD_SUB, "tir.ceil": ADD_SUB, "tir.floor": ADD_SUB,
    "tir.trunc": ADD_SUB, "tir.round": ADD_SUB, "tir.nearbyint": ADD_SUB, "tir.ldexp": MUL,
}  # fmt: skip
"""Functions that are one instruction."""


class Operations:
    """The operations of a value, once.

    Attributes:
        counts: how many of each of `NAMES`.
        functions: the mathematical functions that are called, by name: how many calls.
        comparisons: how many of the operations compare integers, as conditions on indices do.
        loads: what is loaded, each place in the text once.
        conditions: for each of them, how many comparisons decide whether it is loaded.
    """

    __slots__ = ("_around", "comparisons", "conditions", "counts", "functions", "loads")

    def __init__(self, value: Any) -> None:
        self.counts = [0] * len(NAMES)
        self.functions: dict[str, int] = {}
        self.comparisons = 0
        self.loads: list[BufferLoad] = []
        self.conditions: list[int] = []
        self._around = 0
        self._count(value)

    def _count(self, value: Any) -> None:
        counts, stack = self.counts, [value]
        while stack:
            expr = stack.pop()
            kind = expr.__class__
            if kind in _LEAVES:
                continue
            if kind is BufferLoad:
                self.loads.append(expr)
                self.conditions.append(self._around)
                continue
            operation = _KIND_OF.get(kind)
            if operation is None:
                stack.extend(self._other(expr, kind))
                continue
            a, b = expr.a, expr.b
            offset = 0 if a.dtype.is_float else INTEGERS
            if operation == ADD_SUB and (a.__class__ is Mul or b.__class__ is Mul):
                product, addend = (b, a) if b.__class__ is Mul else (a, b)
                counts[offset + MAD] += 1
                stack += (product.a, product.b, addend)
                continue
            counts[offset + operation] += 1
            if kind in _COMPARISONS and offset:
                # Arithmetic of indices is left to addressing, here as everywhere.
                self.comparisons += 1
                for node in walk(expr):
                    if isinstance(node, BufferLoad):
                        self.loads.append(node)
                        self.conditions.append(self._around)
                continue
            stack += (a, b)

    def _other(self, expr: Any, kind: type) -> Any:
        """Count what is not arithmetic; returns its operands."""
        if kind is Select:
            return self._select(expr.condition, (expr.true_value, expr.false_value))
        if kind is And or kind is Or or kind is Not:
            self.counts[BOOL] += 1
        elif kind is Call:
            return self._call(expr)
        elif kind is Cast and expr.value.dtype.element is not expr.dtype.element:
            self.counts[ADD_SUB if expr.dtype.is_float else INTEGERS + ADD_SUB] += 1
        return expr.children()

    def _select(self, condition: Any, cases: Any) -> Any:
        """Count a choice between values; the condition says which ones are loaded."""
        self.counts[SELECT] += 1
        before, around = self.comparisons, self._around
        self._count(condition)
        self._around += self.comparisons - before
        for case in cases:
            self._count(case)
        self._around = around
        return ()

    def _call(self, call: Call) -> Any:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "tir.if_then_else":
            return self._select(call.args[0], call.args[1:])
        if name not in _FREE:
            offset = 0 if call.dtype.is_float else INTEGERS
            arithmetic = _ARITHMETIC.get(name)
            if arithmetic is not None:
                self.counts[offset + arithmetic] += 1
            elif name.startswith("tir.") and call.dtype.is_float:
                self.counts[offset + MATH] += 1
                self.functions[name[4:]] = self.functions.get(name[4:], 0) + 1
            else:
                self.counts[offset + OTHER] += 1
        return call.args
