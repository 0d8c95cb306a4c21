"""Index maps as users give them to primitives."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.errors import ScheduleError


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
