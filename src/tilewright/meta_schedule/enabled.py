"""Whether graph compilation is to use tuning records."""

from __future__ import annotations

from tilewright.ir.pass_context import PassContext


def is_meta_schedule_enabled() -> bool:
    """Whether the option ``relay.backend.use_meta_schedule`` of the `PassContext` is set."""
    return PassContext.current().option("relay.backend.use_meta_schedule")
