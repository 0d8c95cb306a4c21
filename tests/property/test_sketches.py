"""Random programs under the tuner's own rules for small machines: whatever is decided, what is
computed stays."""

import random
import secrets

import pytest
from tests.budget import SECONDS
from tests.property.schedule_fuzz import Case, check_result, random_case
from tests.property.test_default_schedule import MACHINES
from tests.time_limit import LAST_WORDS, time_limit
from tests.tune.rule.sketches import samples, sketches

from tilewright.ir import IRModule
from tilewright.schedule_rules.eligible import ATTRIBUTES, may_schedule


def check(seed: int, *, compiled: bool) -> bool:
    """Sketches of a random program; whether a rule has done anything."""
    rng = random.Random(seed)
    case, _ = random_case(rng)
    LAST_WORDS.begin(f"seed {seed}\n{case.source}")
    func = case.mod["main"]
    if not may_schedule(func):
        return False
    func = func.with_attrs({**ATTRIBUTES, "tir.noalias": True})
    found = sketches(func, rng.choice(MACHINES))
    for sch in samples(rng.choice(found), func, 1):
        tried = Case(case.source, IRModule.from_expr(func), sch.trace, case.size)
        try:
            with time_limit():
                check_result(tried, sch.mod, seed, compiled=compiled)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}\n{tried}\n{sch.mod.script()}") from error
    return len(sch.trace) > 0


@pytest.mark.budget(10)
def test_sketches_keep_the_meaning(budget):
    run = sum(
        check(secrets.randbits(40) if SECONDS else number, compiled=False)
        for number in budget.examples(100)
    )
    assert run > 0.2 * budget.count


@pytest.mark.budget(10)
def test_the_native_code_of_sketches_agrees(budget):
    for number in budget.examples(30):
        check(secrets.randbits(40) if SECONDS else 2_000_000 + number, compiled=True)
