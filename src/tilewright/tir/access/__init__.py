"""What programs read and write: `collect_accesses` finds it, and the rest are functions of that."""

from tilewright.tir.access.access import (
    Access,
    AccessKind,
    Condition,
    Definition,
    Iteration,
    Surroundings,
    iterations_of,
)
from tilewright.tir.access.collect import ANYWHERE, collect_accesses
from tilewright.tir.access.conditions import assumed_condition, start_conditions
from tilewright.tir.access.summary import AccessSummary

__all__ = [
    "ANYWHERE",
    "Access",
    "AccessKind",
    "AccessSummary",
    "Condition",
    "Definition",
    "Iteration",
    "Surroundings",
    "assumed_condition",
    "collect_accesses",
    "iterations_of",
    "start_conditions",
]
