"""How the tuner gets from a candidate to similar ones."""

from tilewright.tune.mutator.mutator import Mutator
