"""Random programs with one thing broken under random schedules: refused, or as wrong as before."""

import secrets

import pytest
from tests.budget import SECONDS
from tests.property.broken_programs import check_broken_pair


@pytest.mark.budget(20)
def test_a_schedule_keeps_the_meaning_of_a_broken_program(budget):
    scheduled = 0
    for number in budget.examples(90):
        seed = secrets.randbits(40) if SECONDS else number
        scheduled += check_broken_pair(seed, compiled=number % 6 == 0)
    assert scheduled >= budget.count // 3
