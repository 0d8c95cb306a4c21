"""Liveness, and where the temporary arrays of a function are: offsets in one block of memory.

Arrays that are not alive at the same time share memory. Those of constant size are placed greedily,
the largest first, at the lowest offset that is free for as long as they live (Y. Pisarchyk and J.
Lee, "Efficient memory management for deep neural net inference", 2020). Those of symbolic size take
over a place that is free and known to be large enough, or that can be made so.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tilewright.arith import Analyzer
from tilewright.ir.arithmetic import floordiv
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm
from tilewright.relax.expr import Call, DataflowVar, Function, If, RelaxExpr, SeqExpr, Var
from tilewright.relax.vm.steps import (
    Arena,
    Memory,
    MemoryOrigin,
    ReleaseStep,
    Step,
    in_order,
    memories_of,
    slots_of,
)


class Liveness:
    """Positions of the calls of a function, and of the last uses of its variables.

    Memory may be overwritten by a call at the position of its last use.
    """

    def __init__(self, function: Function) -> None:
        self.last_use: dict[Var, int] = {}
        self.position: dict[int, int] = {}
        self._count = 0
        self._visit(function.body)

    def _visit(self, expr: RelaxExpr) -> None:
        if isinstance(expr, SeqExpr):
            for block in expr.blocks:
                for binding in block.bindings:
                    self._visit(binding.value)
                    self._count += 1
            self._visit(expr.body)
        elif isinstance(expr, (Var, DataflowVar)):
            self.last_use[expr] = self._count
        elif isinstance(expr, If):
            self._visit(expr.cond)
            self._count += 1
            self._visit(expr.true_branch)
            self._visit(expr.false_branch)
            self._count += 1
        else:
            if isinstance(expr, Call):
                self.position[id(expr)] = self._count
            for child in expr.children():
                if isinstance(child, RelaxExpr):
                    self._visit(child)


def with_releases(steps: Sequence[Step], returned: set[int]) -> list[Step]:
    """`steps`, with a `ReleaseStep` after the last use of each slot.

    Args:
        returned: slots of the returned values, which are not released.
    """
    last: dict[int, int] = {}
    for position, step in enumerate(steps):
        for part in in_order([step]):
            last.update((slot, position) for slot in slots_of(part) if slot not in returned)
    at: dict[int, list[int]] = {}
    for slot, position in last.items():
        at.setdefault(position, []).append(slot)
    result: list[Step] = []
    for position, step in enumerate(steps):
        result.append(step)
        if position in at and position != len(steps) - 1:
            result.append(ReleaseStep(tuple(sorted(at[position]))))
    return result


ALIGNMENT: Final = 64
"""Alignment of each array in bytes: a cache line, and the widest vector."""

DEVICE_ALIGNMENT: Final = 512
"""Alignment of each array on a device: the largest that OpenCL devices want of parts of buffers."""


@dataclass(eq=False)
class MemoryPlan:
    """The result.

    Attributes:
        offsets: of temporary memory, in bytes.
        unshared_size: its size if no arrays shared memory.
        arenas: the plans of the blocks that are made when their sizes are known.
    """

    offsets: dict[Memory, Expr]
    size: Expr
    unshared_size: Expr
    arenas: dict[Arena, MemoryPlan] = field(default_factory=dict)


@dataclass(eq=False)
class _Lifetime:
    first: int
    last: int

    def overlaps(self, other: _Lifetime) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(eq=False)
class _SymbolicBlock:
    size: Expr
    busy_until: int
    users: list[Memory]


def plan_memory(steps: Sequence[Step], analyzer: Analyzer) -> MemoryPlan:
    """Give each temporary memory of `steps` an offset."""
    lifetimes = _lifetimes(steps)
    plan = _plan({m: t for m, t in lifetimes.items() if m.arena is None}, analyzer)
    for arena in dict.fromkeys(memory.arena for memory in lifetimes):
        if arena is not None:
            inside = {m: t for m, t in lifetimes.items() if m.arena is arena}
            alignment = DEVICE_ALIGNMENT if arena.on_device else ALIGNMENT
            plan.arenas[arena] = _plan(inside, analyzer, alignment)
    return plan


def _plan(
    lifetimes: dict[Memory, _Lifetime], analyzer: Analyzer, alignment: int = ALIGNMENT
) -> MemoryPlan:
    """Offsets in one block."""
    sizes = {memory: _aligned(memory.size, analyzer, alignment) for memory in lifetimes}
    constant = {m: s.value for m, s in sizes.items() if isinstance(s, IntImm)}
    offsets, peak = _place_constant(constant, lifetimes)
    result: dict[Memory, Expr] = {m: const(o, "int64") for m, o in offsets.items()}
    # Sizes are compared as they are: rounded ones are hard to compare.
    symbolic = {memory: memory.size for memory in lifetimes if memory not in constant}
    end: Expr = const(peak, INT64)
    for place in _place_symbolic(symbolic, lifetimes, analyzer):
        for memory in place.users:
            result[memory] = end
        end = analyzer.simplify(end + _aligned(place.size, analyzer, alignment))
    unshared: Expr = const(sum(constant.values()), INT64)
    for memory in symbolic:
        unshared = analyzer.simplify(unshared + sizes[memory])
    return MemoryPlan(result, end, unshared)


def _lifetimes(steps: Sequence[Step]) -> dict[Memory, _Lifetime]:
    """From the first step to the last that uses each temporary memory."""
    found: dict[Memory, _Lifetime] = {}
    for position, step in enumerate(in_order(steps)):
        for memory in memories_of(step):
            if memory.origin is MemoryOrigin.TEMPORARY and memory.slot is None:
                found.setdefault(memory, _Lifetime(position, position)).last = position
    return found


def _aligned(size: Expr, analyzer: Analyzer, alignment: int) -> Expr:
    blocks = floordiv(size + const(alignment - 1, INT64), const(alignment, INT64))
    return analyzer.simplify(blocks * const(alignment, INT64))


def _place_constant(
    sizes: dict[Memory, int], lifetimes: dict[Memory, _Lifetime]
) -> tuple[dict[Memory, int], int]:
    placed: list[tuple[int, int, Memory]] = []
    """Beginning, end and memory, in order of the beginnings."""
    peak = 0
    for memory in sorted(sizes, key=lambda m: (-sizes[m], lifetimes[m].first)):
        size, lifetime, offset = sizes[memory], lifetimes[memory], 0
        for begin, end, other in placed:
            if lifetime.overlaps(lifetimes[other]):
                if begin - offset >= size:
                    break
                offset = max(offset, end)
        insort(placed, (offset, offset + size, memory), key=lambda item: item[0])
        peak = max(peak, offset + size)
    return {memory: begin for begin, _, memory in placed}, peak


def _place_symbolic(
    sizes: dict[Memory, Expr], lifetimes: dict[Memory, _Lifetime], analyzer: Analyzer
) -> list[_SymbolicBlock]:
    places: list[_SymbolicBlock] = []
    for memory in sorted(sizes, key=lambda m: lifetimes[m].first):
        size, lifetime = sizes[memory], lifetimes[memory]
        free = [place for place in places if place.busy_until < lifetime.first]
        place = _best_place(free, size, analyzer)
        if place is None:
            place = _SymbolicBlock(size, 0, [])
            places.append(place)
        elif not analyzer.can_prove(place.size >= size):
            place.size = size
        place.users.append(memory)
        place.busy_until = lifetime.last
    return places


def _best_place(
    free: list[_SymbolicBlock], size: Expr, analyzer: Analyzer
) -> _SymbolicBlock | None:
    """A place of the same size, or a larger one, or a smaller one that can grow."""
    tests = (
        lambda place: analyzer.can_prove_equal(place.size, size),
        lambda place: analyzer.can_prove(place.size >= size),
        lambda place: analyzer.can_prove(size >= place.size),
    )
    for test in tests:
        for place in free:
            if test(place):
                return place
    return None
