"""Decisions of a trace, and what else could have been decided.

A decision of `sample_perfect_tile` and `sample_partitioned_tile` is a list of factors, one of
`sample_categorical` the position of a candidate, one of `sample_compute_location` a place.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any, Final

from tilewright.tir.schedule import Instruction, LoopRV, Schedule, Trace
from tilewright.tir.schedule.primitives.sampling import compute_locations
from tilewright.tir.schedule.traces.random_choices import constant_extent, divisors

TILES: Final = ("sample_perfect_tile", "sample_partitioned_tile")
"""Samplings of factors of the extent of a loop."""

NEAR: Final = 8
"""Number of candidates of `sample_categorical` that are neighbours of one."""


def samplings(trace: Trace) -> list[Instruction]:
    """The instructions that decide something, in order."""
    return [inst for inst in trace.kept(remove_postproc=True) if inst.kind.primitive.is_sampling]


def frozen(decision: Any) -> Any:
    """A decision as something that can be looked up."""
    return tuple(decision) if isinstance(decision, (list, tuple)) else decision


def argument(inst: Instruction, name: str) -> Any:
    """An argument of an instruction by name, with its default."""
    return inst.arguments.get(name, inst.kind.primitive.defaults[name])


# --- tiles --------------------------------------------------------------------------------------


def is_tile_allowed(inst: Instruction, factors: list[int], decided: list[int]) -> bool:
    """Whether a sampling of a tile may decide for `factors`, where it `decided` before."""
    if inst.kind.name == "sample_partitioned_tile":
        inner = math.prod(factors[argument(inst, "partition_pos") :])
        return inner % argument(inst, "innerpart_factor") == 0
    limit = argument(inst, "max_innermost_factor")
    # A decision that was given may be beyond the limit, which is for those made at random.
    return limit == -1 or factors[-1] <= max(limit, decided[-1])


def moves(inst: Instruction, factors: list[int], *, single: bool) -> Iterator[list[int]]:
    """Tiles in which a part of one factor went over to another one.

    Args:
        inst: the sampling.
        factors: its decision.
        single: move one prime factor only.
    """
    for source, target in permutations(range(len(factors)), 2):
        for divisor in divisors(factors[source])[1:]:
            if single and not _is_prime(divisor):
                continue
            moved = list(factors)
            moved[source] //= divisor
            moved[target] *= divisor
            if is_tile_allowed(inst, moved, factors):
                yield moved


def _is_prime(number: int) -> bool:
    return len(divisors(number)) == 2


def factorizations(extent: int, parts: int) -> Iterator[list[int]]:
    """All lists of `parts` positive numbers whose product is `extent`."""
    if parts == 1:
        yield [extent]
        return
    for first in divisors(extent):
        for rest in factorizations(extent // first, parts - 1):
            yield [first, *rest]


# --- candidates ---------------------------------------------------------------------------------


def other_candidates(inst: Instruction, position: int) -> list[int]:
    """The other positions that `sample_categorical` may decide for, near ones first."""
    allowed = [n for n, prob in enumerate(inst.arguments["probs"]) if prob > 0 and n != position]
    return sorted(allowed, key=lambda n: abs(n - position))


# --- all of them --------------------------------------------------------------------------------


def neighbours(inst: Instruction, decision: Any) -> list[Any]:
    """The decisions next to one: a prime factor moved, or one of the nearest candidates.

    Where a block is computed is known only for a program; see `choices`.
    """
    if inst.kind.name in TILES:
        return list(moves(inst, list(decision), single=True))
    if inst.kind.name == "sample_categorical":
        return other_candidates(inst, decision)[:NEAR]
    return []


def adjacent(inst: Instruction, decision: Any) -> list[Any]:
    """The decisions one step from one: a prime factor moved, or the candidate before or after it.

    Where a block is computed is known only for a program; see `choices`.
    """
    if inst.kind.name != "sample_categorical":
        return neighbours(inst, decision)
    others = other_candidates(inst, decision)
    before = [other for other in others if other < decision]
    after = [other for other in others if other > decision]
    return [*before[:1], *after[:1]]


def choices(sch: Schedule, inst: Instruction) -> list[Any]:
    """All decisions that a sampling may take at this point of a schedule.

    Args:
        sch: the schedule in which the instructions before are applied.
        inst: the sampling.
    """
    if inst.kind.name in TILES:
        loop = inst.arguments["loop"]
        extent = constant_extent(sch.get(loop) if isinstance(loop, LoopRV) else sch.number(loop))
        last = [1] * (argument(inst, "n") - 1) + [0]
        found = factorizations(extent, argument(inst, "n"))
        return [factors for factors in found if is_tile_allowed(inst, factors, last)]
    if inst.kind.name == "sample_categorical":
        return sorted(other_candidates(inst, -1))
    name, block = sch.statement(inst.arguments["block"])
    return compute_locations(sch.state.tree(name), block)


THREAD_INDEX = "threadIdx."
"""How the names of the axes over the threads of a block begin."""

UNROLL_KEYS = ("pragma_auto_unroll_max_step", "meta_schedule.unroll")
"""How the keys of annotations begin that say how far loops are unrolled."""


class Uses:
    """Which instructions of a trace use a random variable.

    Args:
        trace: the trace.
    """

    def __init__(self, trace: Trace) -> None:
        self._users = _users(tuple(trace))

    def of(self, inst: Instruction) -> list[Instruction]:
        """The instructions that use what `inst` returns."""
        return [user for output in inst.outputs for user in self._users.get(output, ())]

    def is_tile_size(self, inst: Instruction) -> bool:
        """Whether something but annotations uses a sampled number."""
        return any(user.kind.name != "annotate" for user in self.of(inst))

    def is_unrolling(self, inst: Instruction) -> bool:
        """Whether a sampled number says how far loops are unrolled."""
        return any(
            user.kind.name == "annotate" and str(user.arguments["ann_key"]).startswith(UNROLL_KEYS)
            for user in self.of(inst)
        )

    def is_thread_count(self, inst: Instruction) -> bool:
        """Whether a loop with a sampled number of iterations is bound to threads."""
        return any(
            bound.kind.name == "bind"
            and str(bound.arguments["thread_axis"]).startswith(THREAD_INDEX)
            for user in self.of(inst)
            if user.kind.name == "split"
            for bound in self.of(user)
        )


@functools.lru_cache(maxsize=64)  # the candidates of a sketch have the same instructions
def _users(insts: tuple[Instruction, ...]) -> Mapping[Any, list[Instruction]]:
    """The instructions that use each random variable."""
    found: dict[Any, list[Instruction]] = defaultdict(list)
    for inst in insts:
        for variable in inst.uses():
            found[variable].append(inst)
    return dict(found)
