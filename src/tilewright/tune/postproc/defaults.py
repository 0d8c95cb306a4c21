"""The postprocessors for each kind of target, in the order in which they are applied."""

from __future__ import annotations

from tilewright.tune.postproc.disallow_dynamic_loop import DisallowDynamicLoop
from tilewright.tune.postproc.postproc import POSTPROC_SETS, Postproc
from tilewright.tune.postproc.rewrite_parallel_vectorize_unroll import (
    RewriteParallelVectorizeUnroll,
)
from tilewright.tune.postproc.rewrite_reduction_block import RewriteReductionBlock


@POSTPROC_SETS.add("llvm", "c")
def for_cpu() -> list[Postproc]:
    """The postprocessors for CPUs."""
    return [
        DisallowDynamicLoop(),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
    ]
