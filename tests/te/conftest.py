"""Every schedule that a test here lowers is replayed from its trace, and lowered again."""

from __future__ import annotations

import pytest
from tests.te.replaying import check_replays, check_within

from tilewright.te.schedule import Schedule, function


@pytest.fixture(autouse=True, scope="module")
def _replayed():
    """Compare what schedules give with what their traces give."""
    with pytest.MonkeyPatch.context() as patch:
        plain, normalize = function.schedule_to_prim_func, Schedule.normalize
        start = function.ScheduledFunctionBuilder.__init__
        asked: list[Schedule] = []
        seen: dict[Schedule, int] = {}
        is_checking = False

        def noted(schedule):
            asked.append(schedule)
            return normalize(schedule)

        def checked(builder, schedule, args, binds):
            nonlocal is_checking
            original = asked.pop()
            steps = len(original.history.steps)
            if not is_checking and seen.get(original) != steps:
                is_checking, seen[original] = True, steps
                try:

                    def lower(s, twins):
                        return plain(s, [twins.get(a, a) for a in args], binds=binds)

                    check_replays(original, lower)
                    if not binds:
                        check_within(original, args, lower)
                finally:
                    is_checking = False
            start(builder, schedule, args, binds)

        patch.setattr(Schedule, "normalize", noted)
        patch.setattr(function.ScheduledFunctionBuilder, "__init__", checked)
        yield
