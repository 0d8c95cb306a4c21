"""Tensors in another layout: dimensions split, merged and reordered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.arithmetic import floordiv, floormod, logical_not
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr
from tilewright.te.compute import compute
from tilewright.te.tensor import Tensor
from tilewright.tir.index_map import IndexMap
from tilewright.tir.op.control import if_then_else
from tilewright.tir.substitute import substitute
from tilewright.topi import tag


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
