"""Random programs of blocks, and random schedules of them, with fixed seeds.

They come from the tests of the version that compiles them: these know its insides.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from tools.replay.program import ALL, VECTORS, Program, Texts
from tools.replay.record import record_build, record_graph, trace_text

from tilewright.tir import Schedule

PLAIN, SCHEDULED, GRAPHS = 60, 100, 30
"""How many there are of each kind."""


def plain(seed: int) -> Callable[[Any, Texts], None]:
    """A program under the default schedule."""

    def record(target: Any, texts: Texts) -> None:
        from tests.property.schedule_fuzz import random_case

        case, _ = random_case(random.Random(seed))
        record_build(case.mod["main"], None, target, texts)

    return record


def scheduled(seed: int) -> Callable[[Any, Texts], None]:
    """A program under random steps, some of which are refused."""

    def record(target: Any, texts: Texts) -> None:
        from tests.property.random_schedules import Steps
        from tests.property.schedule_fuzz import random_case
        from tests.time_limit import LAST_WORDS

        LAST_WORDS.begin("")
        rng = random.Random(seed)
        case, _ = random_case(rng)
        sch = Schedule(case.mod["main"], seed=seed)
        sch.work_on("main")
        steps = Steps(rng, sch)
        for _ in range(12):
            steps.step()
        refused = "".join(f"# refused: {name}\n" for name in steps.refused)
        texts["trace.py"] = trace_text(sch) + refused
        record_build(sch.mod, None, target, texts)

    return record


def graph(seed: int) -> Callable[[Any, Texts], None]:
    """A graph of arrays of symbolic sizes, tuples, branches and calls."""

    def record(target: Any, texts: Texts) -> None:
        from tests.property.graphs import random_graph

        record_graph(random_graph(random.Random(seed)).module, target, texts)

    return record


def programs() -> Iterator[Program]:
    """All of them, on one target each."""
    for seed in range(PLAIN):
        yield Program(f"random/program {seed}", plain(seed), (ALL[seed % len(ALL)],))
    for seed in range(SCHEDULED):
        target = VECTORS[seed % len(VECTORS)]
        yield Program(f"random/schedule {seed}", scheduled(seed), (target,))
    for seed in range(GRAPHS):
        yield Program(f"random/graph {seed}", graph(seed), (ALL[seed % len(ALL)],))


PROGRAMS = tuple(programs())
