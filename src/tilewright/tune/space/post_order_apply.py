"""Sketches that schedule rules make, block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from tilewright.error import ArgumentError, TuningError, TVMError
from tilewright.ir.expr import IntImm
from tilewright.ir.module import IRModule
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize
from tilewright.tune.mutator import Mutator
from tilewright.tune.postproc import Postproc
from tilewright.tune.rule import ScheduleRule
from tilewright.tune.space.space_generator import (
    FROM_TARGET,
    GENERATORS,
    SpaceGenerator,
    distinct,
    given_parts,
)

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext

MAX_SKETCHES: Final = 64
"""Maximum number of sketches that are followed up."""

SCHEDULE_RULE: Final = "schedule_rule"
"""The annotation of a block that a rule of its own schedules."""


@GENERATORS.add("post-order-apply")
class PostOrderApply(SpaceGenerator):
    """Applies rule by rule to all blocks, the root block first and consumers before producers.

    A rule makes any number of schedules out of one, all of which go on to the next block and to the
    next rule. Blocks that a rule has removed are left out, and those that never run because they
    are about arrays without elements; those that a rule has added are its own business. Blocks with
    the annotation ``schedule_rule`` are for rules that take such.

    There are at most `MAX_SKETCHES` sketches at any time: where rules make more, the first
    schedules that a rule returns are kept for every sketch before the second ones, and so on.
    Rules return what is most promising first.

    With the rules and postprocessors of the target, the default schedule is the first sketch. It
    is complete as it is: no postprocessor is applied to it.

    Args:
        f_block_filter: says of a block whether rules are applied to it; by default to all.
        sch_rules: the rules, in order.
        postprocs: what is applied to each candidate after its trace.
        mutator_probs: how the search changes decisions, and how often each way is tried.
    """

    def __init__(
        self,
        f_block_filter: Callable[[Block], bool] | None = None,
        sch_rules: Sequence[ScheduleRule] | str | None = FROM_TARGET,
        postprocs: Sequence[Postproc] | str | None = FROM_TARGET,
        mutator_probs: Mapping[Mutator, float] | str | None = FROM_TARGET,
    ) -> None:
        if f_block_filter is not None and not callable(f_block_filter):
            raise ArgumentError(
                f"PostOrderApply: f_block_filter is a function of a block, got {f_block_filter!r}"
            )
        self.f_block_filter = f_block_filter
        self._context: TuneContext | None = None
        own = f_block_filter is not None or not isinstance(postprocs, str)
        self._has_default = isinstance(sch_rules, str) and not own
        given_parts(self, sch_rules=sch_rules, postprocs=postprocs, mutator_probs=mutator_probs)

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Make the rules of the target, and tell all of them the task."""
        super().initialize_with_tune_context(context)
        self._context = context

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The sketches for a program."""
        default = self._default(mod)
        return distinct([*([] if default is None else [default]), *self._sketches(mod)])

    def _default(self, mod: IRModule) -> Schedule | None:
        """The default schedule, if that is a sketch."""
        context = self._context
        if context is None or context.mod is not mod or not self._has_default:
            return None
        return context.default_schedule

    def _sketches(self, mod: IRModule) -> list[Schedule]:
        """What the rules make of a program."""
        if isinstance(self.sch_rules, str):
            raise ArgumentError(
                f"PostOrderApply: which rules {self.sch_rules!r} stands for is known after "
                "initialize_with_tune_context"
            )
        first = self.fresh_schedule(mod)
        blocks = [
            block for name in first.state.functions for block in self._blocks(first, name.name_hint)
        ]
        sketches = [first]
        for rule in self.sch_rules or ():
            for block in blocks:
                found = list(_in_turn([self._applied(rule, sch, block) for sch in sketches]))
                sketches = found if len(found) <= MAX_SKETCHES else self._bounded(found, rule)
            sketches = distinct(sketches)
        return sketches

    def _blocks(self, sch: Schedule, function: str) -> Iterator[BlockRV]:
        """The blocks of a function to schedule: the reverse of the order in which they end."""
        tree = sch.state.tree(function)
        ordered = [*_inner_first(tree, tree.root), tree.root]
        chosen = [r for r in reversed(ordered) if _may_run(r.block) and self._is_chosen(r.block)]
        names = Counter(realize.block.name_hint for realize in tree.blocks())
        for realize in chosen:
            if names[realize.block.name_hint] == 1:
                yield sch.get_block(realize.block.name_hint, function)
            else:
                yield _among_children(sch, tree, realize)

    def _is_chosen(self, block: Block) -> bool:
        return self.f_block_filter is None or bool(self.f_block_filter(block))

    def _applied(self, rule: ScheduleRule, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """What a rule makes of a schedule, which it does not change."""
        found = _existing(sch, block)
        if found is None or (SCHEDULE_RULE in found.annotations) != getattr(
            rule, "takes_annotated_blocks", False
        ):
            return [sch]
        try:
            results = rule.apply(sch.copy(), block)
        except Exception as error:
            raise TuningError(
                f"{type(rule).__name__} failed on block `{found.name_hint}`: "
                f"{error if isinstance(error, TVMError) else repr(error)}"
            ) from error
        if not isinstance(results, (list, tuple)) or not all(
            isinstance(item, Schedule) for item in results
        ):
            raise TuningError(
                f"{type(rule).__name__} returned {results!r} for block `{found.name_hint}`; a rule "
                "returns a list of schedules"
            )
        return list(results)

    def _bounded(self, found: list[Schedule], rule: ScheduleRule) -> list[Schedule]:
        sketches = distinct(found)
        if len(sketches) > MAX_SKETCHES and self._context is not None:
            self._context.logger.info(
                "%s: %d of %d sketches are followed up after %s",
                self._context.task_name,
                MAX_SKETCHES,
                len(sketches),
                type(rule).__name__,
            )
        return sketches[:MAX_SKETCHES]


def _may_run(block: Block) -> bool:
    """Whether all iterators have values, as far as is known."""
    extents = [iterator.dom.extent for iterator in block.iter_vars if iterator.dom is not None]
    return not any(isinstance(extent, IntImm) and extent.value == 0 for extent in extents)


def _inner_first(tree: FunctionTree, block: BlockRealize) -> Iterator[BlockRealize]:
    """The blocks inside of a block, in the order of the text, but inner ones first."""
    for child in tree.blocks_below(block):
        yield from _inner_first(tree, child)
        yield child


def _among_children(sch: Schedule, tree: FunctionTree, realize: BlockRealize) -> BlockRV:
    """A block that shares its name with others, found from the root block downwards."""
    if realize is tree.root:
        return sch.get_block(realize.block.name_hint, tree.name)
    scope = tree.scope(realize)
    position = [child is realize for child in tree.blocks_below(scope)].index(True)
    return sch.get_child_blocks(_among_children(sch, tree, scope))[position]


def _existing(sch: Schedule, block: BlockRV) -> Block | None:
    try:
        return sch.get(block)
    except ScheduleError:
        return None


def _in_turn(results: list[list[Schedule]]) -> Iterable[Schedule]:
    """The first ones of all lists, then the second ones, and so on."""
    for row in zip_longest(*results):
        yield from (sch for sch in row if sch is not None)
