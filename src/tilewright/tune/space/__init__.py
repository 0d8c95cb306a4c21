"""Where the tuner looks: from a program to sketches of schedules."""

from tilewright.tune.space.post_order_apply import PostOrderApply
from tilewright.tune.space.schedule_fn import ScheduleFn
from tilewright.tune.space.space_generator import SpaceGenerator
from tilewright.tune.space.union import SpaceGeneratorUnion
