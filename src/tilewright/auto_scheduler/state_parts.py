"""What a `State` consists of: stages, iterators and steps."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tilewright.te.operation import Operation
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterVar

ANNOTATIONS: Final = (
    "none", "unroll", "vectorize", "parallel", "vthread", "blockIdx.x", "threadIdx.x",
    "blockIdx.y", "threadIdx.y", "blockIdx.z", "threadIdx.z", "tensorize",
)  # fmt: skip
"""What an iterator may be annotated with; record files have the position in this list."""

THREADS: Final = tuple(name for name in ANNOTATIONS if "Idx" in name or name == "vthread")
"""Those that bind an iterator to GPU threads."""


class Iterator(NamedTuple):
    """A loop of a stage.

    Attributes:
        name: from what it was split and fused, such as ``i.0@j.0@``.
        loop: the loop of the te schedule.
        range: over what it runs; None if that is not decided yet.
        annotation: one of `ANNOTATIONS`.
    """

    name: str
    loop: IterVar
    range: Range | None
    annotation: str


class Stage(NamedTuple):
    """A stage of a state.

    Attributes:
        name: of its operation; a cache is called ``C.local``.
        op: the operation.
        iters: its iterators, outermost first.
        compute_at: ``"root"``, ``"inlined"``, or ``"iter"`` if it is computed in an iterator of
            another stage.
    """

    name: str
    op: Operation
    iters: list[Iterator]
    compute_at: str


class Step(NamedTuple):
    """A step of a state, as record files write it.

    Attributes:
        code: its kind, such as ``"SP"`` for a split.
        arguments: numbers of stages, positions of iterators, and what the kind has besides.
    """

    code: str
    arguments: tuple[Any, ...]


StageLike = int | Operation | Tensor
IteratorLike = Iterator | int


def is_integer(value: object) -> bool:
    """Whether a value is an integer, and not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)
