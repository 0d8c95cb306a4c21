"""The same elements in another shape, order or layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.arithmetic import floordiv, floormod, logical_not, minimum, select
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, is_const_int
from tilewright.te.compute import compute
from tilewright.te.tensor import Tensor, shape_text, zero_like
from tilewright.tir.index_map import IndexMap
from tilewright.tir.op.control import if_then_else
from tilewright.tir.substitute import substitute
from tilewright.topi import tag
from tilewright.topi.operands import normalized_axes, normalized_axis, nth
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
    if not extents:
        return compute((0,), lambda i: const(0, dtype), "T_shape", tag.INJECTIVE)
    return compute((len(extents),), lambda i: nth(extents, i), "T_shape", tag.INJECTIVE)


def ndarray_size(array: Tensor, dtype: str = "int32") -> Tensor:
    """How many elements `array` has, as a tensor without dimensions."""
    size = number_of_elements(array.shape).astype(dtype)
    return compute((), lambda: size, "ndarray_size", tag.INJECTIVE)


def layout_transform(
    array: Tensor, src_layout: str, dst_layout: str, schedule_rule: str = "None"
) -> Tensor:
    """`array` in another layout, such as ``"NCHW"`` to ``"NCHW16c"``.

    A capital letter is a dimension; a number and the small letter is the part of that extent that
    is split from it. Elements that fill up the last part are zeros.
    """
    del schedule_rule
    source, target = _parse_layout(src_layout), _parse_layout(dst_layout)
    if len(source) != array.ndim:
        raise ShapeError(
            f"topi.layout_transform: layout {src_layout!r} has {len(source)} dimensions, the "
            f"tensor has {array.ndim}"
        )
    letters = {letter.upper() for letter, _ in source}
    if letters != {letter.upper() for letter, _ in target}:
        raise ArgumentError(
            f"topi.layout_transform: layouts {src_layout!r} and {dst_layout!r} have different "
            "dimensions"
        )
    extents = dict(zip((letter for letter, _ in source), array.shape, strict=True))
    whole = {letter: _whole_extent(letter, extents) for letter in letters}
    parts = {letter: factor for letter, factor in target if letter.islower()}
    shape = [_layout_extent(letter, factor, whole, parts) for letter, factor in target]

    def element(*i: Expr) -> Expr:
        at = dict(zip((letter for letter, _ in target), i, strict=True))
        place = {
            letter: at[letter] * parts[letter.lower()] + at[letter.lower()]
            if letter.lower() in parts else at[letter]
            for letter in letters
        }  # fmt: skip
        value = array(*(_layout_index(letter, place, extents) for letter, _ in source))
        outside = [
            place[letter] >= whole[letter]
            for letter in sorted(letters)
            if letter.lower() in parts and not _divides(parts[letter.lower()], whole[letter])
        ]
        for condition in outside:
            value = if_then_else(logical_not(condition), value, const(0, array.dtype))
        return value

    return compute(shape, element, "T_layout_trans", tag.INJECTIVE)


def _parse_layout(layout: str) -> list[tuple[str, int]]:
    """The dimensions of a layout: a letter, and how large it is for a small one."""
    found, number = [], ""
    for sign in layout:
        if sign.isdigit():
            number += sign
            continue
        if not sign.isalpha() or bool(number) != sign.islower():
            raise ArgumentError(
                f"topi.layout_transform: layout {layout!r}: capital letters stand alone, small "
                "ones after a number, as in 'NCHW16c'"
            )
        found.append((sign, int(number or 0)))
        number = ""
    names = [letter for letter, _ in found]
    lonely = [n for n in names if n.islower() and n.upper() not in names]
    if number or lonely or len(set(names)) != len(names):
        raise ArgumentError(f"topi.layout_transform: {layout!r} is not a layout")
    return found


def _whole_extent(letter: str, extents: dict[str, Expr]) -> Expr:
    part = extents.get(letter.lower())
    return extents[letter] if part is None else extents[letter] * part


def _layout_extent(letter: str, factor: int, whole: dict[str, Expr], parts: dict[str, int]) -> Expr:
    if letter.islower():
        return const(factor, whole[letter.upper()].dtype)
    part = parts.get(letter.lower())
    extent = whole[letter]
    return extent if part is None else floordiv(extent + (part - 1), part)


def _layout_index(letter: str, place: dict[str, Expr], extents: dict[str, Expr]) -> Expr:
    part = extents.get(letter.lower())
    if part is None:
        return place[letter]
    if letter.islower():
        return floormod(place[letter.upper()], part)
    return floordiv(place[letter], part)


def _divides(part: int, extent: Expr) -> bool:
    return Analyzer().can_prove(floormod(extent, part) == 0)


def transform_by_map(
    a: Tensor, index_map: IndexMap, pad_value: Any, shape: Sequence[Expr]
) -> Tensor:
    """`a` in the layout of an index map.

    Args:
        a: the tensor.
        index_map: from the indices of `a` to those of the result.
        pad_value: value of elements of the result without a source; None for 0.
        shape: of the result.
    """
    inverse, padding = index_map.non_surjective_inverse(a.shape)

    def element(*i: Expr) -> Expr:
        value = a(*inverse.map_indices(i))
        places = dict(zip(inverse.initial_indices, i, strict=True))
        outside = substitute(padding, places)
        return if_then_else(outside, const(pad_value or 0, a.dtype), value)

    return compute(shape, element, "T_layout_trans", tag.INJECTIVE)
