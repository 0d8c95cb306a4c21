"""Random programs under random schedules: each step is refused, or keeps what is computed."""

import secrets

import pytest
from tests.budget import SECONDS
from tests.property.schedule_fuzz import check_pair


def seeds(budget, ordinarily):
    """Seeds that are the same in every ordinary run, and new ones in a run by the clock."""
    for number in budget.examples(ordinarily):
        yield secrets.randbits(40) if SECONDS else number


@pytest.mark.budget(30)
def test_a_schedule_keeps_the_meaning(budget):
    for seed in seeds(budget, 400):
        check_pair(seed, compiled=False)


@pytest.mark.budget(20)
def test_the_native_code_of_a_schedule_agrees(budget):
    for seed in seeds(budget, 100):
        check_pair(1_000_000 + seed, compiled=True)
