"""Rejects candidates that use more than the memory next to the vector unit of a Hexagon."""

from __future__ import annotations

from tilewright.error import TVMError
from tilewright.tir.schedule import Schedule
from tilewright.tune.postproc.functions import trees_of
from tilewright.tune.postproc.memory_use import allocated_bytes, without_blocks
from tilewright.tune.postproc.postproc import Postproc

SCOPE = "global.vtcm"


class VerifyVTCMLimit(Postproc):
    """Rejects a candidate that allocates more memory of the scope ``global.vtcm`` than there is.

    Args:
        vtcm_capacity: bytes of it; by default the attribute `vtcm-capacity` of the target, and
            without that one any number.
    """

    def __init__(self, vtcm_capacity: int | None = None) -> None:
        self.vtcm_capacity = vtcm_capacity

    def apply(self, sch: Schedule) -> bool:
        """Whether no function allocates more."""
        limit = self.vtcm_capacity or self.target.attrs.get("vtcm-capacity")
        if not limit:
            return True
        try:
            return all(
                allocated_bytes(without_blocks(tree.func).body, SCOPE) <= limit
                for tree in trees_of(sch)
            )
        except TVMError:
            return False
