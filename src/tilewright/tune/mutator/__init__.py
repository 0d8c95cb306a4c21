"""How the tuner gets from a candidate to similar ones."""

import tilewright.tune.mutator.defaults
from tilewright.tune.mutator.mutate_candidate import MutateThreadBinding, MutateUnroll
from tilewright.tune.mutator.mutate_compute_location import MutateComputeLocation
from tilewright.tune.mutator.mutate_decision import MutateDecision
from tilewright.tune.mutator.mutate_parallel import MutateParallel
from tilewright.tune.mutator.mutate_tile_size import MutateTileSize
from tilewright.tune.mutator.mutator import Mutator
