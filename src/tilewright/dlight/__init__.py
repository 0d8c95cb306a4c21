"""Rules that schedule the functions of a module, and the pass that applies them.

A function without a schedule gets the default schedule when it is built, so a pipeline needs no
rule. These are for pipelines that name theirs, and for rules of their own.
"""

from tilewright.dlight import cpu, gpu
from tilewright.dlight.apply import ApplyDefaultSchedule
from tilewright.dlight.rule import ScheduleRule

__all__ = ["ApplyDefaultSchedule", "ScheduleRule", "cpu", "gpu"]
