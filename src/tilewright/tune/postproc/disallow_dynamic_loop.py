"""Rejects candidates with loops of unknown lengths."""

from __future__ import annotations

from tilewright.tir.schedule import Schedule
from tilewright.tune.postproc.functions import all_loops
from tilewright.tune.postproc.postproc import Postproc
from tilewright.tune.rule.block_facts import constant


class DisallowDynamicLoop(Postproc):
    """Rejects a candidate in which the extent of a loop is not a constant."""

    def apply(self, sch: Schedule) -> bool:
        """Whether all extents are constants."""
        return all(constant(loop.extent) is not None for loop in all_loops(sch))
