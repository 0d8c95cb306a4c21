"""Accesses by iterations: which iteration of the loops around a block accesses which element, when.

Legality is decided by instances, each of which runs once. Where instances may run several times, or
not at all, a concrete example has to tell iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright.tir.analysis.dependence.accesses import AccessRelation
from tilewright.tir.analysis.dependence.example import (
    fixed,
    instance_in_loops,
    sample_point,
    with_sizes,
)
from tilewright.tir.analysis.dependence.program import Program, earlier
from tilewright.tir.analysis.dependence.relations import footprint, loop_map
from tilewright.tir.analysis.dependence.solver import UndecidedError, isl
from tilewright.tir.analysis.dependence.statements import Memory, Statement, shared_way
from tilewright.tir.analysis.dependence.violation import Instance
from tilewright.tir.buffer import Buffer
from tilewright.tir.stmt import Block


def statement_of(program: Program, block: Block) -> Statement:
    """The statement that a block is.

    Raises:
        UndecidedError: if there is none, as the block contains others, or its order is not known.
    """
    for statement in program.statements:
        if statement.stmt is block:
            if statement.problem is not None:
                raise UndecidedError(statement.problem)
            return statement
    raise UndecidedError(f"{block.name_hint} contains other blocks")


class BufferAccess(NamedTuple):
    """What a statement does with a buffer.

    Attributes:
        statement: the statement.
        buffer: the buffer.
        is_write: whether it writes.
    """

    statement: Statement
    buffer: Buffer
    is_write: bool

    @property
    def map(self) -> Any:
        """From iterations of the loops around the statement to the elements that it accesses."""
        elements = footprint(self.statement).relation(self.buffer, self.is_write)
        return loop_map(self.statement).map.apply_range(elements)

    @property
    def accesses(self) -> list[AccessRelation]:
        """The loads or stores."""
        return [
            a
            for a in footprint(self.statement).accesses
            if a.buffer is self.buffer and a.is_write is self.is_write
        ]

    @property
    def is_certain(self) -> bool:
        """Whether all of these accesses happen, and not only may happen."""
        return loop_map(self.statement).exact and all(a.exact for a in self.accesses)

    def places(self, iteration: Sequence[int], sizes: dict[str, int]) -> Any:
        """The elements that one iteration accesses."""
        return fixed(with_sizes(self.map, sizes), isl().dim_type.in_, iteration).range()

    def element(self, place: Sequence[int]) -> str:
        """How an element is written."""
        indices = place[len(place) - len(self.buffer.shape) :]
        return f"{self.buffer.name}[{', '.join(map(str, indices))}]"

    def instance(self, iteration: Sequence[int], sizes: dict[str, int]) -> Instance:
        """The instance that an iteration runs."""
        return instance_in_loops(self.statement, list(iteration), sizes)

    def told(self, instance: Instance, element: str) -> str:
        """What an instance does to an element."""
        verb = "writes" if self.is_write else "reads"
        return f"{instance} {verb if self.is_certain else f'may {verb[:-1]}'} {element}"


def accesses(statement: Statement, memory: Memory) -> list[BufferAccess]:
    """The ways in which a statement accesses elements of some memory."""
    found = (
        BufferAccess(statement, access.buffer, access.is_write)
        for access in footprint(statement).accesses
        if access.memory is memory and access.buffer is not None
    )
    return list(dict.fromkeys(found))


def conflicts(
    first: Statement, second: Statement, memory: Memory
) -> list[tuple[BufferAccess, BufferAccess]]:
    """The ways in which two statements access one element of some memory, one of them writing."""
    return [
        (one, other)
        for one in accesses(first, memory)
        for other in accesses(second, memory)
        if one.buffer is other.buffer and (one.is_write or other.is_write)
    ]


def same_element(first: BufferAccess, second: BufferAccess) -> Any:
    """Pairs of iterations that access one element."""
    return first.map.apply_range(second.map.reverse())


def shared_element(
    first: BufferAccess, second: BufferAccess, ends: Sequence[Sequence[int]], sizes: dict[str, int]
) -> str:
    """An element that both iterations of a pair in `same_element` access."""
    both = first.places(ends[0], sizes).intersect(second.places(ends[1], sizes))
    return first.element(sample_point(both).first)


def earlier_iterations(first: Statement, second: Statement, same: int = 0) -> Any:
    """Pairs of iterations of two statements of which the first one runs before the second.

    They are in the same iteration of the `same` outermost loops around both.
    """
    kinds = isl().dim_type
    way = shared_way(first, second)
    before, after = loop_map(first).map, loop_map(second).map
    pairs = isl().Map.from_domain_and_range(before.domain(), after.domain())
    for place in range(same):
        pairs = pairs.equate(kinds.in_, place, kinds.out, place)
    places = list(range(way.loops))
    found = isl().Map.empty(pairs.get_space())
    for part in earlier(pairs, places, places, also_equal=way.order < 0):
        found = found.union(part)
    return found
