"""Reductions over some dimensions.

The names hide Python's own, as they do in numpy.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.arithmetic import equal, logical_or, select
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT32, INT64, DType
from tilewright.ir.expr import Expr, IntImm, is_const_int
from tilewright.te import reductions
from tilewright.te.compute import compute
from tilewright.te.elementwise import same_extent
from tilewright.te.reducer import reduce_axis
from tilewright.te.tensor import Tensor, as_shape, shape_text, zero_like
from tilewright.tir.expr import IterVar
from tilewright.tir.op.dtypes import max_value
from tilewright.topi import tag
from tilewright.topi.operands import accumulator, in_dtype, normalized_axes, or_neutral


class _Reduction:
    """The shape and the indices of a reduction of `data`."""

    def __init__(self, owner: str, data: Tensor, axis: Any, keepdims: bool) -> None:
        self.data, self.axes = data, normalized_axes(owner, axis, data.ndim)
        self.reduced = {
            n: reduce_axis((zero_like(data.shape[n]), data.shape[n]), f"k{n}")
            for n in sorted(self.axes)
        }
        kept = [n for n in range(data.ndim) if n not in self.reduced]
        self._position = {n: n if keepdims else place for place, n in enumerate(kept)}
        self.shape = tuple(
            const(1, extent.dtype) if n in self.reduced else extent
            for n, extent in enumerate(data.shape)
            if keepdims or n not in self.reduced
        )

    @property
    def iterators(self) -> list[IterVar]:
        """The reduction axes."""
        return list(self.reduced.values())

    def indices(self, outer: Sequence[Any]) -> list[Any]:
        """The indices of the elements of `data` that are reduced into the one at `outer`."""
        return [
            self.reduced[n].var if n in self.reduced else outer[self._position[n]]
            for n in range(self.data.ndim)
        ]

    def linear_index(self, dtype: DType) -> Expr:
        """The place among the reduced dimensions, in row-major order, of a wide enough dtype."""
        place: Expr = const(0, dtype)
        for n, iterator in self.reduced.items():
            place = place * cast(dtype, self.data.shape[n]) + cast(dtype, iterator.var)
        return place


def _reduce(
    name: str, reducer: Callable[..., Any], data: Tensor, axis: Any, keepdims: bool
) -> Tensor:
    loops = _Reduction(f"topi.{name}", data, axis, keepdims)
    if not loops.reduced:
        return compute(data.shape, lambda *i: data(*i), f"T_{name}", tag.ELEMWISE)
    reduced = compute(
        loops.shape,
        lambda *outer: reducer(data(*loops.indices(outer)), axis=loops.iterators),
        f"{data.name}_red",
        tag.COMM_REDUCE,
    )
    neutral = reduced.op.reduction.combiner.identity_element[0]
    return or_neutral(reduced, [data.shape[n] for n in loops.reduced], neutral, f"T_{name}")


def _accumulate(
    name: str, reducer: Callable[..., Any], data: Tensor, axis: Any, keepdims: bool
) -> Tensor:
    """A sum or product, of short floats in float32."""
    wide = accumulator(data.dtype)
    if wide is data.dtype:
        return _reduce(name, reducer, data, axis, keepdims)
    total = _reduce(name, lambda x, axis: reducer(cast(wide, x), axis=axis), data, axis, keepdims)
    return compute(total.shape, lambda *i: cast(data.dtype, total(*i)), f"T_{name}", tag.ELEMWISE)


def sum(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The sum along `axis`: a dimension, several, or None for all of them."""
    return _accumulate("sum", reductions.sum, data, axis, keepdims)


