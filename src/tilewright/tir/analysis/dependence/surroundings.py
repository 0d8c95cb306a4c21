"""What blocks define for the accesses inside of them: memory, views, iterators."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tilewright.ir.expr import Expr, Var
from tilewright.tir.buffer import Buffer, BufferRegion
from tilewright.tir.expr import IterType, IterVar

EFFECTS: Final = "effects"
"""Stands for the memory of calls that may do anything: they keep their order."""

ANYTHING: Final = "memory behind an unknown pointer"
"""Stands for memory that may be any other memory."""

Memory = Any
"""A pointer variable, `EFFECTS` or `ANYTHING`."""


class View(NamedTuple):
    """A buffer that is a part of another one, from `offsets` on."""

    source: Buffer
    offsets: tuple[Expr, ...]
    regular: bool
    """Whether dimensions of the view are the last dimensions of the source."""


class Surroundings(NamedTuple):
    """What enclosing blocks define for a statement.

    Attributes:
        iterators: the iterators that name an instance, outermost first.
        versions: for memory that an enclosing block allocates, the number of iterators that tell
            one allocation from another.
        views: the views that enclosing blocks make.
    """

    iterators: tuple[Var, ...]
    versions: Mapping[Memory, int]
    views: Mapping[Buffer, View]


def view_of(buffer: Buffer, source: BufferRegion) -> View:
    """The view `buffer` of a region."""
    lead = len(source.region) - len(buffer.shape)
    regular = lead >= 0 and all(
        getattr(item.extent, "value", None) == 1 for item in source.region[:lead]
    )
    return View(source.buffer, tuple(item.min for item in source.region), regular)


@functools.lru_cache(maxsize=4096)
def start_conditions(iterators: tuple[IterVar, ...]) -> tuple[tuple[Expr, bool], ...]:
    """That all reduction iterators are at the start of their domains, as `init` needs.

    The result is the same object again for the same iterators.
    """
    return tuple(
        (item.var.equal(item.dom.min), False)
        for item in iterators
        if item.iter_type is IterType.COMM_REDUCE and item.dom is not None
    )


def layout_variables(view: Buffer) -> dict[Var, None]:
    """The variables that a view defines: nothing is known about them."""
    layout = (*view.shape, *view.strides, view.elem_offset)
    return {item: None for item in layout if isinstance(item, Var)}
