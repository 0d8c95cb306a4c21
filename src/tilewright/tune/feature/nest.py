"""A scheduled program as loop nests of stores: what features and cost models look at.

It is read off the blocks and loops, without lowering the program, which would take a hundred times
as long. What lowering does to it later is taken into account here: a reduction is initialised
before its outermost loop, and a buffer of the program itself is as large as the part of it that
lives at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeAlias

from tilewright.arith.linear import Terms
from tilewright.arith.quotients import Digit, Quotient
from tilewright.ir.expr import Var, const_int_value
from tilewright.tir.buffer import Buffer
from tilewright.tir.stmt import ForKind
from tilewright.tune.feature.footprint import levels_of, strides_along
from tilewright.tune.feature.index_form import Anything
from tilewright.tune.feature.operations import Operations


class Loop:
    """A loop of the program.

    Attributes:
        var: its variable; None for the lanes of an explicit vector.
        extent: iterations.
        kind: how they run.
        tag: the GPU axis to which it is bound, or an empty text.
        reduces: whether it runs over an iterator of a reduction.
        unroll_step: the most statements to which nests in it are unrolled without being told.
    """

    __slots__ = ("extent", "high", "kind", "low", "reduces", "tag", "unroll_step", "var")

    def __init__(
        self, var: Var | None, extent: int, kind: ForKind, tag: str = "", unroll_step: int = 0
    ) -> None:
        self.var, self.extent, self.kind, self.tag = var, extent, kind, tag
        self.unroll_step = unroll_step
        self.reduces = False
        self.low, self.high = 0, extent - 1


class Memory:
    """A buffer as memory.

    Attributes:
        buffer: the buffer.
        strides: elements between neighbours of each dimension.
        itemsize: bytes of an element.
        elements: how many there are.
        allocated: whether it is memory of the program itself, not of its caller.
        outside: how many of the outermost loops are around the allocation.
        alignments: for dimensions whose strides are to be ``k * factor + offset``: both numbers.
    """

    __slots__ = (
        "alignments", "allocated", "buffer", "elements", "itemsize", "outside", "strides",
    )  # fmt: skip

    def __init__(self, buffer: Buffer, allocated: bool, sizes: Sequence[int]) -> None:
        self.buffer = buffer
        self.allocated = allocated
        self.itemsize = buffer.dtype.itemsize
        self.outside: int | None = None
        self.alignments: dict[int, tuple[int, int]] = {}
        self.strides: list[int] = []
        self.elements = 1
        for size in reversed(sizes):
            self.strides.append(self.elements)
            self.elements *= size
        self.strides.reverse()
        if buffer.strides:
            given = [const_int_value(stride) for stride in buffer.strides]
            self.strides = [
                own if stride is None else stride
                for own, stride in zip(self.strides, given, strict=True)
            ]

    def not_shared_by(self, around: Sequence[Loop]) -> Sequence[Loop]:
        """Of the loops around the allocation, those whose iterations have memory of their own."""
        if not self.buffer.scope().startswith("shared"):
            return around
        return [loop for loop in around if not loop.tag.startswith(("threadIdx", "vthread"))]


class LinearAccess:
    """A load or a store.

    Attributes:
        memory: what it accesses.
        is_store: whether it writes.
        terms: the position as a linear form, in elements.
        strides: elements between neighbours along each level of its statement.
        scattered: whether data decides which element it is.
        conditions: how many comparisons of indices decide whether it is made.
    """

    __slots__ = ("conditions", "is_store", "memory", "scattered", "strides", "terms")

    def __init__(self, memory: Memory, is_store: bool, terms: Terms) -> None:
        self.memory, self.is_store, self.terms = memory, is_store, terms
        self.conditions = 0
        self.scattered = any(key.__class__ is Anything for key in terms)
        self.strides: list[int] = []


class Guard(NamedTuple):
    """A condition: the loops that it depends on, and in which part of their iterations it holds."""

    loops: frozenset[Loop]
    share: float


class Statement:
    """A store in its loops.

    Attributes:
        name: the block that it is part of.
        loops: around it, the outermost first.
        accesses: the store first, then the loads, each place in the text once.
        operations: what the value takes.
        share: the part of the iterations of the loops in which it is executed.
        guards: the conditions for that: the loops of each, and the part in which it holds.
        initialises: whether it gives a reduction its first value.
        levels: the loops as its accesses see them.
    """

    __slots__ = (
        "accesses", "guards", "initialises", "levels", "loops", "name", "operations", "share",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        loops: tuple[Loop, ...],
        accesses: list[LinearAccess],
        operations: Operations,
        guards: tuple[Guard, ...],
        initialises: bool,
    ) -> None:
        self.name, self.loops, self.accesses = name, loops, accesses
        self.operations, self.guards, self.initialises = operations, guards, initialises
        self.share = 1.0
        for guard in guards:
            self.share *= guard.share
        self.levels: list[Digit] = []

    @property
    def iterations(self) -> int:
        """How often the loops around it run altogether."""
        result = 1
        for loop in self.loops:
            result *= loop.extent
        return result

    def settle(self) -> None:
        """Find levels and strides, when it is known where memory is allocated."""
        for access in self.accesses:
            if access.memory.outside:
                around = set(access.memory.not_shared_by(self.loops[: access.memory.outside]))
                for key in [key for key in access.terms if _is_about(key, around)]:
                    del access.terms[key]
        self.levels = levels_of(self.loops, [access.terms for access in self.accesses])
        for access in self.accesses:
            access.strides = strides_along(self.levels, access.terms)


def _is_about(key: Any, loops: AbstractSet[Loop]) -> bool:
    """Whether a part of an index is given by some loops alone."""
    if key.__class__ is Quotient:
        return all(_is_about(inner, loops) for inner in key.form.terms)
    return key in loops


class Nest:
    """A loop with what is in it, in order."""

    __slots__ = ("body", "loop")

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.body: list[Part] = []


Part: TypeAlias = "Nest | Statement"


class Program:
    """The loop nests of a function.

    Attributes:
        body: the outermost nests and statements, in order.
        memories: the buffers.
        reassociates: whether sums of floats may be regrouped.
    """

    __slots__ = ("body", "memories", "reassociates")

    def __init__(
        self, body: list[Part], memories: list[Memory], reassociates: bool = False
    ) -> None:
        self.body, self.memories, self.reassociates = body, memories, reassociates

    def statements(self) -> Iterator[Statement]:
        """All stores, in the order of the program."""
        stack: list[Part] = list(reversed(self.body))
        while stack:
            part = stack.pop()
            if part.__class__ is Statement:
                yield part  # type: ignore[misc]
            else:
                stack.extend(reversed(part.body))  # type: ignore[union-attr]
