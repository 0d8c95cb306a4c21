"""Index maps as users give them to primitives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, Var
from tilewright.tir.buffer import Range
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import no_inverse
from tilewright.tir.substitute import substitute


def as_index_map(given: Any, ndim: int) -> IndexMap:
    """An index map, or the one that a Python function describes.

    Args:
        given: the index map or function.
        ndim: how many indices it must take.

    Raises:
        ScheduleError: for something else, or another number of indices.
    """
    if not isinstance(given, IndexMap):
        if not callable(given):
            raise ScheduleError(f"expected an index map or a function, got {given!r}")
        try:
            given = IndexMap.from_func(given, ndim)
        except (ArgumentError, ArgumentValueError) as error:
            raise ScheduleError(str(error)) from None
    if len(given.initial_indices) != ndim:
        raise ScheduleError(
            f"the index map takes {len(given.initial_indices)} indices, where there are {ndim}"
        )
    return given


def with_free_variables(index_map: IndexMap, values: Mapping[Any, Any]) -> IndexMap:
    """The map with variables that it mentions and does not define replaced.

    ``lambda i, j: (i // v, j, i % v)``, where a schedule has sampled ``v``, becomes a layout.
    """
    mentioned = {var: values[var] for var in index_map.free_variables() if var in values}
    if not mentioned:
        return index_map
    inverse = index_map.inverse_index_map
    return index_map.replace(
        final_indices=tuple(
            Analyzer().simplify(substitute(index, mentioned)) for index in index_map.final_indices
        ),
        inverse_index_map=None if inverse is None else with_free_variables(inverse, mentioned),
    )


def require_true_inverse(index_map: IndexMap, shape: Sequence[Expr]) -> None:
    """Refuse an inverse that was given and is not known to lead back to every old index."""
    if index_map.inverse_index_map is None:
        return
    analyzer = Analyzer()
    ranges = index_map.ranges_of(list(shape))
    index_map, ranges = index_map.aligned_with(ranges)
    assert index_map.inverse_index_map is not None
    for var, domain in zip(index_map.initial_indices, ranges, strict=True):
        analyzer.bind(var, domain)
    again = index_map.inverse_index_map.map_indices(index_map.final_indices, analyzer)
    if not all(map(analyzer.can_prove_equal, again, index_map.initial_indices)):
        elements = dict(zip(index_map.initial_indices, ranges, strict=True))
        raise ScheduleError(
            "the inverse_index_map of the index map is not known to be its inverse",
            counterexample=partial(no_inverse, elements, index_map.final_indices, again),
        )


def elements_of(index_map: IndexMap, shape: Sequence[Expr]) -> dict[Var, Range]:
    """The initial indices of a map with their ranges, for a buffer of that shape."""
    return {
        var: Range.from_min_extent(const(0, extent.dtype), extent)
        for var, extent in zip(index_map.initial_indices, shape, strict=True)
    }
