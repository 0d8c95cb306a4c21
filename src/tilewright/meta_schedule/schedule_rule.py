"""Ways to get from a program to sketches."""

from tilewright.tune.rule import *  # noqa: F403
from tilewright.tune.rule import ScheduleRule

PyScheduleRule = ScheduleRule
