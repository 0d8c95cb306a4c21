"""What programs read and write: see `collect.collect_accesses`, of which the rest are functions."""

from tilewright.tir.access.access import Access, AccessKind, Condition, Definition
from tilewright.tir.access.collect import AccessSummary, collect_accesses

__all__ = [
    "Access",
    "AccessKind",
    "AccessSummary",
    "Condition",
    "Definition",
    "collect_accesses",
]
