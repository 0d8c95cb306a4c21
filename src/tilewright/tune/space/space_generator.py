"""`SpaceGenerator`: from a program to sketches of schedules."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    InstantiationError,
    TEScheduleError,
)
from tilewright.ir.module import IRModule
from tilewright.schedule_rules.eligible import marked_as_scheduled
from tilewright.tir.schedule import Schedule, ScheduleError
from tilewright.tune.mutator import Mutator
from tilewright.tune.parts import Registry, kind_of
from tilewright.tune.postproc import Postproc
from tilewright.tune.rule import ScheduleRule

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext


GENERATORS: Registry[SpaceGenerator] = Registry("space generator")
"""Generators by name."""

FROM_TARGET: Final = "from-target"
"""Stands for the rules, postprocessors or mutators of the kind of the target."""


class SpaceGenerator:
    """Makes the space in which the tuner looks: schedules with decisions that can be changed.

    Subclasses define `generate_design_space`. What they return are sketches: schedules whose traces
    have sampling instructions, whose decisions the search changes.

    Attributes:
        sch_rules: the schedule rules that it applies, None if it has none.
        postprocs: what is applied to each candidate after its trace, None for nothing.
        mutator_probs: how the search changes decisions, and how often each way is tried in
            proportion to the others; None for what works for any trace.

    Each may be ``"from-target"`` or the name of a kind of target, until the task is known.
    """

    sch_rules: list[ScheduleRule] | str | None = None
    postprocs: list[Postproc] | str | None = FROM_TARGET
    mutator_probs: dict[Mutator, float] | str | None = FROM_TARGET
    _seed: int | None = None

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take what is needed of the task; called before the space is made.

        Rules, postprocessors and mutators that are named by a kind of target are made, and all of
        them are told the task.

        Args:
            context: the task.
        """
        self.sch_rules = _made(self.sch_rules, ScheduleRule.create, context, "sch_rules")
        self.postprocs = _made(self.postprocs, Postproc.create, context, "postprocs")
        self.mutator_probs = _made(self.mutator_probs, Mutator.create, context, "mutator_probs")
        for part in [*(self.sch_rules or ()), *(self.postprocs or ()), *(self.mutator_probs or ())]:
            part.initialize_with_tune_context(context)
        self._seed = context.rand_state

    def fresh_schedule(self, mod: IRModule) -> Schedule:
        """A schedule of the program to begin with, seeded by the task."""
        return Schedule(marked_as_scheduled(mod), seed=self._seed, error_render_level="fast")

    def reseed(self, seed: int) -> None:
        """Let random decisions be other ones in spaces that are made from now on."""
        self._seed = seed

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The sketches for a program.

        Args:
            mod: the program.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has to define generate_design_space(self, mod), which returns "
            "a list of schedules"
        )

    def clone(self) -> SpaceGenerator:
        """A generator like this one for another task."""
        other = copy.copy(self)
        for name in ("sch_rules", "postprocs"):
            parts = getattr(self, name)
            if isinstance(parts, list):
                setattr(other, name, [part.clone() for part in parts])
        if isinstance(self.mutator_probs, dict):
            other.mutator_probs = {m.clone(): weight for m, weight in self.mutator_probs.items()}
        return other

    @staticmethod
    def create(
        kind: str | Callable[[Schedule], Any] | SpaceGenerator = "post-order-apply",
        *args: Any,
        **kwargs: Any,
    ) -> SpaceGenerator:
        """A generator by name.

        Args:
            kind: ``"post-order-apply"``, ``"union"``, a function of a schedule (see `ScheduleFn`),
                or a generator, which is returned as it is.
            *args: arguments of its constructor.
            **kwargs: keyword arguments of its constructor.
        """
        if isinstance(kind, SpaceGenerator):
            return kind
        if callable(kind):
            return GENERATORS.make("schedule-fn", kind, *args, **kwargs)
        if not isinstance(kind, str):
            raise ArgumentError(
                "SpaceGenerator.create: expected a name, a function of a schedule, or a "
                f"SpaceGenerator, got {kind!r}"
            )
        return GENERATORS.make(kind, *args, **kwargs)


def given_parts(generator: SpaceGenerator, **parts: Any) -> None:
    """Set the rules, postprocessors and mutators that the constructor of a generator got."""
    for name, value in parts.items():
        kinds = (Mapping,) if name == "mutator_probs" else (list, tuple)
        if value is not None and not isinstance(value, (str, *kinds)):
            what = "a dictionary" if name == "mutator_probs" else "a list"
            raise ArgumentError(
                f"{type(generator).__name__}: `{name}` is {what}, the name of a kind of target, "
                f"{FROM_TARGET!r} or None; got {value!r}"
            )
        if isinstance(value, Mapping):
            value = {mutator: float(weight) for mutator, weight in value.items()}
        setattr(generator, name, list(value) if isinstance(value, tuple) else value)


