"""Mutators, which make similar candidates from one, and how often each is tried."""

from __future__ import annotations

from tilewright.tune.mutator.decisions import (
    MutateComputeLocation,
    MutateDecision,
    MutateThreadBinding,
    MutateTileSize,
    MutateUnroll,
)
from tilewright.tune.mutator.mutate_parallel import MutateParallel
from tilewright.tune.mutator.mutator import MUTATOR_SETS, Mutator


@MUTATOR_SETS.add("llvm", "c", "vnni", "avx512", "dotprod", "hexagon")
def _for_cpu() -> dict[Mutator, float]:
    """The mutators for CPUs, and DSPs like them."""
    return {
        MutateTileSize(): 0.9,
        MutateComputeLocation(): 0.05,
        MutateUnroll(): 0.03,
        MutateParallel(max_jobs_per_core=16): 0.02,
        MutateDecision(): 0.1,
    }


@MUTATOR_SETS.add("cuda", "cuda-tensorcore", "opencl")
def _for_gpu() -> dict[Mutator, float]:
    """The mutators for GPUs."""
    return {
        MutateTileSize(): 0.9,
        MutateUnroll(): 0.08,
        MutateThreadBinding(): 0.02,
        MutateDecision(): 0.1,
    }
