"""The test that tells a faster candidate from a lucky one."""

import pytest

from tilewright.tune.search.significance import is_faster, student_tails, welch_pvalue


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (2, 4.30265), (4, 2.77645), (10, 2.22814), (1000, 1.96234)]
)
def test_the_table_of_student(freedom, t):
    assert student_tails(t, freedom) == pytest.approx(0.05, abs=2e-5)
    assert student_tails(0.0, freedom) == 1.0


def test_welch():
    one = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]
    other = [
        27.1,
        22.0,
        20.8,
        23.4,
        23.4,
        23.5,
        25.8,
        22.0,
        24.8,
        20.2,
        21.9,
        22.1,
        22.9,
        30.5,
        24.4,
    ]
    # t = 3.0 with 28 degrees of freedom is at 0.0056.
    assert welch_pvalue(one, other) == pytest.approx(0.0062, abs=2e-3)
    assert welch_pvalue(other, one) == welch_pvalue(one, other)
    assert welch_pvalue(one, one) == 1.0
    assert welch_pvalue([1.0, 1.0], [1.0, 1.0]) == 1.0
    assert welch_pvalue([1.0, 1.0], [2.0, 2.0]) == 0.0


def test_a_lucky_candidate_is_not_faster():
    here = [1.0, 1.2, 0.8, 1.1]
    assert not is_faster([0.9, 1.1, 0.8, 1.1], here)
    assert is_faster([0.5, 0.52, 0.48, 0.5], here)
    assert not is_faster(here, [0.5, 0.52, 0.48, 0.5])


def test_of_one_time_nothing_is_known_but_itself():
    assert is_faster([0.99], [1.0, 1.1, 0.9])
    assert not is_faster([1.0], [1.0])


def test_what_failed_is_not_faster():
    assert is_faster([9.0], [])
    assert not is_faster([], [9.0])
    assert not is_faster([], [])
