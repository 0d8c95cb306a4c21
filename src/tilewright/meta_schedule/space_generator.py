"""Ways to get from a program to all of its sketches."""

from tilewright.tune.space import *  # noqa: F403
from tilewright.tune.space import SpaceGenerator

PySpaceGenerator = SpaceGenerator
create = SpaceGenerator.create