def prod(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The product along `axis`: a dimension, several, or None for all of them."""
    return _accumulate("prod", reductions.prod, data, axis, keepdims)


def max(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element along `axis`; NaN if there is a NaN."""
    return _reduce("max", reductions.max, data, axis, keepdims)


def min(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element along `axis`; NaN if there is a NaN."""
    return _reduce("min", reductions.min, data, axis, keepdims)


def all(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along `axis` are true."""
    return _reduce("all", reductions.all, _truth("all", data), axis, keepdims)


def any(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether some element along `axis` is true."""
    return _reduce("any", reductions.any, _truth("any", data), axis, keepdims)


def _truth(name: str, data: Tensor) -> Tensor:
    if not data.dtype.is_bool:
        raise ArgumentError(
            f"topi.{name} needs bool elements, got {data.dtype!s}: compare with 0 first"
        )
    return data


def argmax(
    data: Tensor,
    axis: Any = None,
    keepdims: bool = False,
    select_last_index: bool = False,
    dtype: str = "int32",
) -> Tensor:
    """Where the largest element along `axis` is, as numpy's `argmax` finds it.

    Of equal elements the first one counts. A NaN counts as the largest, so the result is the place
    of the first NaN if there is one. No schedule changes that: the extremum and the least place of
    it are two reductions whose values may be combined in any order.

    Args:
        data: the tensor.
        axis: a dimension, several, or None for all of them; of several, the place is the
            row-major one.
        keepdims: whether the result has dimensions of extent 1 in place of those in `axis`.
        select_last_index: whether the last of equal elements counts, and the last NaN.
        dtype: of the result.
    """
    return _place("argmax", data, axis, keepdims, select_last_index, dtype)


def argmin(
    data: Tensor,
    axis: Any = None,
    keepdims: bool = False,
    select_last_index: bool = False,
    dtype: str = "int32",
) -> Tensor:
    """Where the smallest element along `axis` is, or the first NaN; see `argmax`."""
    return _place("argmin", data, axis, keepdims, select_last_index, dtype)


def _place(name: str, data: Tensor, axis: Any, keepdims: bool, last: bool, dtype: str) -> Tensor:
    """The extremum of each row, then the first (or last) place where it is.

    Both are reductions of plain numbers, which machines do many at a time; pairs of a number and
    its place they compare one after the other.
    """
    target = DType(dtype)
    extremum = max if name == "argmax" else min
    best = extremum(data, axis, keepdims=True)
    loops = _Reduction(f"topi.{name}", data, axis, keepdims)
    counter = _counter(loops)
    nowhere = const(-1, counter) if last else max_value(counter)
    reducer = reductions.max if last else reductions.min

    def place(*outer: Any) -> Expr:
        indices = loops.indices(outer)
        value = data(*indices)
        kept = (
            zero_like(data.shape[n]) if n in loops.reduced else i for n, i in enumerate(indices)
        )
        found = value == best(*kept)
        if data.dtype.is_float:  # the extremum is NaN where there is a NaN
            found = logical_or(found, value != value)
        here = select(found, loops.linear_index(counter), nowhere)
        return reducer(here, axis=loops.iterators)

    if not loops.reduced:
        return compute(data.shape, lambda *_: const(0, target), f"T_{name}", tag.INJECTIVE)
    places = compute(loops.shape, place, f"{data.name}_red_temp", tag.COMM_REDUCE_IDX)
    if target is counter:
        return places
    return compute(places.shape, lambda *i: cast(target, places(*i)), f"T_{name}", tag.ELEMWISE)


def _counter(loops: _Reduction) -> DType:
    """The narrowest type of positions."""
    extents = [loops.data.shape[n] for n in loops.reduced]
    count = 1
    for extent in extents:
        count *= extent.value if isinstance(extent, IntImm) else INT32.max_int
    return INT32 if count < INT32.max_int else INT64


def collapse_sum(data: Tensor, target_shape: Sequence[Any]) -> Tensor:
    """The sum of what broadcasting from `target_shape` to the shape of `data` made copies of.

    A symbolic extent of `target_shape` that is not known to be that of `data` is taken for it
    unless it is 1 when the program runs.

    Raises:
        ShapeError: if `target_shape` does not broadcast to the shape of `data`.
    """
    target = as_shape(target_shape, "topi.collapse_sum")
    offset = data.ndim - len(target)
    pairs = list(itertools.zip_longest(reversed(data.shape), reversed(target)))
    summed = [data.ndim - 1 - n for n, (a, b) in enumerate(pairs) if _is_collapsed(a, b)]
    others = [pair for n, pair in enumerate(pairs) if data.ndim - 1 - n not in summed]
    if offset < 0 or [1 for pair in others if not _may_agree(*pair)]:
        raise ShapeError(
            f"topi.collapse_sum: {shape_text(target)} does not broadcast to "
            f"{shape_text(data.shape)}"
        )
    if [1 for pair in others if not same_extent(*pair)]:
        return _collapse_unknown(data, target)
    if not summed:
        return data
    total = sum(data, summed, keepdims=True)
    if offset == 0:
        return total
    return compute(
        target,
        lambda *i: total(*([zero_like(data.shape[0])] * offset), *i),
        "T_collapse_sum",
        tag.INJECTIVE,
    )


def _may_agree(extent: Expr | None, wanted: Expr | None) -> bool:
    if extent is None or wanted is None:
        return False
    return same_extent(extent, wanted) or not (is_const_int(extent) and is_const_int(wanted))


def _collapse_unknown(data: Tensor, target: Sequence[Expr]) -> Tensor:
    """`collapse_sum` where the program decides which dimensions of `target` have extent 1."""
    offset = data.ndim - len(target)
    one = [const(1, extent.dtype) for extent in data.shape]
    # For each dimension, whether it is summed.
    is_summed = [
        const(True, "bool") if n < offset else equal(target[n - offset], 1)
        for n in range(data.ndim)
    ]
    extents = [select(*choice) for choice in zip(is_summed, data.shape, one, strict=True)]
    steps = [reduce_axis((zero_like(e), e), f"k{n}") for n, e in enumerate(extents)]
    wide = accumulator(data.dtype)

    def total(*outer: Any) -> Any:
        kept = [*([zero_like(data.shape[0])] * offset), *outer]
        place = [
            select(summed, step.var, cast(step.var.dtype, index))
            for summed, step, index in zip(is_summed, steps, kept, strict=True)
        ]
        return reductions.sum(cast(wide, data(*place)), axis=steps)

    sums = compute(target, total, f"{data.name}_red", tag.COMM_REDUCE)
    return in_dtype(or_neutral(sums, extents), data.dtype)


def _is_collapsed(extent: Expr | None, wanted: Expr | None) -> bool:
    if extent is None:
        return False
    return wanted is None or (is_const_int(wanted, 1) and not is_const_int(extent, 1))
