"""Knobs that divide a loop into several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tilewright.autotvm.task.space.axis import VirtualAxis
from tilewright.autotvm.task.space.knob import Entity, TransformSpace
from tilewright.error import ArgumentError, ArgumentValueError, require_one_of
from tilewright.te.schedule import Schedule
from tilewright.tir.expr import IterVar
from tilewright.tir.schedule.traces.random_choices import divisors

POLICIES: Final = ("factors", "power2", "verbose", "candidate")


class SplitEntity(Entity):
    """How a loop is divided.

    Args:
        size: the number of iterations of each loop that it makes, outermost first. The first one
            is -1: as many as are needed.
    """

    code = "sp"

    def __init__(self, size: Sequence[int]) -> None:
        self.size = list(size)

    @property
    def value(self) -> list[int]:
        """The sizes."""
        return self.size

    def apply(self, sch: Schedule, op: Any, axis: IterVar) -> list[IterVar]:
        """Split a loop of a stage.

        Args:
            sch: the schedule.
            op: the stage: a tensor or an operation.
            axis: the loop.

        Returns:
            The loops that it becomes, outermost first.

        Raises:
            TEScheduleError: if it is not a loop of the stage.
        """
        loops: list[IterVar] = []
        for position in range(1, len(self.size)):
            outer, axis = sch[op].split(axis, math.prod(self.size[position:]))
            loops.append(outer)
        return [*loops, axis]

    def features(self) -> list[float]:
        """The sizes."""
        return [float(size) for size in self.size]


class SplitSpace(TransformSpace):
    """The ways to divide a loop that a policy allows.

    Args:
        knob: the name of the knob, for messages.
        axis: the loop.
        policy: ``"factors"`` for sizes that divide its length; ``"power2"`` for powers of two;
            ``"verbose"`` for both, and products of both; ``"candidate"`` for those that are listed.
        num_outputs: number of loops that it becomes; with candidates it may be left out.
        filter: says of a `SplitEntity` whether it is a candidate; by default all are.
        max_factor: the largest size of a loop but the outermost; by default there is no limit.
        no_tail: whether the sizes have to divide the length, so that no loop has iterations that
            do nothing; by default only with the policy ``"factors"``.
        candidate: lists of sizes, for the policy ``"candidate"``.

    Attributes:
        policy: as above.
        product: the length of the loop.
    """

    def __init__(
        self,
        knob: str,
        axis: VirtualAxis,
        policy: str = "factors",
        *,
        num_outputs: int | None = None,
        filter: Callable[[SplitEntity], Any] | None = None,
        max_factor: int | None = None,
        no_tail: bool | None = None,
        candidate: Sequence[Sequence[int]] | None = None,
    ) -> None:
        require_one_of(f"define_split {knob!r}: the policy", policy, POLICIES)
        outputs = output_count(knob, num_outputs, candidate)
        self.policy = policy
        self.product = axis.known_length(knob)
        if policy == "candidate":
            sizes: Any = _listed(knob, candidate, outputs)
        else:
            exact = policy == "factors" if no_tail is None else bool(no_tail)
            factors = [f for f in _factors(policy, self.product) if f <= (max_factor or f)]
            sizes = _divisions(self.product, factors, outputs, exact)
        entities = [SplitEntity(size) for size in sizes]
        accepts = filter or (lambda entity: True)
        super().__init__([entity for entity in entities if accepts(entity)], outputs)

    def __repr__(self) -> str:
        return (
            f"Split(policy={self.policy}, product={self.product}, "
            f"num_outputs={self.num_output}) len={len(self)}"
        )


def output_count(knob: str, num_outputs: Any, candidate: Any) -> int:
    """The number of loops that a split makes, from the options of `define_split`."""
    if num_outputs is None and candidate:
        num_outputs = len(candidate[0])
    if isinstance(num_outputs, bool) or not isinstance(num_outputs, int) or num_outputs < 1:
        raise ArgumentError(
            f"define_split {knob!r}: `num_outputs`, the number of loops, is at least 1; got "
            f"{num_outputs!r}"
        )
    return num_outputs


def _factors(policy: str, length: int) -> list[int]:
    powers = [1 << exponent for exponent in range(length.bit_length())]
    if policy == "power2":
        return powers
    exact = list(divisors(length))
    return exact if policy == "factors" else sorted({*exact, *powers})


def _divisions(length: int, factors: list[int], parts: int, exact: bool) -> Iterator[list[int]]:
    """The sizes whose product is at most `length`, and with `exact` divides it.

    The size of the innermost loop changes slowest.
    """

    def inner(rest: int, room: int) -> Iterator[list[int]]:
        if rest == 0:
            yield []
            return
        for factor in factors:
            if factor <= room and not (exact and room % factor):
                for outer in inner(rest - 1, room // factor):
                    yield [*outer, factor]

    for sizes in inner(parts - 1, length):
        yield [-1, *sizes]


def _listed(knob: str, candidate: Any, parts: int) -> list[list[int]]:
    if not isinstance(candidate, (list, tuple)):
        raise ArgumentError(
            f"define_split {knob!r}: the policy 'candidate' needs `candidate`, a list of lists of "
            f"sizes; got {candidate!r}"
        )
    found: list[list[int]] = []
    for sizes in candidate:
        if not isinstance(sizes, (list, tuple)) or len(sizes) != parts:
            raise ArgumentValueError(
                f"define_split {knob!r}: a candidate has {parts} sizes, got {sizes!r}"
            )
        if not all(type(size) is int and size > 0 for size in sizes[1:]) or sizes[0] == 0:
            raise ArgumentValueError(
                f"define_split {knob!r}: sizes are positive integers, and the first may be -1; got "
                f"{sizes!r}"
            )
        found.append(list(sizes))
    return found
