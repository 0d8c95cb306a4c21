"""Different elements of a vector, in a few steps: it is sorted into runs of equal elements.

The number of runs is known when the beginnings of runs are counted; see `nonzero`.
"""

from __future__ import annotations

from typing import Any

from tilewright import te
from tilewright.ir.arithmetic import equal, logical_and, logical_not, maximum, not_equal, select
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64, DType
from tilewright.te import Tensor
from tilewright.topi import tag
from tilewright.topi.creation import full
from tilewright.topi.scan import cumsum
from tilewright.topi.scatter import scatter_elements
from tilewright.topi.sort import argsort


def run_order(data: Tensor) -> Tensor:
    """Where the elements are in order; equal ones stay in theirs."""
    if data.dtype.is_bool:
        data = te.compute(data.shape, lambda k: cast(DType("uint8"), data(k)), "T_bytes")
    return argsort(data, dtype="int64")


def run_begins(data: Tensor, order: Tensor, equal_nan: bool) -> Tensor:
    """Whether each element of `data`, in `order`, differs from the one before it.

    Args:
        data: the elements.
        order: see `run_order`.
        equal_nan: whether a NaN equals another one.
    """

    def begins(k: Any) -> Any:
        before, element = data(order(maximum(k - 1, 0))), data(order(k))
        differs = not_equal(before, element)
        if equal_nan and data.dtype.is_float:
            both = logical_and(te.isnan(before), te.isnan(element))
            differs = logical_and(differs, logical_not(both))
        return select(equal(k, 0), const(True), differs)

    return te.compute(data.shape, begins, "T_begins", tag.INJECTIVE)


def run_places(order: Tensor, starts: Tensor) -> Tensor:
    """Where the first element of each run is; `starts`, in `order`, are a matrix of one row."""
    return te.compute(
        (starts.shape[1],), lambda run: order(starts(0, run)), "T_first", tag.INJECTIVE
    )


def run_lengths(order: Tensor, starts: Tensor) -> Tensor:
    """How many elements each run has; see `run_places`."""
    number, count = order.shape[0], starts.shape[1]

    def length(run: Any) -> Any:
        following = starts(0, te.min(run + 1, count - 1))
        end = select(run + 1 < count, following, cast(INT64, number))
        return end - starts(0, run)

    return te.compute((count,), length, "T_lengths", tag.INJECTIVE)


def run_of_each(order: Tensor, begins: Tensor) -> Tensor:
    """The number of the run that each element is in."""
    counted = te.compute(begins.shape, lambda k: cast(INT64, begins(k)), "T_counted")
    number = cumsum(counted)
    runs = te.compute(begins.shape, lambda k: number(k) - 1, "T_runs", tag.ELEMWISE)
    return scatter_elements(full(begins.shape, INT64, 0), order, runs)
