"""How the tuner gets from a program to sketches: schedule rules, one file each."""

import tilewright.tune.rule.defaults
from tilewright.tune.rule.schedule_rule import ScheduleRule
