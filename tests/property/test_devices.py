"""Random programs with random loops on blocks and threads compute what they say."""

import secrets
from collections import Counter

import pytest
from tests.budget import SECONDS
from tests.property.device_fuzz import check_on_device


@pytest.mark.budget(5)
def test_programs_on_a_device(budget):
    done: Counter[str] = Counter()
    for number in budget.examples(40):
        done[check_on_device(secrets.randbits(40) if SECONDS else number)] += 1
    assert done["default"] + done["bound"] > 0.6 * budget.count
