"""Ways to get from a candidate to similar ones."""

from tilewright.tune.mutator import *  # noqa: F403
from tilewright.tune.mutator import Mutator

PyMutator = Mutator
