"""The names of storage scopes: where a buffer lives."""

from __future__ import annotations

from typing import Any, Final

from tilewright.tir.schedule.errors import ScheduleError

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
