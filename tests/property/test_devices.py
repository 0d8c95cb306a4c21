"""Random programs with random loops on blocks and threads compute what they say."""

import secrets
import sys
from collections import Counter

import pytest
from tests.budget import SECONDS
from tests.property.device_fuzz import check_on_device, check_on_emulated_cuda


@pytest.mark.budget(5)
def test_programs_on_a_device(budget):
    done: Counter[str] = Counter()
    for number in budget.examples(40):
        done[check_on_device(secrets.randbits(40) if SECONDS else number)] += 1
    assert done["default"] + done["bound"] > 0.6 * budget.count


@pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")
@pytest.mark.budget(5)
def test_programs_on_emulated_cuda(budget):
    done = 0
    for number in budget.examples(2):  # each one of many programs, which are compiled together
        first = secrets.randbits(40) if SECONDS else 20 * number
        done += check_on_emulated_cuda(range(first, first + 20))
    assert done > 12 * budget.count
