"""Laws of reducers: proved for selections, disproved with elements, unknown for the rest."""

from __future__ import annotations

import itertools
import math

import pytest

from tilewright import tir
from tilewright.arith import Analyzer
from tilewright.ir.convert import as_expr
from tilewright.tir.analysis.reducer_laws import Disagreement, laws_of
from tilewright.tir.expr import CommReducer

PAIR = "int32", "float32"  # an index and a value


def reducer(combine, *dtypes):
    """The reducer of `combine(x, y)`, for tuples of components."""
    lhs = tuple(tir.Var(f"a{n}", dtype) for n, dtype in enumerate(dtypes))
    rhs = tuple(tir.Var(f"b{n}", dtype) for n, dtype in enumerate(dtypes))
    return CommReducer(lhs, rhs, tuple(map(as_expr, combine(lhs, rhs))), ())


def choice(condition):
    """The combination that keeps the old tuple where `condition(old, new)` holds."""
    return lambda x, y: [tir.Select(condition(x, y), a, b) for a, b in zip(x, y, strict=True)]


def tie_broken(x, y):
    return tir.Or(x[1] > y[1], tir.And(tir.EQ(x[1], y[1]), x[0] < y[0]))


def of_pairs(condition):
    return laws_of(reducer(choice(condition), *PAIR))


@pytest.mark.parametrize(
    ("condition", "result"),
    [(lambda x, y: x[1] >= y[1], ((0,), (1,))), (lambda x, y: x[1] > y[1], ((1,), (0,)))],
    ids=["keeps the first", "keeps the last"],
)
def test_an_argument_of_a_maximum_depends_on_the_order_of_equal_values(condition, result):
    laws = of_pairs(condition)
    assert laws.associative is True
    assert isinstance(laws.commutative, Disagreement)
    assert laws.order_free is laws.commutative
    first, second = laws.commutative.elements
    assert first[1] == second[1]
    assert first[0] != second[0]
    assert tuple(found[:1] for found in laws.commutative.results) == result


def test_the_text_of_a_disagreement():
    laws = of_pairs(lambda x, y: x[1] >= y[1])
    assert isinstance(laws.commutative, Disagreement)
    assert laws.commutative.text(["index", "value"]) == (
        "(index 0, value 0.0) and (index 1, value 0.0): combined in this order they give "
        "(index 0), in the other (index 1)"
    )


@pytest.mark.parametrize(
    "condition",
    [
        tie_broken,
        lambda x, y: tir.Or(x[1] < y[1], tir.And(tir.EQ(x[1], y[1]), x[0] > y[0])),
        lambda x, y: tir.And(x[1] >= y[1], tir.Or(x[1] > y[1], x[0] <= y[0])),
        lambda x, y: tir.Not(tir.Or(x[1] < y[1], tir.And(tir.EQ(x[1], y[1]), x[0] > y[0]))),
    ],
)
def test_comparing_the_indices_of_equal_values(condition):
    laws = of_pairs(condition)
    assert laws.order_free is True
    assert all(laws.absorbing)
    assert laws.leaves_left
    assert laws.leaves_right


def test_a_tie_that_is_broken_in_one_branch_only():
    laws = of_pairs(lambda x, y: tir.Or(x[1] > y[1], x[0] < y[0]))
    assert isinstance(laws.order_free, Disagreement)


def test_a_payload_that_is_not_compared():
    condition = choice(lambda x, y: tir.Or(x[0] > y[0], tir.And(tir.EQ(x[0], y[0]), x[1] < y[1])))
    laws = laws_of(reducer(condition, "float32", "int32", "int32"))
    assert laws.associative is True
    assert isinstance(laws.commutative, Disagreement)
    assert {number for pair in zip(*laws.commutative.results, strict=True) for number in pair}


def test_what_partial_results_start_from():
    first, last = (of_pairs(c) for c in (lambda x, y: x[1] >= y[1], lambda x, y: x[1] > y[1]))
    assert all(first.absorbing)  # the start of all values may be that of each part
    assert not any(last.absorbing)  # there it would win against an equal value before it
    assert last.leaves_left
    assert not last.leaves_right
    assert last.neutral == (-1, -math.inf)


def test_a_reducer_that_asks_for_nan():
    def nan_first(x, y):
        both = tir.And(tir.NE(x[1], x[1]), tir.NE(y[1], y[1]))
        same = tir.And(tir.Or(both, tir.EQ(x[1], y[1])), x[0] < y[0])
        only = tir.And(tir.NE(x[1], x[1]), tir.EQ(y[1], y[1]))
        return tir.Or(tir.Or(only, x[1] > y[1]), same)

    def any_nan(x, y):
        return tir.Or(tir.NE(x[1], x[1]), tie_broken(x, y))

    assert of_pairs(nan_first).order_free is True
    found = of_pairs(any_nan).order_free
    assert isinstance(found, Disagreement)
    assert any(value != value for element in found.elements for value in element)


@pytest.mark.parametrize(
    "combine",
    [
        lambda x, y: [x[0] + y[0]],
        lambda x, y: [y[0] * x[0]],
        lambda x, y: [tir.Max(x[0], y[0])],
        lambda x, y: [tir.Select(x[0] >= y[0], x[0], y[0])],
        lambda x, y: [tir.Select(y[0] < x[0], y[0], x[0])],
    ],
)
@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
def test_operators(combine, dtype):
    assert laws_of(reducer(combine, dtype)).order_free is True


def test_components_that_do_not_depend_on_each_other():
    def combine(x, y):
        return [x[0] + y[0], *choice(tie_broken)(x[1:3], y[1:3]), tir.Min(x[3], y[3])]

    laws = laws_of(reducer(combine, "float32", *PAIR, "int64"))
    assert laws.order_free is True
    assert laws.absorbing == (False, True, True, True)


@pytest.mark.parametrize(
    "combine",
    [
        lambda x, y: [x[0] - y[0]],
        lambda x, y: [x[0] * 2 + y[0]],
        lambda x, y: [y[0]],
        lambda x, y: [tir.Select(x[0] >= 0, x[0], y[0])],
        lambda x, y: [tir.Select(x[0] > 3, y[0], x[0])],
    ],
)
def test_disproved(combine):
    laws = laws_of(reducer(combine, "int32"))
    assert isinstance(laws.order_free, Disagreement)
    check_disagreement(combine, laws.commutative)


def check_disagreement(combine, found):
    """The elements give what the disagreement says."""
    assert isinstance(found, Disagreement)
    for elements, result in zip(itertools.permutations(found.elements), found.results, strict=True):
        numbers = ([tir.const(value, "int32") for value in element] for element in elements)
        results = combine(*numbers)
        assert [Analyzer().simplify(item).value for item in results] == list(result)


def test_what_cannot_be_decided_is_neither_proved_nor_disproved():
    def complex_product(x, y):
        return [x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]]

    def unknown(x, y):
        return [tir.exp(x[0]) + y[0]]

    assert laws_of(reducer(complex_product, "float32", "float32")).order_free is False
    assert laws_of(reducer(unknown, "float32")).order_free is False
