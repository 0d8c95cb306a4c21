"""The effort of simplifying and proving grows with the number of different parts of an expression.

Written out, the expressions here are exponentially large. Steps are calls of functions in Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from tilewright.arith import Analyzer
from tilewright.arith.linear import variables_of
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, Max, Min, Select, SizeVar

n, m = SizeVar("n", INT64), SizeVar("m", INT64)

STEPS: dict[str, Callable[[Expr, int], Expr]] = {
    "sum of itself": lambda x, i: x + x,
    "sum with a multiple by a size": lambda x, i: x * m + x,
    "product with itself": lambda x, i: x * (x + m),
    "quotient beside a multiple": lambda x, i: x // 2 + x * 3,
    "remainder beside a quotient": lambda x, i: x % (i + 3) + x // (i + 2),
    "quotient by itself": lambda x, i: (n * m * 197 * (i + 1)) // (x * 3 + 1) + x,
    "choice": lambda x, i: Select(x == -1, n * 768 // (m + 1), x),
    "choice of two": lambda x, i: Select(x < i, x // 2 + 1, x + m),
    "minimum in a maximum": lambda x, i: Max(x, Min(x * 2 - i, m)),
    "maximum beside itself": lambda x, i: x + Max(x - 3 * i, m - i),
    "product of a maximum and a minimum": lambda x, i: x + Max(n - i, m) * Min(m, n * (i + 2) - 5),
}
"""What the next size of a model may be, given the last one and its number."""

QUESTIONS: dict[str, Callable[[Analyzer, Expr], Any]] = {
    "simplify": lambda analyzer, x: analyzer.simplify(x),
    "at least 0": lambda analyzer, x: analyzer.can_prove(x >= 0),
    "equal": lambda analyzer, x: analyzer.can_prove_equal(x, n * 3),
    "multiple": lambda analyzer, x: analyzer.modular_set(x),
    "quotient": lambda analyzer, x: analyzer.exact_quotient(x, m),
    "variables": lambda analyzer, x: variables_of(x),
}


@pytest.mark.parametrize("step", STEPS)
def test_steps_grow_slowly(step: str) -> None:
    def steps(question: str, depth: int) -> int:
        size: Expr = n - m
        for i in range(depth):
            size = STEPS[step](size, i)
        return number_of_calls(lambda: QUESTIONS[question](Analyzer(), size))

    for question in QUESTIONS:
        steps(question, 8)  # rules compile themselves when they are first used
        few, many = steps(question, 24), steps(question, 48)
        assert many <= 10 * few, question
        assert many < 600_000, question


def number_of_calls(function: Callable[[], Any]) -> int:
    """The number of calls of functions in Python."""
    number = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal number
        if event == "call":
            number += 1
            if number > 1_000_000:
                raise AssertionError("this has no end in sight")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return number
