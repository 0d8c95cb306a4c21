"""Random programs under random schedules: each step is refused, or keeps what is computed."""

import secrets

import pytest
from tests.budget import SECONDS
from tests.property.schedule_fuzz import check_pair

ENOUGH = 5
"""After so many failures, a run by the clock ends early."""


def check_pairs(numbers, start, *, compiled):
    """Check one pair per number; a run by the clock has new ones, and goes on after a failure."""
    failures = []
    for number in numbers:
        try:
            check_pair(secrets.randbits(40) if SECONDS else start + number, compiled=compiled)
        except AssertionError as failure:
            failures.append(failure)
            if not SECONDS or len(failures) == ENOUGH:
                break
    if failures:
        raise AssertionError("\n\n".join(map(str, failures))) from failures[0]


# In parts, so that several workers take part in it.


@pytest.mark.budget(40)
@pytest.mark.parametrize("part", range(4))
def test_a_schedule_keeps_the_meaning(part, budget):
    check_pairs(budget.examples(100), part * 100, compiled=False)


@pytest.mark.budget(20)
@pytest.mark.parametrize("part", range(2))
def test_the_native_code_of_a_schedule_agrees(part, budget):
    check_pairs(budget.examples(50), 1_000_000 + part * 50, compiled=True)
