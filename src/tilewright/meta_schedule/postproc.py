"""What happens to each candidate after its trace."""

from tilewright.tune.postproc import (
    DisallowDynamicLoop,
    Postproc,
    RewriteParallelVectorizeUnroll,
    RewriteReductionBlock,
)

PyPostproc = Postproc

__all__ = [
    "DisallowDynamicLoop",
    "Postproc",
    "PyPostproc",
    "RewriteParallelVectorizeUnroll",
    "RewriteReductionBlock",
]
