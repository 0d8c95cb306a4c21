"""Ways to get from a program to sketches."""

from tilewright.tune.rule import (
    AddRFactor,
    ApplyCustomRule,
    AutoInline,
    InlineConstantScalars,
    MultiLevelTiling,
    ParallelizeVectorizeUnroll,
    RandomComputeLocation,
    ReuseType,
    ScheduleRule,
)

PyScheduleRule = ScheduleRule

__all__ = [
    "AddRFactor",
    "ApplyCustomRule",
    "AutoInline",
    "InlineConstantScalars",
    "MultiLevelTiling",
    "ParallelizeVectorizeUnroll",
    "PyScheduleRule",
    "RandomComputeLocation",
    "ReuseType",
    "ScheduleRule",
]
