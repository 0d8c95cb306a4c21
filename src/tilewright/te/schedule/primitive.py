"""`@recorded`: methods of schedules and stages whose calls are steps of the history."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from tilewright.error import ArgumentError, UnknownNameError
from tilewright.te.reducer import thread_axis

if TYPE_CHECKING:
    from tilewright.te.schedule.schedule import Schedule

P = ParamSpec("P")
R = TypeVar("R")

STAGE: Final = "stage"
"""The argument of a step that is the stage whose method was called."""

CONTINUE: Final = "continue_with"
"""The method after which stages are not transformed any more."""


class Primitive:
    """A method that is recorded.

    Attributes:
        name: of the method.
        function: the method as it is written, which records nothing.
        is_on_stage: whether it is a method of a stage, and not of the schedule.
        loops_of: the argument that says which stage has the loops that it takes.
        taken: the arguments as data, from the schedule or stage after the call; None if they are
            data as they are given.
        is_query: whether it changes nothing.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        loops_of: str,
        taken: Callable[[Any], dict[str, Any]] | None,
    ) -> None:
        self.name, self.function, self.loops_of = function.__name__, function, loops_of
        self.taken = taken
        self.is_on_stage = not function.__qualname__.startswith("Schedule.")
        self.is_query = self.name.startswith("get_")

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @cached_property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        """Those of the method, in order, without ``self``."""
        return tuple(self._signature.parameters.values())[1:]

    def bind(
        self, owner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> inspect.BoundArguments:
        """The arguments of a call by name, without those that are the default anyway.

        Raises:
            ArgumentError: if they do not fit the method.
        """
        try:
            bound = self._signature.bind(owner, *args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self.name}: {error}") from None
        for parameter in self.parameters:
            if is_same(bound.arguments.get(parameter.name), parameter.default):
                bound.arguments.pop(parameter.name, None)
        return bound

    def call(self, owner: Any, arguments: Mapping[str, Any]) -> Any:
        """Call the method of `owner`, which records it, with arguments by name."""
        positional: list[Any] = []
        named = dict(arguments)
        for parameter in self.parameters:
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                positional = list(named.pop(parameter.name, ()))
        return getattr(owner, self.name)(*positional, **named)


def is_same(value: Any, default: Any) -> bool:
    """Whether an argument is the default of its parameter."""
    plain = isinstance(default, (bool, int, tuple))
    return value is default or (plain and type(value) is type(default) and value == default)


PRIMITIVES: Final[dict[str, Primitive]] = {}
"""All recorded methods by name."""


def recorded(
    loops_of: str = STAGE, taken: Callable[[Any], dict[str, Any]] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Record the calls of a method in the history of the schedule.

    Args:
        loops_of: the parameter that says which stage has the loops that the method takes; by
            default it is the stage whose method this is.
        taken: see `Primitive`; for methods that take functions.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        primitive = Primitive(function, loops_of, taken)
        assert primitive.name not in PRIMITIVES, primitive.name
        PRIMITIVES[primitive.name] = primitive

        @functools.wraps(function)
        def method(*args: P.args, **kwargs: P.kwargs) -> R:
            owner: Any = args[0]
            return owner.history.call(primitive, owner, args[1:], kwargs)

        return method

    return decorate


SAMPLINGS: Final = ("sample_perfect_tile", "sample_categorical")

PREFIX: Final = "te."
"""In front of the names of steps that schedules of blocks do not have, or have in another form."""


def apply(schedule: Schedule, name: str, arguments: Mapping[str, Any], decision: Any) -> Any:
    """See `Schedule.apply`; what returns several values returns a list."""
    if name in SAMPLINGS:
        return getattr(schedule, name)(**{**arguments, "decision": decision})
    if name == f"{PREFIX}thread_axis":
        return thread_axis(**arguments)
    primitive = PRIMITIVES.get(name.removeprefix(PREFIX))
    if primitive is None or not name.startswith(PREFIX):
        raise UnknownNameError(f"a te.Schedule has no step {name!r}")
    given = dict(arguments)
    for parameter in primitive.parameters:
        if parameter.annotation == "Stage":
            given[parameter.name] = schedule[given[parameter.name]]
    owner = schedule[given.pop(STAGE)] if primitive.is_on_stage else schedule
    result = primitive.call(owner, given)
    return list(result) if isinstance(result, tuple) else result
