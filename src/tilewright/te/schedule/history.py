"""The history of a schedule: which primitives were applied, in terms of names and positions.

A step mentions no object of the program, so it can be repeated on another schedule of the same
tensors. What a step is applied to is looked up by steps of its own: ``get_tensor``, ``get_loops``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilewright.ir.expr import Var
from tilewright.te.schedule.draft import Draft, Reference, Step
from tilewright.te.schedule.primitive import Primitive

if TYPE_CHECKING:
    from tilewright.te.schedule.schedule import Schedule
    from tilewright.te.schedule.trace import Samples, Trace, TraceWriter


class History:
    """The steps of a schedule.

    Attributes:
        steps: in the order in which they were applied.
        is_empty: whether nothing has been done to the schedule.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self.steps: list[Step] = []
        self.is_empty = True
        self._known: dict[Any, Reference | Var] = {}
        self._samples: Samples | None = None
        self._writer: TraceWriter | None = None

    def copy(self, schedule: Schedule) -> History:
        """The same steps, to be continued by a copy of the schedule."""
        twin = History(schedule)
        twin.steps, twin.is_empty = list(self.steps), self.is_empty
        twin._samples = None if self._samples is None else self._samples.copy()
        return twin

    @property
    def samples(self) -> Samples:
        """The sampled numbers."""
        if self._samples is None:
            from tilewright.te.schedule.trace import Samples

            self._samples = Samples()
        return self._samples

    @property
    def trace(self) -> Trace:
        """The steps as a trace."""
        if self._writer is None:
            # What traces need takes long to load, and few programs look at them.
            from tilewright.te.schedule.trace import TraceWriter

            self._writer = TraceWriter()
        return self._writer.trace_of(self.steps)

    def call(
        self, primitive: Primitive, owner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Apply a primitive, and record it if it was not refused.

        Args:
            primitive: the primitive.
            owner: the schedule, or the stage, which stays as it was if it refuses.
            args: positional arguments of the method.
            kwargs: the others.
        """
        bound = primitive.bind(owner, args, kwargs)
        draft = Draft(self._schedule, self._known)
        stage, arguments = draft.arguments(primitive, owner, bound.arguments)
        if self._samples is not None:
            for name, value in bound.arguments.items():
                if name != "self":
                    bound.arguments[name] = self._samples.with_numbers(value)
        before = owner.copy() if primitive.is_on_stage else None
        try:
            result = primitive.function(*bound.args, **bound.kwargs)
        except BaseException:
            if before is not None:
                vars(owner).update(vars(before))
            raise
        if primitive.taken is not None:
            given = {parameter.name for parameter in primitive.parameters}
            arguments = {key: value for key, value in arguments.items() if key not in given}
            arguments |= primitive.taken(owner)
        draft.add(primitive.name, arguments, result, stage)
        self._commit(draft, primitive.is_query)
        return result

    def sample(self, name: str, arguments: dict[str, Any], decision: Any) -> Any:
        """Choose numbers at random, and record which.

        Args:
            name: of the sampling, as in `tir.Schedule`.
            arguments: by name.
            decision: what to choose; None to choose at random.

        Returns:
            Variables that stand for the numbers, or one variable.
        """
        draft = Draft(self._schedule, self._known)
        result, taken = self.samples.choose(name, arguments, decision)
        encoded = {key: draft.value(value) for key, value in arguments.items()}
        draft.add(name, encoded, result, None, taken)
        self._commit(draft, False)
        return result

    def _commit(self, draft: Draft, is_query: bool) -> None:
        self.steps += draft.steps
        self._known.update(draft.known)
        self.is_empty = self.is_empty and is_query
