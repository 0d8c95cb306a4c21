"""Random programs with random loops on blocks and threads compute what they say."""

import secrets
import sys
from collections import Counter

import pytest
from tests.budget import SECONDS
from tests.property.device_fuzz import check_on_device, check_on_emulated_cuda, check_on_simulator
from tests.property.device_schedules import SHARES
from tests.property.inserted_races import check_inserted_races

emulated = pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")


def seeds(number: int, count: int) -> range:
    """Seeds of the programs of one example: always the same ones in an ordinary run."""
    first = secrets.randbits(40) if SECONDS else count * number
    return range(first, first + count)


@pytest.mark.budget(5)
def test_programs_on_a_device(budget):
    done: Counter[str] = Counter()
    for number in budget.examples(30):
        done.update(map(check_on_device, seeds(number, 1)))
    assert sum(done[kind] for kind in SHARES) > 0.5 * budget.count


@emulated
@pytest.mark.budget(5)
def test_programs_on_emulated_cuda(budget):
    done = 0
    for number in budget.examples(1):  # each one of many programs, which are compiled together
        done += check_on_emulated_cuda(seeds(number, 20))
    assert done > 10 * budget.count


@pytest.mark.budget(2)
def test_programs_have_no_races_under_a_simulator(budget):
    for number in budget.examples(1):
        check_on_simulator(seeds(number, 8))


@emulated
@pytest.mark.budget(4)
def test_mistakes_are_refused_or_make_no_difference(budget):
    done: Counter[str] = Counter()
    for number in budget.examples(1):
        done += check_inserted_races(seeds(number, 24))
    assert sum(count for what, count in done.items() if what.endswith("refused")) > budget.count
