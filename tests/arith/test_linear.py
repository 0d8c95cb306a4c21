"""Linear equations, and what the analyzer remembers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.arith.expressions import Generator, evaluate, outcome
from tests.arith.test_analyzer import same

from tilewright.arith import Analyzer, detect_linear_equation
from tilewright.arith.linear import LinearForm, linear_form
from tilewright.ir import Add, DType, FloorDiv, FloorMod, IntImm, Max, Min, Var
from tilewright.ir.convert import wrap_int

INT32 = DType("int32")


@pytest.fixture
def variables():
    return [Var(name, INT32) for name in "ijn"]


def test_coefficients_and_rest(variables):
    i, j, n = variables
    found = detect_linear_equation((i * 4 + n) * 2 - j + 7, [i, j])
    assert [c.value for c in found[:2]] == [8, -1]
    assert evaluate(found[2], {n: 5}) == 17


def test_symbolic_coefficients(variables):
    i, j, n = variables
    slope, rest = detect_linear_equation(n * i + i * 2 + j, [i])
    assert evaluate(slope, {n: 5}) == 7
    assert rest is j


def test_a_variable_that_does_not_occur_has_coefficient_0(variables):
    i, j, n = variables
    found = detect_linear_equation(n + 1, [i, j])
    assert [c.value for c in found[:2]] == [0, 0]
    assert same(found[2], n + 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda i, j: i * j,
        lambda i, j: i // 2,
        lambda i, j: i * i,
        lambda i, j: j % i,
        lambda i, j: i.astype("float32"),
    ],
)
def test_what_is_not_linear(make, variables):
    i, j, _ = variables
    assert detect_linear_equation(make(i, j), [i, j]) is None


@given(st.data())
def test_the_equation_holds(data):
    i, j, n = (Var(name, INT32) for name in "ijn")
    generator = Generator(lambda count: data.draw(st.integers(0, count - 1)), [i, j, n])
    expr = generator.sum(3)
    found = detect_linear_equation(expr, [i, j])
    if found is None:
        return
    for numbers in [(0, 0, 3), (1, 0, 2), (-2, 5, 1), (7, 7, 4)]:
        place = dict(zip((i, j, n), numbers, strict=True))
        expected = outcome(expr, place)
        if expected == "fails":
            continue
        a, b, rest = (evaluate(part, {n: place[n]}) for part in found)
        assert a * place[i] + b * place[j] + rest == expected


@given(st.data(), st.sampled_from(["int8", "int32", "uint8"]))
def test_forms_wrap_around_as_their_expressions_do(data, dtype):
    dtype = DType(dtype)
    names = [Var(name, dtype) for name in "ijn"]
    generator = Generator(lambda count: data.draw(st.integers(0, count - 1)), names)
    expr = generator.sum(3)
    form = linear_form(expr)
    assert 0 not in form.terms.values()
    for numbers in [(0, 0, 3), (1, 100, 2), (127, 5, 64)]:
        place = dict(zip(names, numbers, strict=True))
        if outcome(expr, place) == "fails":
            continue
        total = sum(factor * evaluate(term, place) for term, factor in form.terms.items())
        assert wrap_int(total + form.constant, dtype) == evaluate(expr, place)


@given(st.data())
def test_known_variables_are_put_in(data):
    i, j, n = (Var(name, INT32) for name in "ijn")
    generator = Generator(lambda count: data.draw(st.integers(0, count - 1)), [i, j])
    expr = generator.sum(2)
    known = {i: LinearForm({n: 3}, -2), j: LinearForm({}, 5)}
    asked = []

    def opaque(part, scale, terms):
        asked.append(part)
        terms[part] = terms.get(part, 0) + scale
        return 0

    form = linear_form(expr, opaque, known)
    assert not {i, j, *map(type, asked)} & {*form.terms, Var, IntImm}
    place = {n: 7, i: 19, j: 5}
    if outcome(expr, place) != "fails":
        total = sum(factor * evaluate(term, place) for term, factor in form.terms.items())
        assert total + form.constant == evaluate(expr, place)


def test_a_number_beyond_its_type_wraps_around_before_it_is_an_index():
    largest = IntImm(INT32, INT32.max_int)
    assert linear_form(Add(largest, IntImm(INT32, 1))) == LinearForm({}, INT32.min_int)


def test_sums_of_forms():
    i, j = Var("i", INT32), Var("j", INT32)
    form = linear_form(i * 4 - j + 3)
    assert form.plus(linear_form(i), -4) == LinearForm({j: -1}, 3)
    assert form.times(-2) == LinearForm({i: -8, j: 2}, -6)
    assert form.times(0) == LinearForm({}, 0)
    ranges = {i: (0, 7), j: (-2, 5)}
    assert form.bounds(ranges.get) == (3 - 5, 28 + 2 + 3)


def test_an_edit_costs_only_what_changed(variables):
    i, j, n = variables
    analyzer = Analyzer()
    part = i
    for k in range(60):
        kind = (Min, Max)[k % 2]
        part = kind(FloorDiv(part, IntImm(INT32, 2)), FloorMod(n, IntImm(INT32, k + 3)))
    memo = analyzer._simplifier.facts.simplified
    analyzer.simplify(Max(part, i))
    before = len(memo)
    assert before > 120
    analyzer.simplify(Max(part, j))
    assert len(memo) - before <= 3  # j, and the new root before and after
