"""Vectors of indices, and the little that is exact for floats."""

import math

import pytest
from tests.arith.expressions import evaluate

from tilewright.arith import Analyzer
from tilewright.ir import (
    Add,
    Broadcast,
    Cast,
    Div,
    DType,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Min,
    Mul,
    Ramp,
    Select,
    Sub,
    Var,
)

INT32, FLOAT32 = DType("int32"), DType("float32")
LANES = 8


@pytest.fixture
def at():
    return Case()


class Case:
    def __init__(self):
        self.analyzer = Analyzer()
        self.i, self.j = Var("i", INT32), Var("j", INT32)
        self.analyzer.bind_range(self.i, 0, 64)
        self.analyzer.bind_range(self.j, 0, 4)

    def spread(self, value):
        return Broadcast(value if not isinstance(value, int) else IntImm(INT32, value), LANES)

    def ramp(self, base, stride=1):
        return Ramp(base, IntImm(INT32, stride), LANES)

    def simplify(self, expr, kind):
        """`expr` simplified; checks its values and the class of the result."""
        simple = self.analyzer.simplify(expr)
        for i in (0, 1, 17, 63):
            for j in range(4):
                place = {self.i: i, self.j: j}
                assert evaluate(simple, place) == evaluate(expr, place)
        assert isinstance(simple, kind), simple
        return simple


def test_ramps_and_broadcasts_add_up(at):
    first = at.simplify(Add(at.ramp(at.i), at.spread(at.j)), Ramp)
    assert first.base.a is at.i
    assert at.simplify(Add(at.spread(3), at.ramp(at.i, 2)), Ramp).stride.value == 2
    assert at.simplify(Sub(at.ramp(at.i, 5), at.ramp(at.j, 2)), Ramp).stride.value == 3
    at.simplify(Sub(at.ramp(at.i, 2), at.ramp(at.j, 2)), Broadcast)
    assert at.simplify(Mul(at.ramp(at.i), at.spread(4)), Ramp).stride.value == 4
    at.simplify(Min(at.spread(at.i), at.spread(at.j)), Broadcast)


def test_a_ramp_within_one_tile_has_one_quotient(at):
    aligned = at.ramp(Mul(at.i, IntImm(INT32, 8)))
    assert at.simplify(FloorDiv(aligned, at.spread(8)), Broadcast).value is at.i
    assert at.simplify(FloorMod(aligned, at.spread(8)), Ramp).base.value == 0
    at.simplify(FloorDiv(aligned, at.spread(16)), Broadcast)
    at.simplify(FloorDiv(at.ramp(at.i), at.spread(8)), FloorDiv)
    at.simplify(FloorMod(at.ramp(at.i), at.spread(8)), FloorMod)


def test_strides_that_are_multiples_divide(at):
    assert at.simplify(FloorDiv(at.ramp(at.i, 8), at.spread(4)), Ramp).stride.value == 2
    at.simplify(FloorMod(at.ramp(at.i, 8), at.spread(4)), Broadcast)
    at.simplify(FloorDiv(at.ramp(at.i, -8), at.spread(4)), Ramp)


def test_lanes_that_compare_alike(at):
    assert at.simplify(at.ramp(at.i) < at.spread(71), Broadcast).value.value == 1
    assert at.simplify(at.ramp(at.i) < at.spread(0), Broadcast).value.value == 0
    at.simplify(at.ramp(at.i) < at.spread(70), type(at.i < 1))


def test_choices_and_conversions_of_vectors(at):
    chosen = Select(Broadcast(at.i < 64, LANES), at.ramp(at.i), at.spread(0))
    at.simplify(chosen, Ramp)
    wide = at.simplify(Cast(DType("int64x8"), at.ramp(at.i)), Ramp)
    assert wide.dtype is DType("int64x8")


def float_value(expr, values):
    if isinstance(expr, Var):
        return values[expr]
    if isinstance(expr, FloatImm):
        return expr.value
    a, b = float_value(expr.a, values), float_value(expr.b, values)
    return {Add: a + b, Sub: a - b, Mul: a * b}.get(type(expr), a / b if b else math.nan)


@pytest.mark.parametrize("kind", [Add, Sub, Mul, Div])
@pytest.mark.parametrize("constant", [0.0, -0.0, 1.0, -1.0, 2.0])
@pytest.mark.parametrize("swapped", [False, True])
def test_float_rules_are_exact(kind, constant, swapped):
    x, number = Var("x", FLOAT32), FloatImm(FLOAT32, constant)
    expr = kind(number, x) if swapped else kind(x, number)
    simple = Analyzer().simplify(expr)
    for value in (0.0, -0.0, 1.5, math.inf, -math.inf, math.nan):
        if kind is Div and (value if swapped else constant) == 0:
            continue
        before, after = float_value(expr, {x: value}), float_value(simple, {x: value})
        assert math.isnan(before) == math.isnan(after)
        if not math.isnan(before):
            assert (before, math.copysign(1, before)) == (after, math.copysign(1, after))


def test_floats_are_left_alone():
    x, y = Var("x", FLOAT32), Var("y", FLOAT32)
    assert not Analyzer().can_prove(x <= x)
    for expr in (x - x, x * 0.0, (x + y) - x, x + 0.0, Min(x, x + y), x < x, (x * 2.0) * 3.0):
        assert Analyzer().simplify(expr) is expr
    assert Analyzer().simplify(Mul(x, FloatImm(FLOAT32, 1.0))) is x
    assert Analyzer().simplify(Sub(x, FloatImm(FLOAT32, 0.0))) is x
