"""Random programs under random schedules: each step is refused, or keeps what is computed."""

import secrets

import pytest
from tests.budget import SECONDS
from tests.property.schedule_fuzz import check_pair

pytestmark = pytest.mark.budget(12)


def seeds(budget, ordinarily):
    """Seeds that are the same in every ordinary run, and new ones in a run by the clock."""
    for number in budget.examples(ordinarily):
        yield secrets.randbits(40) if SECONDS else number


def test_a_schedule_keeps_the_meaning(budget):
    for seed in seeds(budget, 300):
        check_pair(seed, compiled=False)


def test_the_native_code_of_a_schedule_agrees(budget):
    for seed in seeds(budget, 60):
        check_pair(1_000_000 + seed, compiled=True)
