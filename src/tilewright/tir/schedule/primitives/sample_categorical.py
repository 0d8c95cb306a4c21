"""Choosing one of several numbers."""

from __future__ import annotations

import math
from typing import Any

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.convert import as_integer
from tilewright.tir.schedule.primitive import Number, sampling
from tilewright.tir.schedule.traces.random_state import RandomState
from tilewright.tir.schedule.tree import Edit, FunctionTree


@sampling
def sample_categorical(
    tree: FunctionTree,
    random: RandomState,
    candidates: list[Number],
    probs: list[float],
    decision: int | None = None,
) -> Edit:
    """Choose one of several numbers at random.

    Args:
        candidates: the numbers.
        probs: how likely each one is; only their ratios count.
        decision: the position of the candidate to take, instead of choosing one.

    Returns:
        The number, as an `ExprRV`.

    Raises:
        ArgumentError: for probabilities that are not numbers.
        ArgumentValueError: for lists of different lengths, probabilities that are negative or all
            zero, or a decision that is not a position in the list.

    Example::

        sch = tir.Schedule(scale, seed=1)
        i, j = sch.get_loops("B")
        lanes = sch.sample_categorical([4, 8, 16], probs=[0.25, 0.5, 0.25])
        sch.split(j, [None, lanes])
    """
    weights = _weights(probs)
    if len(candidates) != len(weights):
        raise ArgumentValueError(
            f"sample_categorical: there are {len(candidates)} candidates, "
            f"but {len(weights)} probabilities"
        )
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        raise ArgumentValueError(
            f"sample_categorical: probabilities are not negative, and not all zero; got {probs}"
        )
    position = random.choice(weights) if decision is None else _position(decision, len(candidates))
    return Edit(tree.func, (candidates[position], position))


def _weights(probs: Any) -> list[float]:
    try:
        return [float(prob) for prob in probs]
    except (TypeError, ValueError):
        raise ArgumentError(
            f"sample_categorical: `probs` is a list of numbers, got {probs!r}"
        ) from None


def _position(decision: Any, size: int) -> int:
    position = as_integer(decision)
    if position is None:
        raise ArgumentValueError(
            f"sample_categorical: a decision is the position of a candidate, got {decision!r}"
        )
    if not 0 <= position < size:
        raise ArgumentValueError(
            f"sample_categorical: the decision {position} is not a position among {size} candidates"
        )
    return position
