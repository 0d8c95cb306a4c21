"""Where the tuner looks: from a program to sketches of schedules."""

from tilewright.tune.space.post_order_apply import PostOrderApply
from tilewright.tune.space.space_generator import ScheduleFn, SpaceGenerator, SpaceGeneratorUnion
from tilewright.tune.space.te_schedule_fn import TEScheduleFn
