"""Several spaces as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.tir.schedule import Schedule
from tilewright.tune.mutator import Mutator
from tilewright.tune.postproc import Postproc
from tilewright.tune.rule import ScheduleRule
from tilewright.tune.space.distinct import distinct
from tilewright.tune.space.space_generator import (
    FROM_TARGET,
    GENERATORS,
    SpaceGenerator,
    given_parts,
)

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext


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
