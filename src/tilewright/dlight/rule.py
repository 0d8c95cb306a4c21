"""The base class of rules that schedule one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule import Schedule

Applied = Schedule | Sequence[Schedule] | None
"""What a rule gives: a schedule, several to choose from, or None if it is for other functions."""


class ScheduleRule:
    """Base class of rules."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Applied:
        """The schedule of a function.

        Args:
            func: the function; ``Schedule(func)`` calls it "main".
            target: what it will be built for.
            tunable: whether the schedule may have decisions for a tuner.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how it schedules")

    @staticmethod
    def from_callable(
        name: str,
    ) -> Callable[[Callable[[PrimFunc, Target, bool], Applied]], ScheduleRule]:
        """A decorator that makes a rule of a function with the arguments of `apply`."""

        def decorate(function: Callable[[PrimFunc, Target, bool], Applied]) -> ScheduleRule:
            methods = {"apply": lambda _, *args: function(*args), "__doc__": function.__doc__}
            return type(name, (ScheduleRule,), methods)()

        return decorate
