"""The same elements in another shape or order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.error import ShapeError
from tilewright.ir.arithmetic import minimum, select
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, is_const_int
from tilewright.te.compute import compute
from tilewright.te.tensor import Tensor, shape_text, zero_like
from tilewright.topi import tag
from tilewright.topi.axes import normalized_axes, normalized_axis
from tilewright.topi.reshape import number_of_elements


def expand_dims(a: Tensor, axis: Any, num_newaxis: int = 1) -> Tensor:
    """`a` with new dimensions of extent 1.

    Args:
        a: the tensor.
        axis: where they are in the result; one place, or several.
        num_newaxis: how many there are, one after the other, if `axis` is one place.
    """
    if isinstance(axis, (tuple, list)):
        rank = a.ndim + len(axis)
        places = set(normalized_axes("topi.expand_dims", axis, rank))
    else:
        rank = a.ndim + num_newaxis
        first = normalized_axis("topi.expand_dims", axis, a.ndim + 1)
        places = set(range(first, first + num_newaxis))
    kept = [n for n in range(rank) if n not in places]
    one = const(1, a.shape[0].dtype if a.shape else "int32")
    shape = [one] * rank
    for n, extent in zip(kept, a.shape, strict=True):
        shape[n] = extent
    return compute(shape, lambda *i: a(*(i[n] for n in kept)), "T_expand_dims", tag.BROADCAST)


def expand_like(a: Tensor, shape_like: Tensor, axis: Any) -> Tensor:
    """`a` repeated along the dimensions `axis` of `shape_like`, which it does not have."""
    places = normalized_axes("topi.expand_like", axis, shape_like.ndim)
    kept = [n for n in range(shape_like.ndim) if n not in places]
    if len(kept) != a.ndim:
        raise ShapeError(
            f"topi.expand_like: {a.ndim} dimensions and {len(places)} axes do not make the "
            f"{shape_like.ndim} of shape {shape_text(shape_like.shape)}"
        )
    return compute(
        shape_like.shape, lambda *i: a(*(i[n] for n in kept)), "T_expand_like", tag.BROADCAST
    )


def squeeze(a: Tensor, axis: Any = None) -> Tensor:
    """`a` without the dimensions `axis`, which have extent 1; without all such if it is None."""
    if axis is None:
        dropped = {n for n, extent in enumerate(a.shape) if is_const_int(extent, 1)}
    else:
        dropped = set(normalized_axes("topi.squeeze", axis, a.ndim))
    for n in dropped:
        if is_const_int(a.shape[n]) and not is_const_int(a.shape[n], 1):
            raise ShapeError(f"topi.squeeze: dimension {n} of {shape_text(a.shape)} is not 1")
    shape = [extent for n, extent in enumerate(a.shape) if n not in dropped]

    def element(*i: Expr) -> Expr:
        rest = iter(i)
        return a(*(zero_like(e) if n in dropped else next(rest) for n, e in enumerate(a.shape)))

    return compute(shape, element, "T_squeeze", tag.INJECTIVE)


def transpose(a: Tensor, axes: Sequence[Any] | None = None) -> Tensor:
    """`a` with its dimensions in another order: dimension n of the result is ``axes[n]``."""
    order = permutation("topi.transpose", axes, a.ndim)
    back = [order.index(n) for n in range(a.ndim)]
    return compute(
        [a.shape[n] for n in order],
        lambda *ax: a(*(ax[n] for n in back)),
        "T_transpose",
        tag.INJECTIVE,
    )


def permutation(owner: str, axes: Sequence[Any] | None, ndim: int) -> tuple[int, ...]:
    """`axes` counted from the front, each dimension once; reversed if it is None."""
    if axes is None:
        return tuple(range(ndim))[::-1]
    order = normalized_axes(owner, list(axes), ndim)
    if len(order) != ndim:
        raise ShapeError(f"{owner}: {len(order)} axes for {ndim} dimensions; name each once")
    return order


def flip(a: Tensor, axis: Any = 0) -> Tensor:
    """`a` backwards along `axis`, one dimension or several."""
    turned = normalized_axes("topi.flip", axis, a.ndim)

    def element(*i: Expr) -> Expr:
        return a(*(a.shape[n] - 1 - index if n in turned else index for n, index in enumerate(i)))

    return compute(a.shape, element, "T_reverse", tag.INJECTIVE)


def reverse_sequence(
    a: Tensor, seq_lengths: Tensor, seq_axis: int = 1, batch_axis: int = 0
) -> Tensor:
    """`a` with the first ``seq_lengths[b]`` elements along `seq_axis` backwards.

    Args:
        a: the tensor.
        seq_lengths: how many elements are turned, for each index along `batch_axis`.
        seq_axis: the dimension of the sequences.
        batch_axis: the dimension that numbers them.
    """
    owner = "topi.reverse_sequence"
    along = normalized_axis(owner, seq_axis, a.ndim)
    batch = normalized_axis(owner, batch_axis, a.ndim)
    if seq_lengths.ndim != 1 or along == batch:
        raise ShapeError(f"{owner}: seq_lengths is a vector, and the two axes differ")

    def element(*i: Expr) -> Expr:
        length = seq_lengths(i[batch])
        length = minimum(length, a.shape[along].astype(length.dtype))
        place = i[along]
        turned = select(place < length, length - 1 - place, place)
        return a(*(turned if n == along else index for n, index in enumerate(i)))

    return compute(a.shape, element, "T_reverse_sequence", tag.INJECTIVE)


def shape(array: Tensor, dtype: str = "int32") -> Tensor:
    """The extents of `array` as a vector."""
    extents = [extent.astype(dtype) for extent in array.shape]

    def element(i: Expr) -> Expr:
        value: Expr = extents[-1]
        for n in range(len(extents) - 2, -1, -1):
            value = select(i == n, extents[n], value)
        return value

    if not extents:
        return compute((0,), lambda i: const(0, dtype), "T_shape", tag.INJECTIVE)
    return compute((len(extents),), element, "T_shape", tag.INJECTIVE)


def ndarray_size(array: Tensor, dtype: str = "int32") -> Tensor:
    """How many elements `array` has, as a tensor without dimensions."""
    size = number_of_elements(array.shape).astype(dtype)
    return compute((), lambda: size, "ndarray_size", tag.INJECTIVE)
