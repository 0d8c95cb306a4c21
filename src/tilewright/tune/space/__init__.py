"""Where the tuner looks: from a program to sketches of schedules."""

from tilewright.tune.space.post_order_apply import PostOrderApply
from tilewright.tune.space.space_generator import ScheduleFn, SpaceGenerator, SpaceGeneratorUnion
