"""Random programs under the default schedule for small machines: it keeps what is computed."""

import random
import secrets

import pytest
from tests.budget import SECONDS
from tests.property.schedule_fuzz import Case, check_result, random_case
from tests.time_limit import LAST_WORDS, time_limit

from tilewright.ir import IRModule
from tilewright.schedule_rules.default import schedule_module
from tilewright.schedule_rules.eligible import may_schedule
from tilewright.schedule_rules.machine import Machine

MACHINES = (
    Machine(vector_bits=128, vector_registers=8, first_cache=64, own_cache=256, cores=1),
    Machine(vector_bits=64, vector_registers=16, first_cache=128, own_cache=128, cores=2),
    Machine(vector_bits=128, vector_registers=32, first_cache=1 << 15, own_cache=1 << 20, cores=2),
    Machine(vector_bits=512),
)
"""So small that programs of a few elements are cut into tiles and packed."""


def check(seed: int, *, compiled: bool) -> bool:
    """Schedule a random program; whether it had no schedule of its own."""
    rng = random.Random(seed)
    case, _ = random_case(rng)
    LAST_WORDS.begin(f"seed {seed}\n{case.source}")
    functions = {
        var.name_hint: func.with_attr("tir.noalias", True)
        for var, func in case.mod.functions.items()
    }
    mod = IRModule(functions)
    if not may_schedule(mod["main"]):
        return False
    sch = schedule_module(mod, rng.choice(MACHINES))
    case = Case(case.source, mod, sch.trace, case.size)
    try:
        with time_limit():
            check_result(case, sch.mod, seed, compiled=compiled)
    except Exception as error:
        raise AssertionError(f"seed {seed}: {error}\n{case}\n{sch.mod.script()}") from error
    return True


@pytest.mark.budget(10)
def test_the_default_schedule_keeps_the_meaning(budget):
    run = sum(
        check(secrets.randbits(40) if SECONDS else number, compiled=False)
        for number in budget.examples(200)
    )
    assert run > 0.2 * budget.count


@pytest.mark.budget(10)
def test_the_native_code_of_the_default_schedule_agrees(budget):
    for number in budget.examples(60):
        check(secrets.randbits(40) if SECONDS else 1_000_000 + number, compiled=True)
