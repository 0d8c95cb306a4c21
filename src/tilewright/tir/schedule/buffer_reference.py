"""Buffers, storage scopes and index maps as users give them to primitives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, Var
from tilewright.tir.buffer import Buffer, BufferRegion, Range
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import no_inverse
from tilewright.tir.stmt import BlockRealize
from tilewright.tir.substitute import substitute
from tilewright.tir.tile_operations import fragment_of


def buffer_read(realize: BlockRealize, reference: Any) -> BufferRegion:
    """The region of the buffer that a block reads.

    Args:
        realize: the block.
        reference: the position in its reads, the name of a buffer, or a buffer.

    Raises:
        ScheduleError: if the block reads no such buffer.
    """
    return _find(realize, realize.block.reads, reference, "reads")


def buffer_written(realize: BlockRealize, reference: Any) -> BufferRegion:
    """The region of the buffer that a block writes; see `buffer_read`."""
    return _find(realize, realize.block.writes, reference, "writes")


def any_buffer(realize: BlockRealize, reference: Any) -> BufferRegion:
    """The region of a buffer that a block reads or writes.

    Args:
        realize: the block.
        reference: ``("read", index)`` or ``("write", index)``, the name of a buffer, or a buffer.

    Raises:
        ScheduleError: if the block accesses no such buffer.
    """
    if isinstance(reference, (list, tuple)) and len(reference) == 2:
        kind, index = reference
        if kind == "read":
            return buffer_read(realize, index)
        if kind == "write":
            return buffer_written(realize, index)
    if not isinstance(reference, (str, Buffer)):
        raise ScheduleError(
            'a buffer is given as ("read", index), ("write", index), by its name, or itself, got '
            f"{reference!r}",
            at=[realize],
        )
    regions = {r.buffer: r for r in (*realize.block.writes, *realize.block.reads)}
    return _find(realize, list(regions.values()), reference, "accesses")


def recorded_reference(realize: BlockRealize, region: BufferRegion) -> tuple[str, int]:
    """How a trace keeps which of the regions of a block is meant."""
    for kind, regions in (("write", realize.block.writes), ("read", realize.block.reads)):
        for position, item in enumerate(regions):
            if item is region:
                return kind, position
    raise KeyError("the region belongs to another block")


def recorded_index(parameter: str, realize: BlockRealize, region: BufferRegion) -> dict[str, int]:
    """The argument of a trace that says by position which buffer is meant."""
    return {parameter: recorded_reference(realize, region)[1]}


def _find(
    realize: BlockRealize, regions: Sequence[BufferRegion], reference: Any, verb: str
) -> BufferRegion:
    names = ", ".join(f"`{region.buffer.name}`" for region in regions) or "nothing"
    if isinstance(reference, int) and not isinstance(reference, bool):
        if not 0 <= reference < len(regions):
            raise ScheduleError(
                f"{{0}} {verb} {len(regions)} buffers, so there is none of index {reference}",
                at=[realize],
                hint=f"it {verb} {names}",
            )
        return regions[reference]
    for region in regions:
        if region.buffer is reference:
            return region
    if not isinstance(reference, (str, Buffer)):
        raise ScheduleError(
            f"a buffer is given by its index, its name, or itself, got {reference!r}", at=[realize]
        )
    name = reference if isinstance(reference, str) else reference.name
    named = [region for region in regions if region.buffer.name == name]
    if len(named) != 1:
        count = "no" if not named else "more than one"
        raise ScheduleError(
            f"{{0}} {verb} {count} buffer of the name `{name}`",
            at=[realize],
            hint=f"it {verb} {names}",
        )
    return named[0]


STORAGE_SCOPES: Final = (
    "global",
    "local",
    "shared",
    "shared.dyn",
    "warp",
    "wmma.matrix_a",
    "wmma.matrix_b",
    "wmma.accumulator",
    "texture",
    "amx.tmm",
)
"""The storage scopes that there are."""

_WITH_TAG: Final = ("global", "local", "shared")


def known_storage_scope(storage_scope: Any) -> str:
    """The name of a storage scope; the empty name means ``"global"``.

    A scope in memory that a device may divide further takes a tag: ``"global.vtcm"``.

    Raises:
        ScheduleError: for a name that is none.
    """
    if storage_scope == "":
        return "global"
    if storage_scope in STORAGE_SCOPES or fragment_of(str(storage_scope)) is not None:
        return storage_scope
    rank, dot, tag = str(storage_scope).partition(".")
    if rank in _WITH_TAG and dot and tag.isidentifier():
        return storage_scope
    raise ScheduleError(
        f"there is no storage scope {storage_scope!r}: known are {', '.join(STORAGE_SCOPES)}, and "
        f"{', '.join(_WITH_TAG)} followed by a tag, such as global.vtcm; fragments of other units "
        "have names such as m16n8k16.matrixA"
    )


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
