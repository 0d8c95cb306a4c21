"""Several tensors as one, one as several, and copies side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.arithmetic import floordiv, floormod, maximum, minimum, select
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.expr import Expr, IntImm, is_const_int
from tilewright.te.compute import compute
from tilewright.te.elementwise import same_extent
from tilewright.te.tensor import Tensor, extent_text, shape_text, zero_like
from tilewright.tir.op.control import if_then_else
from tilewright.topi import tag
from tilewright.topi.operands import as_int, normalized_axis, nth
from tilewright.topi.reshape import number_of_elements, reshape


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """The tensors one after the other along `axis`."""
    tensors = list(a_tuple)
    if not tensors:
        raise ArgumentError("topi.concatenate: there are no tensors")
    along = normalized_axis("topi.concatenate", axis, tensors[0].ndim)
    _check_alike("topi.concatenate", tensors, along)
    if len(tensors) == 1:
        return tensors[0]
    ends = [tensors[0].shape[along]]
    for tensor in tensors[1:]:
        ends.append(Analyzer().simplify(ends[-1] + tensor.shape[along]))

    def element(*i: Expr) -> Expr:
        def among(first: int, last: int) -> Expr:
            """The element, which is in one of some tensors: halved, so that nothing gets deep."""
            if last - first == 1:
                place = i[along] - ends[first - 1] if first else i[along]
                return tensors[first](*i[:along], place, *i[along + 1 :])
            middle = (first + last) // 2
            is_before = i[along] < ends[middle - 1]
            return if_then_else(is_before, among(first, middle), among(middle, last))

        return among(0, len(tensors))

    first = tensors[0].shape
    return compute(
        (*first[:along], ends[-1], *first[along + 1 :]), element, "T_concat", tag.INJECTIVE
    )


def _check_alike(owner: str, tensors: Sequence[Tensor], along: int | None) -> None:
    """Require that dtypes and extents agree, but for the extent of dimension `along`."""
    first = tensors[0]
    for n, tensor in enumerate(tensors):
        if tensor.dtype is not first.dtype or tensor.ndim != first.ndim:
            raise ShapeError(
                f"{owner}: tensor {n} of shape {shape_text(tensor.shape)} and dtype "
                f"{tensor.dtype!s} does not fit tensor 0 of shape {shape_text(first.shape)} and "
                f"dtype {first.dtype!s}"
            )
        for d, (one, other) in enumerate(zip(tensor.shape, first.shape, strict=True)):
            if d != along and not same_extent(one, other):
                raise ShapeError(
                    f"{owner}: tensor {n} of shape {shape_text(tensor.shape)} and tensor 0 of "
                    f"shape {shape_text(first.shape)} differ in dimension {d}"
                )


def stack(a_tuple: Sequence[Tensor], axis: int) -> Tensor:
    """The tensors one after the other along a new dimension `axis`."""
    tensors = list(a_tuple)
    if not tensors:
        raise ArgumentError("topi.stack: there are no tensors")
    _check_alike("topi.stack", tensors, None)
    along = normalized_axis("topi.stack", axis, tensors[0].ndim + 1)
    # Where neighbours come from different tensors, reading all of them and choosing is a shuffle of
    # vectors; otherwise it would read unused elements.
    interleaves = along == tensors[0].ndim and len(tensors) <= 16
    choose = select if interleaves else if_then_else

    def element(*i: Expr) -> Expr:
        place = (*i[:along], *i[along + 1 :])
        return nth([tensor(*place) for tensor in tensors], i[along], choose)

    first = tensors[0].shape
    shape = (*first[:along], len(tensors), *first[along:])
    return compute(shape, element, "T_stack", tag.INJECTIVE)


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """The parts of `ary` along `axis`.

    Args:
        ary: the tensor.
        indices_or_sections: number of parts of the same size (the last may be smaller); or
            where the parts begin, but for the first.
        axis: the dimension.
    """
    along = normalized_axis("topi.split", axis, ary.ndim)
    bounds = split_bounds("topi.split", ary.shape[along], indices_or_sections)
    return [_part(ary, along, begin, end) for begin, end in bounds]


def split_bounds(
    owner: str, extent: Expr, indices_or_sections: Any, analyzer: Analyzer | None = None
) -> list[tuple[Expr, Expr]]:
    """Where the parts of a dimension begin and end.

    A part is empty where the next one begins before it does, as with ``numpy.split``.
    """
    analyzer = analyzer or Analyzer()
    if not isinstance(indices_or_sections, (tuple, list)):
        sections = as_int(owner, "indices_or_sections", indices_or_sections)
        if sections <= 0:
            raise ArgumentError(f"{owner}: the number of parts is positive, got {sections}")
        size = analyzer.simplify(floordiv(extent + (sections - 1), sections))
        starts = [analyzer.simplify(size * n) for n in range(sections)]
    else:
        starts = [const(0, extent.dtype)]
        for index in map(as_expr, indices_or_sections):
            if not index.dtype.is_integral or index.dtype.is_bool:
                raise ArgumentError(f"{owner}: parts begin at integers, got {index!r}")
            starts.append(cast(extent.dtype, index))
    inside = [_limited(owner, start, extent, analyzer) for start in starts]
    return [
        (begin, end if analyzer.can_prove(begin <= end) else analyzer.simplify(maximum(begin, end)))
        for begin, end in pairwise([*inside, extent])
    ]


def _limited(owner: str, start: Expr, extent: Expr, analyzer: Analyzer) -> Expr:
    if is_const_int(start) and start.value < 0:  # type: ignore[attr-defined]
        raise ArgumentError(f"{owner}: a part begins at {extent_text(start)}, which is negative")
    if analyzer.can_prove(start <= extent):
        return start
    return analyzer.simplify(minimum(start, extent))


def _part(ary: Tensor, along: int, begin: Expr, end: Expr) -> Tensor:
    extent = Analyzer().simplify(end - begin)
    shape = (*ary.shape[:along], extent, *ary.shape[along + 1 :])
    return compute(
        shape,
        lambda *i: ary(*i[:along], i[along] + begin, *i[along + 1 :]),
        "T_split_sections",
        tag.INJECTIVE,
    )


def repeat(a: Tensor, repeats: int, axis: int | None = None) -> Tensor:
    """Each element `repeats` times along `axis`; of all elements in a row if that is None."""
    if axis is None:
        a, axis = reshape(a, (number_of_elements(a.shape),)), 0
    along = normalized_axis("topi.repeat", axis, a.ndim)
    times = as_int("topi.repeat", "repeats", repeats)
    if times < 0:
        raise ArgumentError(f"topi.repeat: repeats is {times}, which is negative")
    shape = (*a.shape[:along], a.shape[along] * times, *a.shape[along + 1 :])
    return compute(
        shape,
        lambda *i: a(*i[:along], floordiv(i[along], max(times, 1)), *i[along + 1 :]),
        "T_repeat",
        tag.BROADCAST,
    )


def tile(a: Tensor, reps: Any) -> Tensor:
    """`a` side by side with itself: ``reps[n]`` times along dimension n, counted from the last."""
    listed = reps if isinstance(reps, (tuple, list)) else [reps]
    times = [cast("int64", as_expr(r)) for r in listed]
    rank = max(a.ndim, len(times))
    one = const(1, "int64")
    times = [one] * (rank - len(times)) + times
    extents = [one] * (rank - a.ndim) + list(a.shape)
    shape = [
        extent if is_const_int(r, 1) else Analyzer().simplify(extent * r)
        for extent, r in zip(extents, times, strict=True)
    ]

    def element(*i: Expr) -> Expr:
        used = list(zip(i, times, extents, strict=True))[rank - a.ndim :]
        return a(*(_tiled(index, r, extent) for index, r, extent in used))

    return compute(shape, element, "T_tile", tag.BROADCAST)


def _tiled(index: Expr, times: Expr, extent: Expr) -> Expr:
    if is_const_int(extent, 1):
        return zero_like(index)
    if is_const_int(times, 1):
        return index
    if isinstance(extent, IntImm) and extent.value == 0:
        return index
    return floormod(index, extent)
