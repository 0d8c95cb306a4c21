"""Expressions over sampled numbers."""

import itertools

import pytest

from tilewright import tir
from tilewright.arith import Analyzer
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Var
from tilewright.tir.schedule.symbols import value_of
from tilewright.tir.substitute import substitute

x, y = Var("x", "int32"), Var("y", "int32")


@pytest.mark.parametrize(
    "expr",
    [
        x + y,
        x - y * 3,
        x // 4 + y % 3,
        tir.max(tir.min(x, y), 1),
        tir.max(tir.min((y * 262144) // (x * 16 + 1), (1024 + x - 1) // (tir.max(x, 1))), 1),
    ],
)
def test_the_value_is_what_the_expression_simplifies_to(expr):
    for a, b in itertools.product((0, 1, 2, 7, 100), repeat=2):
        simplified = Analyzer().simplify(substitute(expr, {x: as_expr(a), y: as_expr(b)}))
        assert value_of(expr, {x: a, y: b}) == simplified.value


def test_what_is_not_plain_is_left_to_others():
    assert value_of(x + y, {x: 1}) is None
    assert value_of(x // y, {x: 1, y: 0}) is None
    assert value_of(x % y, {x: 1, y: 0}) is None
    assert value_of(x * y, {x: 1 << 20, y: 1 << 20}) is None, "it does not fit into int32"
    assert value_of(tir.Select(x > 0, x, y), {x: 1, y: 2}) is None