def _made(given: Any, create: Callable[[str], Any], context: TuneContext, name: str) -> Any:
    if not isinstance(given, str):
        return given
    if given != FROM_TARGET:
        return create(given)
    if context.target is None:
        raise ArgumentValueError(
            f"the task {context.task_name!r} has no target, which {name}={FROM_TARGET!r} is for: "
            f"give TuneContext a target, or {name}"
        )
    return create(kind_of(context.target))


def distinct(sketches: Iterable[Schedule]) -> list[Schedule]:
    """The sketches without those whose trace equals an earlier one.

    Those with the same instructions and other decisions remain: the search begins with the
    decisions of each.
    """
    found: dict[Any, Schedule] = {}
    for sketch in sketches:
        found.setdefault(_key(sketch), sketch)
    return list(found.values())


def _key(sketch: Schedule) -> Any:
    try:
        return json.dumps(sketch.trace.as_json())
    except (ArgumentValueError, TypeError):
        return sketch  # A trace with arguments of other kinds is like no other one.


ATTEMPTS: Final = 32
"""How often the function is called before a refusal is reported."""


@GENERATORS.add("schedule-fn")
class ScheduleFn(SpaceGenerator):
    """The space that a function of a schedule describes.

    The function transforms the schedule that it gets, and samples what is to be tuned::

        def tile(sch):
            i, j, k = sch.get_loops("C")
            factors = sch.sample_perfect_tile(j, n=2)
            sch.split(j, factors)

        TuneContext(matmul, target="llvm", space_generator=ScheduleFn(tile), ...)

    The space is what the function makes and nothing else: the default schedule is not a part of it,
    so the best candidate may be slower than that. With
    ``SpaceGeneratorUnion([tile, "post-order-apply"])`` it is compared, as without a function.

    Args:
        sch_fn: the function. It returns None, a schedule, or a list of schedules: the sketches.
        sch_rules: not applied.
        postprocs: what is applied to each candidate after its trace.
        mutator_probs: how the search changes decisions, and how often each way is tried.
    """

    def __init__(
        self,
        sch_fn: Callable[..., Any],
        sch_rules: Sequence[ScheduleRule] | str | None = None,
        postprocs: Sequence[Postproc] | str | None = FROM_TARGET,
        mutator_probs: Mapping[Mutator, float] | str | None = FROM_TARGET,
    ) -> None:
        if not callable(sch_fn):
            raise ArgumentError(f"ScheduleFn: expected a function of a schedule, got {sch_fn!r}")
        self.sch_fn = sch_fn
        given_parts(self, sch_rules=sch_rules, postprocs=postprocs, mutator_probs=mutator_probs)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """What the function makes of a schedule of the program.

        What it samples may lead to a step that is refused; then it is called again.
        """
        first = self.fresh_schedule(mod)
        for _ in range(ATTEMPTS - 1):
            try:
                return distinct(self.sketches_of(first.copy()))
            except (ScheduleError, TEScheduleError, InstantiationError):
                continue
        return distinct(self.sketches_of(first))

    def sketches_of(self, sch: Schedule) -> list[Schedule]:
        """What the function makes of a schedule."""
        returned = self.sch_fn(sch)
        if returned is None:
            return [sch]
        found = list(returned) if isinstance(returned, (list, tuple)) else [returned]
        for item in found:
            if not isinstance(item, Schedule):
                raise ArgumentError(
                    "ScheduleFn: the function returns None, a schedule, or a list of schedules; "
                    f"got {item!r}"
                )
        return found


@GENERATORS.add("union")
class SpaceGeneratorUnion(SpaceGenerator):
    """All sketches of several generators.

    Args:
        space_generators: the generators.
        sch_rules: not applied; each generator has its own.
        postprocs: what is applied to each candidate, whichever generator its sketch is from.
        mutator_probs: how the search changes decisions, and how often each way is tried.
    """

    def __init__(
        self,
        space_generators: Sequence[Any],
        sch_rules: Sequence[ScheduleRule] | str | None = None,
        postprocs: Sequence[Postproc] | str | None = FROM_TARGET,
        mutator_probs: Mapping[Mutator, float] | str | None = FROM_TARGET,
    ) -> None:
        if not isinstance(space_generators, (list, tuple)) or not space_generators:
            raise ArgumentError(
                "SpaceGeneratorUnion: expected a list of space generators, got "
                f"{space_generators!r}"
            )
        self.space_generators = [SpaceGenerator.create(item) for item in space_generators]
        given_parts(self, sch_rules=sch_rules, postprocs=postprocs, mutator_probs=mutator_probs)

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Tell all generators the task."""
        super().initialize_with_tune_context(context)
        for generator in self.space_generators:
            generator.initialize_with_tune_context(context)

    def reseed(self, seed: int) -> None:
        """Let random decisions be other ones in spaces that are made from now on."""
        for generator in self.space_generators:
            generator.reseed(seed)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The sketches of all generators, equal ones once."""
        return distinct(
            sketch
            for generator in self.space_generators
            for sketch in generator.generate_design_space(mod)
        )

    def clone(self) -> SpaceGeneratorUnion:
        """A union of clones."""
        other: Any = super().clone()
        other.space_generators = [generator.clone() for generator in self.space_generators]
        return other
