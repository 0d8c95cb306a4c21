"""Expressions in the notation of isl have the values that they have as numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.arith.expressions import Generator, evaluate, outcome

from tilewright.ir import DType, Var
from tilewright.tir.analysis.dependence.affine import Affine
from tilewright.tir.analysis.dependence.relations import quantified
from tilewright.tir.analysis.dependence.solver import context, isl, limited, read_map

NUMBERS = [(0, 0, 3), (-7, 5, 1), (100, -100, 64)]


def values_at(expr, variables, numbers):
    """The values that the relation of an expression gives, and whether it is exact."""
    affine = Affine({var: f"i{n}" for n, var in enumerate(variables)})
    text = affine.relation(list(affine.scope.values()), [affine.text(expr)])
    found = read_map(quantified(affine.parameters, [text]))
    for place, number in enumerate(numbers):
        value = isl().Val.int_from_si(context(), number)
        found = found.fix_val(isl().dim_type.in_, place, value)
    return found.range(), affine.exact


@given(st.data(), st.sampled_from(["int8", "int32", "int64"]))
def test_relations_hold_the_value(data, dtype):
    variables = [Var(name, DType(dtype)) for name in "ijn"]
    generator = Generator(lambda count: data.draw(st.integers(0, count - 1)), variables)
    expr = generator.integer(3)
    with limited():
        for numbers in NUMBERS:
            place = dict(zip(variables, numbers, strict=True))
            if outcome(expr, place) == "fails":
                continue
            found, exact = values_at(expr, variables, numbers)
            number = isl().Val.int_from_si(context(), evaluate(expr, place))
            point = isl().Point.zero(found.get_space())
            point = point.set_coordinate_val(isl().dim_type.set, 0, number)
            expected = isl().Set.from_point(point)
            assert expected.is_equal(found) if exact else expected.is_subset(found)


@pytest.mark.parametrize("make", [lambda i: i + i, lambda i: i - 1, lambda i: i * 2])
def test_sums_of_narrow_integers_may_wrap_around(make):
    i = Var("i", "int8")
    found, exact = values_at(make(i), [i], [100])
    assert not exact
    assert found.is_equal(isl().Set.universe(found.get_space()))
