"""The postprocessors for each kind of target, in the order in which they are applied."""

from __future__ import annotations

from tilewright.tune.postproc.postproc import POSTPROC_SETS, Postproc


@POSTPROC_SETS.add("llvm", "c")
def for_cpu() -> list[Postproc]:
    """The postprocessors for CPUs."""
    return []
