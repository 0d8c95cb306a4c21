"""Quotients as terms of linear forms, against the division of numbers."""

from hypothesis import given
from hypothesis import strategies as st

from tilewright.arith.linear import LinearForm
from tilewright.arith.quotients import (
    Digit,
    Quotient,
    digits_of,
    divided,
    divisors_of,
    in_digits,
    remainder,
    value_of,
)

RANGES = {"i": (0, 3), "j": (0, 15), "k": (-5, 9), "n": (0, 1 << 100), "f": (0, 47)}


def interval(term):
    return (term.low, term.high) if isinstance(term, Quotient) else RANGES[term]


coefficients = st.sampled_from([1, 2, 3, 4, 6, 8, 16, 48, 64, -1, -4, -16, 5])
forms = st.builds(
    LinearForm,
    st.dictionaries(st.sampled_from(list(RANGES)), coefficients, max_size=4),
    st.integers(-70, 70),
)
divisors = st.sampled_from([1, 2, 3, 4, 8, 16, 24, 64])
points = st.fixed_dictionaries(
    {name: st.integers(low, min(high, 1000)) for name, (low, high) in RANGES.items()}
)


@given(forms, st.lists(st.tuples(divisors, st.booleans(), forms), max_size=3), points)
def test_divisions_of_divisions_have_the_values_of_numbers(form, steps, point):
    number = value_of(form, point)
    for divisor, keeps_quotient, added in steps:
        part = divided if keeps_quotient else remainder
        form = part(form, divisor, interval)
        number = number // divisor if keeps_quotient else number % divisor
        assert value_of(form, point) == number
        assert 0 not in form.terms.values()
        low, high = form.bounds(interval)
        assert low <= number <= high
        form, number = form.plus(added, 3), number + 3 * value_of(added, point)


def test_bounds_decide_divisions():
    i16_j = LinearForm({"i": 16, "j": 1}, 0)
    assert divided(i16_j, 16, interval) == LinearForm({"i": 1}, 0)
    assert remainder(i16_j, 16, interval) == LinearForm({"j": 1}, 0)
    assert divided(i16_j, 64, interval) == LinearForm({}, 0)
    assert divided(LinearForm({"j": 17}, 32), 16, interval) == LinearForm({"j": 1}, 2)
    assert divided(LinearForm({"j": -15}, 0), 16, interval) == LinearForm({"j": -1}, 0)


def test_what_is_too_small_to_matter_is_left_out():
    ((quotient, factor),) = divided(LinearForm({"i": 16, "j": 1}, 0), 32, interval).terms.items()
    assert factor == 1
    assert (quotient.form, quotient.divisor) == (LinearForm({"i": 1}, 0), 2)


def test_equal_quotients_are_one_term():
    k = LinearForm({"k": 1}, 0)
    nested = divided(divided(k, 4, interval), 2, interval)
    assert nested == divided(k, 8, interval)
    assert nested != divided(k.plus(LinearForm({}, 1)), 8, interval)
    assert divided(k, 4, interval).plus(divided(k, 4, interval), -1).is_constant()


@given(
    st.dictionaries(
        st.sampled_from(["f", Quotient(LinearForm({"f": 1}, 0), 4, interval),
                         Quotient(LinearForm({"f": 1}, 0), 12, interval), "i"]),
        coefficients, max_size=4),
    st.integers(0, 47), st.integers(0, 3),
)  # fmt: skip
def test_digits_are_independent_and_have_the_value_of_the_form(terms, f, i):
    form = LinearForm(terms, 7)
    digits = digits_of("f", 48, [4, 12])
    assert digits == [Digit("f", 12, 4), Digit("f", 4, 3), Digit("f", 1, 4)]
    found = in_digits(form, {"f": digits})
    point = {digit: f // digit.unit % digit.extent for digit in digits} | {"i": i}
    assert value_of(found, point) == value_of(form, {"f": f, "i": i})


def test_divisors_that_are_no_multiples_have_no_digits():
    form = divided(LinearForm({"f": 1}, 0), 6, interval)
    assert divisors_of([form.terms]) == {"f": {6}}
    assert digits_of("f", 48, [4, 6]) == [Digit("f", 4, 12), Digit("f", 1, 4)]
    assert in_digits(form, {"f": digits_of("f", 48, [4, 6])}) is None
