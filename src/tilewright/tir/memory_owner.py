"""Who has memory of a storage scope for itself: a thread, a warp, a block of threads, or nobody."""

from __future__ import annotations

import enum
from typing import Final

from tilewright.tir.tile_operations import fragment_of


class MemoryOwner(enum.Enum):
    """What has its own piece of an allocation."""

    THREAD = "thread"
    WARP = "warp"
    BLOCK = "block"
    DEVICE = "device"


_OWNERS: Final = {
    "local": MemoryOwner.THREAD,
    "warp": MemoryOwner.WARP,
    "shared": MemoryOwner.BLOCK,
}


def owner_of(scope: str) -> MemoryOwner:
    """Who has memory of `scope`, such as ``"shared"`` or ``"shared.dyn"``, for itself."""
    if fragment_of(scope) is not None:
        return MemoryOwner.WARP
    return _OWNERS.get(scope.partition(".")[0], MemoryOwner.DEVICE)
