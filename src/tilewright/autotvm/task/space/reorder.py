"""Knobs that choose the order of loops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, Final

from tilewright.autotvm.task.space.axis import VirtualAxis
from tilewright.autotvm.task.space.knob import Entity, TransformSpace
from tilewright.error import ArgumentValueError
from tilewright.te.schedule import Schedule
from tilewright.tir.expr import IterVar

POLICIES: Final = (
    "identity", "all", "interval_all", "candidate", "interleave", "interleave_cuda",
)  # fmt: skip


class ReorderEntity(Entity):
    """An order of loops.

    Args:
        perm: the positions of the loops in the list, in the new order.
    """

    code = "re"

    def __init__(self, perm: Sequence[int]) -> None:
        self.perm = list(perm)

    @property
    def value(self) -> list[int]:
        """The positions."""
        return self.perm

    def apply(self, sch: Schedule, op: Any, axes: Sequence[IterVar]) -> list[IterVar]:
        """Reorder loops of a stage.

        Args:
            sch: the schedule.
            op: the stage: a tensor or an operation.
            axes: the loops that the knob is about; the last ones may be left out.

        Returns:
            The loops in the new order.

        Raises:
            TEScheduleError: if they are not loops of the stage.
        """
        ordered = [axes[position] for position in self.perm if position < len(axes)]
        sch[op].reorder(*ordered)
        return ordered

    def features(self) -> list[float]:
        """The positions."""
        return [float(position) for position in self.perm]


class ReorderSpace(TransformSpace):
    """The orders that a policy allows.

    Args:
        knob: the name of the knob, for messages.
        axes: the loops.
        policy: ``"identity"`` for the given order; ``"all"`` for all orders; ``"interval_all"`` for
            all orders of ``axes[begin:end]``, where ``interval=(begin, end)``; ``"candidate"`` for
            those that are listed; ``"interleave"`` and ``"interleave_cuda"`` for chains that keep
            their order and of which the longest goes first.
        interval: see above.
        candidate: lists of loops, for the policy ``"candidate"``.
        spatial: lists of loops, each from one axis of the operation, for the last two policies. The
            innermost loops of all come after the others: mixed with the chains of `reduce`, or for
            ``"interleave_cuda"`` after those.
        reduce: the same of the axes of the reduction.
    """

    def __init__(
        self,
        knob: str,
        axes: Sequence[VirtualAxis],
        policy: str,
        *,
        interval: tuple[int, int] | None = None,
        candidate: Sequence[Sequence[Any]] | None = None,
        spatial: Sequence[Sequence[Any]] | None = None,
        reduce: Sequence[Sequence[Any]] | None = None,
    ) -> None:
        self.policy = policy
        every = range(len(axes))
        options = {
            "interval_all": {"interval": interval},
            "candidate": {"candidate": candidate},
            "interleave": {"spatial": spatial, "reduce": reduce},
            "interleave_cuda": {"spatial": spatial, "reduce": reduce},
        }
        for option, given in options.get(policy, {}).items():
            if given is None:
                raise ArgumentValueError(
                    f"define_reorder {knob!r}: the policy {policy!r} needs `{option}`"
                )
        orders: Any
        if policy == "identity":
            orders = [every]
        elif policy == "all":
            orders = permutations(every)
        elif policy == "interval_all":
            begin, end = interval or (0, 0)
            inner = permutations(every[begin:end])
            orders = ((*every[:begin], *order, *every[end:]) for order in inner)
        elif policy == "candidate":
            orders = [_positions(knob, axes, order) for order in candidate or ()]
        elif policy in POLICIES:
            chains = [[_positions(knob, axes, c) for c in part or ()] for part in (spatial, reduce)]
            orders = [_interleaved(*chains, inner_last=policy == "interleave_cuda")]
        else:
            raise ArgumentValueError(
                f"define_reorder {knob!r}: the policy is one of {POLICIES}, got {policy!r}"
            )
        super().__init__([ReorderEntity(order) for order in orders], len(axes))

    def __repr__(self) -> str:
        return f"Reorder(policy={self.policy}) len={len(self)}"


def _positions(knob: str, axes: Sequence[VirtualAxis], order: Sequence[Any]) -> list[int]:
    found = [position for axis in order for position, own in enumerate(axes) if own is axis]
    if len(found) != len(order) or len(set(found)) != len(found):
        raise ArgumentValueError(
            f"define_reorder {knob!r}: {list(order)!r} names other loops than {list(axes)!r}, or "
            "one twice"
        )
    return found


def _interleaved(
    spatial: list[list[int]], reduce: list[list[int]], *, inner_last: bool
) -> list[int]:
    innermost = [chain[-1:] for chain in spatial]
    outer = _merged([chain[:-1] for chain in spatial])
    if inner_last:
        return [*outer, *_merged(reduce), *(axis for chain in innermost for axis in chain)]
    return [*outer, *_merged([*innermost, *reduce])]


def _merged(chains: list[list[int]]) -> list[int]:
    """Chains in one line: the next loop is of the first of those chains with most loops left."""
    rest = [list(chain) for chain in chains]
    line: list[int] = []
    while any(rest):
        line.append(max(rest, key=len).pop(0))
    return line
