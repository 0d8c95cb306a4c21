"""Random programs under the tuner's rules with random decisions: they keep what is computed."""

import random
import secrets

import pytest
from tests.budget import SECONDS
from tests.property.harness import assert_same
from tests.property.schedule_fuzz import Case, arguments_of, check_result, random_case
from tests.property.test_default_schedule import random_program
from tests.time_limit import LAST_WORDS, time_limit

import tilewright as tvm
from tilewright import tir
from tilewright.error import TVMError
from tilewright.ir import IRModule
from tilewright.schedule_rules.eligible import may_schedule
from tilewright.tir.schedule import ScheduleError
from tilewright.tune.context import TuneContext

TARGETS = (
    "llvm -mcpu=haswell -num-cores=1",
    "llvm -mcpu=sapphirerapids -num-cores=4",
    "cuda -max_threads_per_block=16 -thread_warp_size=2",
)

AS_WRITTEN = tvm.transform.PassContext(config={"tir.default_schedule": False})


def candidate(mod: IRModule, rng: random.Random, target: str) -> tir.Schedule | None:
    """A random sketch of a program with random decisions; None if that is refused."""
    context = TuneContext(mod, target=target, space_generator="post-order-apply")
    sketch = rng.choice(context.generate_design_space())
    keeps = rng.random() < 0.3
    sch = tir.Schedule(mod, seed=rng.randrange(1, 1 << 30), error_render_level="none")
    try:
        sketch.trace.apply_to_schedule(
            sch, decision_provider=lambda inst, inputs, attrs, old: old if keeps else None
        )
    except ScheduleError:
        return None
    sch.enter_postproc()
    generator = context.space_generator
    assert generator is not None
    return sch if all(postproc.apply(sch) for postproc in generator.postprocs) else None


def check(seed: int, *, compiled: bool) -> bool:
    """Tune a random program at random; whether there was a candidate."""
    rng = random.Random(seed)
    case, _ = random_case(rng)
    functions = {
        var.name_hint: func.with_attrs({"tir.noalias": True, "tir.reassociate": True})
        for var, func in case.mod.functions.items()
    }
    mod = IRModule(functions)
    if not may_schedule(mod["main"]):
        return False
    target = rng.choice(TARGETS[:2] if compiled else TARGETS)
    LAST_WORDS.begin(f"seed {seed}, {target}\n{case.source}")
    try:
        with time_limit():
            sch = candidate(mod, rng, target)
            if sch is None:
                return False
            case = Case(case.source, mod, sch.trace, case.size)
            check_result(case, sch.mod, seed, compiled=compiled)
    except Exception as error:
        raise AssertionError(f"seed {seed}, {target}: {error}\n{case}") from error
    return True


@pytest.mark.budget(15)
def test_candidates_keep_the_meaning(budget):
    run = sum(
        check(secrets.randbits(40) if SECONDS else number, compiled=False)
        for number in budget.examples(40)
    )
    assert run > 0.1 * budget.count


@pytest.mark.budget(10)
def test_the_native_code_of_candidates_agrees(budget):
    for number in budget.examples(16):
        check(secrets.randbits(40) if SECONDS else 1_000_000 + number, compiled=True)


@pytest.mark.budget(10)
def test_candidates_for_larger_programs_compute_what_these_do(budget):
    for number in budget.examples(8):
        seed = secrets.randbits(40) if SECONDS else number
        rng = random.Random(seed)
        func = random_program(rng)
        LAST_WORDS.begin(f"seed {seed}\n{func.script()}")
        with time_limit():
            try:
                sch = candidate(IRModule.from_expr(func), rng, "llvm -num-cores=2")
            except TVMError as error:
                raise AssertionError(f"seed {seed}: {error}") from error
            if sch is None:
                continue
            made = sch.mod["main"].with_attr("tir.is_scheduled", True)
            scheduled, expected = arguments_of(func, seed), arguments_of(func, seed)
            tvm.build(made, target="llvm -num-cores=2")["main"](*scheduled)
            with AS_WRITTEN:
                tvm.build(func, target="llvm -num-cores=2")["main"](*expected)
        for one, other in zip(scheduled, expected, strict=True):
            assert_same(one, other, f"seed {seed}")
