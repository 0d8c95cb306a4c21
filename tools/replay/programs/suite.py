"""The works of the benchmark suite, under the default schedule and those written by hand."""

from __future__ import annotations

from benchmarks.harness.registry import entries
from benchmarks.suite.work import Work
from tools.replay.program import ALL, VECTORS, Program
from tools.replay.record import compiled, scheduled


def programs_of(work: Work) -> list[Program]:
    """The work under each schedule that it has; hand-written ones are for vectors."""
    found = [Program(f"suite/{work.name}", compiled(work.program), ALL)]
    if work.schedule is not None:
        by_hand = scheduled(work.program, work.schedule)
        found.append(Program(f"suite/{work.name}, by hand", by_hand, VECTORS[:2]))
    return found


PROGRAMS = tuple(program for entry in entries() for program in programs_of(entry.work))
