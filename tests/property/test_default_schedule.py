"""Random programs under the default schedule for small machines: it keeps what is computed."""

import random
import secrets

import pytest
from tests.budget import SECONDS
from tests.property.harness import assert_same
from tests.property.schedule_fuzz import Case, arguments_of, check_result, random_case
from tests.schedule_rules import programs
from tests.time_limit import LAST_WORDS, time_limit

import tilewright as tvm
from tilewright.ir import IRModule
from tilewright.schedule_rules.default import schedule_module
from tilewright.schedule_rules.eligible import may_schedule
from tilewright.tir.transform.machine import Machine

AS_WRITTEN = tvm.transform.PassContext(config={"tir.default_schedule": False})

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


# --- larger programs, as they are on this machine ---------------------------------------------

TARGETS = ("llvm -num-cores=1", "llvm -num-cores=2", "llvm -mcpu=haswell -num-cores=1")


def random_program(rng: random.Random):
    """A program of one of the kinds that there are rules for, of random sizes."""

    def size() -> int:
        return rng.choice((1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 48, 65, 100))

    kind = rng.randrange(6)
    if kind == 0:
        return programs.matmul(size(), size(), size(), rng.random() < 0.5)
    if kind == 1:
        return programs.matmul_relu(size(), size(), size())
    if kind == 2:
        channels, kernel = rng.choice((1, 3, 8)), rng.choice((1, 3))
        image = rng.choice((4, 7, 9, 18))
        filters = rng.choice((1, 5, 18, 40))
        return programs.conv2d(channels, image, filters, kernel, kernel // 2, rng.random() < 0.3)
    if kind == 3:
        return programs.softmax(size(), size())
    if kind == 4:
        return programs.sums(size(), size(), rng.randrange(2))
    return programs.transpose(size(), size())


@pytest.mark.budget(5)
def test_larger_programs_compute_what_they_do_without(budget):
    for number in budget.examples(25):
        seed = secrets.randbits(40) if SECONDS else number
        rng = random.Random(seed)
        func, target = random_program(rng), rng.choice(TARGETS)
        if rng.random() < 0.2:
            func = func.without_attr("tir.noalias")
        LAST_WORDS.begin(f"seed {seed}\n{func.script()}")
        with time_limit():
            scheduled, expected = arguments_of(func, seed), arguments_of(func, seed)
            tvm.build(func, target=target)["main"](*scheduled)
            with AS_WRITTEN:
                tvm.build(func, target=target)["main"](*expected)
        for one, other in zip(scheduled, expected, strict=True):
            assert_same(one, other, f"seed {seed}, {target}")
