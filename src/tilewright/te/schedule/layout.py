"""Layouts of tensors that a schedule chooses: loops in their order, buffers of their shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentValueError, TEScheduleError
from tilewright.ir.expr import Expr, Var
from tilewright.te.schedule.relation import Ranges, Relation, domain
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.index_map import IndexMap
from tilewright.tir.substitute import substitute

AXIS_SEPARATOR = IndexMap.AXIS_SEPARATOR
"""Between the results of a function for `Stage.transform_layout`: a physical axis starts here."""


class Layout:
    """Where the elements of a tensor are.

    Attributes:
        index_map: from indices of the tensor to indices of the buffer.
        separators: dimensions at which a physical axis starts.
    """

    def __init__(self, index_map: IndexMap, separators: list[int]) -> None:
        self.index_map, self.separators = index_map, separators

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `Stage.transform_layout` that give this layout."""
        separators = {"axis_separators": self.separators} if self.separators else {}
        return {"mapping_function": self.index_map, **separators}


class Transform(Relation):
    """The axes of an operation in another layout.

    Raises:
        ArgumentValueError: if two values of the axes have the same place, or that is not known.
    """

    __slots__ = ("_inverse", "_map", "children", "parents")
    verb = "put into another layout"

    def __init__(self, axes: tuple[IterVar, ...], layout: Layout) -> None:
        self.parents, self._map = axes, layout.index_map
        ranges = [domain(axis) for axis in axes]
        self._inverse, _ = self._map.non_surjective_inverse(ranges)
        children = []
        for position, (index, extent) in enumerate(
            zip(
                self._map.final_indices,
                self._map.map_shape([dom.extent for dom in ranges]),
                strict=True,
            )
        ):
            name = index.name if isinstance(index, Var) else f"axis{position}"
            var = Var(name, extent.dtype)
            children.append(IterVar(Range.from_extent(extent), var, IterType.DATA_PAR))
        self.children = tuple(children)

    def child_ranges(self, ranges: Ranges) -> tuple[Range, ...]:
        return tuple(domain(child) for child in self.children)

    def parent_values(self, children: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        places = dict(zip(self._inverse.initial_indices, children, strict=True))
        return tuple(substitute(index, places) for index in self._inverse.final_indices)

    def child_values(self, parents: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        return tuple(self._map.map_indices(list(parents)))

    def guards(self, parents: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        doms = [domain(axis) for axis in self.parents]
        lows = [value >= dom.min for value, dom in zip(parents, doms, strict=True)]
        highs = [value < dom.min + dom.extent for value, dom in zip(parents, doms, strict=True)]
        return (*lows, *highs)


def layout_of(function: Any, ndim: int, separators: Sequence[int]) -> Layout:
    """The layout that an index map, or a Python function of `ndim` indices, describes.

    Physical axes start at the dimensions `separators`, besides those that a function separates.
    """
    if isinstance(function, IndexMap):
        index_map, found = function, []
    else:
        index_map, found = IndexMap.from_func_with_separators(function, ndim)
    return Layout(index_map, sorted({*found, *separators}))


def transform_of(error: TEScheduleError, axes: tuple[IterVar, ...], layout: Layout) -> Transform:
    """The relation of a layout; a layout without an inverse is refused by `error`."""
    try:
        return Transform(axes, layout)
    except ArgumentValueError as reason:
        raise TEScheduleError(f"{error}: {reason}") from None
