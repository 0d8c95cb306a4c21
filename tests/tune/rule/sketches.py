"""Sketches of small programs, checked against the program itself."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tir.schedule.checking import assert_same_meaning

from tilewright.ir import IRModule
from tilewright.schedule_rules.eligible import ATTRIBUTES
from tilewright.tir import PrimFunc, Schedule
from tilewright.tir.schedule import BlockRV, Trace
from tilewright.tir.transform.machine import Machine
from tilewright.tune.rule import ScheduleRule
from tilewright.tune.rule.inline import InlineProducers
from tilewright.tune.rule.nest_rule import (
    ReduceAlongColumns,
    ReduceAlongRows,
    ShareOuterLoops,
    SharePlaces,
    TileStencil,
    TileTransposition,
    VectorizeElements,
)

SMALL = Machine(vector_bits=128, vector_registers=16, first_cache=256, own_cache=64, cores=1)
"""Four lanes, and caches that hold less than the programs need."""

LARGE = Machine(vector_bits=128, vector_registers=32)
"""Four lanes, and caches that hold everything."""

TWO_CORES = SMALL._replace(cores=2)

NESTS = (
    TileStencil,
    ShareOuterLoops,
    TileTransposition,
    SharePlaces,
    VectorizeElements,
    ReduceAlongColumns,
    ReduceAlongRows,
)


def rules(machine: Machine) -> list[ScheduleRule]:
    """The rules about blocks without a schedule, in their order."""
    return [InlineProducers(), *(rule(machine) for rule in NESTS)]


def sketches(func: PrimFunc, machine: Machine = SMALL) -> list[Schedule]:
    """What all rules make of a function."""
    found = [Schedule(IRModule.from_expr(func.with_attrs(ATTRIBUTES)))]
    for rule in rules(machine):
        for block in _blocks(func):
            found = [sch for before in found for sch in _applied(rule, before, block)]
    return found


def _blocks(func: PrimFunc) -> list[BlockRV]:
    sch = Schedule(IRModule.from_expr(func))
    return [sch.get(block).name_hint for block in sch.get_child_blocks("root")]


def _applied(rule: ScheduleRule, sch: Schedule, name: str) -> list[Schedule]:
    candidate = sch.copy()
    children = candidate.copy()
    if name not in [children.get(b).name_hint for b in children.get_child_blocks("root")]:
        return [sch]
    block = candidate.get_block(name)
    found = rule.apply(candidate, block)
    return [sch] if found == [candidate] else found


def samples(sketch: Schedule, func: PrimFunc, count: int) -> Iterator[Schedule]:
    """The sketch with its own decisions, and with some at random."""
    yield sketch
    for seed in range(1, count + 1):
        sch = Schedule(IRModule.from_expr(func.with_attrs(ATTRIBUTES)), seed=seed)
        Trace(sketch.trace.insts, {}).apply_to_schedule(sch)
        yield sch


def check(
    func: PrimFunc,
    machine: Machine = SMALL,
    *,
    count: int = 3,
    sizes: dict[str, int] | None = None,
) -> list[Schedule]:
    """All sketches, each of which must keep the meaning of the function whatever is decided."""
    found = sketches(func, machine)
    before = func.with_attrs(ATTRIBUTES)
    for sketch in found:
        for sch in samples(sketch, func, count):
            assert_same_meaning(IRModule.from_expr(before), sch, sizes=sizes)
    return found


def depth(sch: Schedule, one: str, other: str) -> int:
    """How many loops two blocks share."""
    first, second = ([sch.get(loop) for loop in sch.get_loops(b)] for b in (one, other))
    return sum(a is b for a, b in zip(first, second, strict=False))
