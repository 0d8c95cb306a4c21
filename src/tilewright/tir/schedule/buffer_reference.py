"""Buffers and storage scopes as users name them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.tir.buffer import Buffer, BufferRegion
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.stmt import BlockRealize


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
    "m16n8k8.matrixA",
    "m16n8k8.matrixB",
    "m16n8k8.matrixC",
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
    if storage_scope in STORAGE_SCOPES:
        return storage_scope
    rank, dot, tag = str(storage_scope).partition(".")
    if rank in _WITH_TAG and dot and tag.isidentifier():
        return storage_scope
    raise ScheduleError(
        f"there is no storage scope {storage_scope!r}: known are {', '.join(STORAGE_SCOPES)}, and "
        f"{', '.join(_WITH_TAG)} followed by a tag, such as global.vtcm"
    )
