"""Ways to get from a program to all of its sketches."""

from tilewright.tune.space import (
    PostOrderApply,
    ScheduleFn,
    SpaceGenerator,
    SpaceGeneratorUnion,
)

PySpaceGenerator = SpaceGenerator
create = SpaceGenerator.create

__all__ = [
    "PostOrderApply",
    "PySpaceGenerator",
    "ScheduleFn",
    "SpaceGenerator",
    "SpaceGeneratorUnion",
    "create",
]
