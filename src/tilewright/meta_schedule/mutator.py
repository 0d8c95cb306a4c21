"""Ways to get from a candidate to similar ones."""

from tilewright.tune.mutator import (
    MutateComputeLocation,
    MutateDecision,
    MutateParallel,
    MutateThreadBinding,
    MutateTileSize,
    MutateUnroll,
    Mutator,
)

PyMutator = Mutator

__all__ = [
    "MutateComputeLocation",
    "MutateDecision",
    "MutateParallel",
    "MutateThreadBinding",
    "MutateTileSize",
    "MutateUnroll",
    "Mutator",
    "PyMutator",
]
