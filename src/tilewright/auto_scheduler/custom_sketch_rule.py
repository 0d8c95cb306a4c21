"""Sketches of a user's own rules, beside those of the tuner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tilewright import te
from tilewright.auto_scheduler.loop_state import State
from tilewright.auto_scheduler.record_steps import apply_steps, steps_as_json
from tilewright.auto_scheduler.search_callback import SearchCallback
from tilewright.auto_scheduler.search_policy import SearchPolicy
from tilewright.auto_scheduler.state_parts import is_integer
from tilewright.error import ArgumentError, TuningError
from tilewright.tune.parts import kind_of
from tilewright.tune.rule import ParallelizeVectorizeUnroll
from tilewright.tune.rule.schedule_rule import ScheduleRule
from tilewright.tune.space import SpaceGenerator, TEScheduleFn
from tilewright.tune.space.space_generator import distinct

if TYPE_CHECKING:
    from tilewright.ir.module import IRModule
    from tilewright.tir.schedule import Schedule
    from tilewright.tune.context import TuneContext

MAX_STATES: Final = 1000
"""Number of states after which rules are taken for ones that never end."""

_HOW_LOOPS_RUN: Final = ("AN", "PR")


class PreloadCustomSketchRule(SearchCallback):
    """Adds sketches that functions of the user make.

    The stages of a computation are visited from the last to the first. For each of them and each
    state so far, `meet_condition_func` says whether the rule is for it, and `apply_func` makes the
    states that follow. A stage that no rule is for stays as it is. The states at the end become
    sketches, except one that no rule was for. Lengths of splits that are None are left to the
    search. Where the steps do not say how loops run (in parallel, as vectors, unrolled), the search
    decides that, too, as it does for its own sketches.

    The sketches of the tuner, the first of which is the default schedule, are searched beside them.

    Args:
        meet_condition_func: ``(policy, state, stage_id) -> PASS``, `APPLY` or
            `APPLY_AND_SKIP_REST`.
        apply_func: ``(policy, state, stage_id) -> [[state, stage_id], ...]``: states, and the
            number of the stage that is visited next in each; usually ``stage_id - 1``.
        rule_name: for messages.

    Raises:
        ArgumentError: if one of them is not a function.
    """

    PASS = 0
    """The rule is not for this stage."""
    APPLY = 1
    """The rule is applied, and so are others to the same state."""
    APPLY_AND_SKIP_REST = 2
    """The rule is applied, and no other one."""

    def __init__(
        self,
        meet_condition_func: Callable[[SearchPolicy, State, int], int],
        apply_func: Callable[[SearchPolicy, State, int], Sequence[Sequence[Any]]],
        rule_name: str = "CustomSketchRule",
    ) -> None:
        for name, function in (
            ("meet_condition_func", meet_condition_func),
            ("apply_func", apply_func),
        ):
            if not callable(function):
                raise ArgumentError(
                    f"PreloadCustomSketchRule: {name} is a function of the policy, a state and the "
                    f"number of a stage, got {function!r}"
                )
        self.meet_condition_func, self.apply_func = meet_condition_func, apply_func
        self.rule_name = rule_name

    def apply(self, policy: SearchPolicy) -> None:
        """Add the sketches to the spaces of a policy."""
        spaces = [space for space in policy.spaces if isinstance(space, CustomSketches)]
        if spaces:
            spaces[0].rules.append(self)
        else:
            policy.spaces.append(CustomSketches(policy, [self]))

    # --- one stage ------------------------------------------------------------------------------

    def condition(self, policy: SearchPolicy, state: State, stage_id: int) -> int:
        """What `meet_condition_func` says.

        Raises:
            ArgumentError: if it is none of the three.
        """
        found = self.meet_condition_func(policy, state.copy(), stage_id)
        if found not in (self.PASS, self.APPLY, self.APPLY_AND_SKIP_REST):
            raise ArgumentError(
                f"{self.rule_name}: meet_condition_func returns PASS, APPLY or "
                f"APPLY_AND_SKIP_REST of PreloadCustomSketchRule, got {found!r}"
            )
        return int(found)

    def following(
        self, policy: SearchPolicy, state: State, stage_id: int
    ) -> Iterator[tuple[State, int]]:
        """What `apply_func` makes of a state.

        Raises:
            ArgumentError: if that is not states with numbers of stages.
        """
        returned: Any = self.apply_func(policy, state.copy(), stage_id)
        for pair in returned if isinstance(returned, (list, tuple)) else [returned]:
            if not _is_state_and_stage(pair):
                raise ArgumentError(
                    f"{self.rule_name}: apply_func returns a list of [state, number of the next "
                    f"stage], got {returned!r}"
                )
            yield pair[0], int(pair[1])


def _is_state_and_stage(pair: Any) -> bool:
    """Whether something is a state and the number of one of its stages, or a negative number."""
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not is_integer(pair[1]):
        return False
    return isinstance(pair[0], State) and pair[1] < len(pair[0].stages)


class CustomSketches(SpaceGenerator):
    """The space that custom rules make.

    Args:
        policy: what the functions of the rules get.
        rules: the rules, in the order in which they are tried.
    """

    def __init__(self, policy: SearchPolicy, rules: list[PreloadCustomSketchRule]) -> None:
        self._policy, self.rules = policy, rules
        self._for_loops: list[ScheduleRule] = []

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take the rules of the target that say how loops run."""
        super().initialize_with_tune_context(context)
        rules = ScheduleRule.create(kind_of(self._policy.task.target))
        self._for_loops = [r for r in rules if isinstance(r, ParallelizeVectorizeUnroll)]
        for rule in self._for_loops:
            rule.initialize_with_tune_context(context)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The sketches for the program of the task."""
        sketches: list[Schedule] = []
        for state in self.states():
            space = TEScheduleFn(partial(_schedule, steps_as_json(state)))
            space.reseed(-1 if self._seed is None else self._seed)
            for sch in space.generate_design_space(mod):
                sketches += self._with_running_loops(state, sch)
        return distinct(sketches)

    def states(self) -> list[State]:
        """The states at the end that rules have made.

        Raises:
            TuningError: if the rules do not come to an end.
        """
        initial = self._policy.task.compute_dag.get_init_state()
        waiting = [(initial, len(initial.stages) - 1)]
        found: list[State] = []
        for _ in range(MAX_STATES):
            if not waiting:
                return found
            state, stage_id = waiting.pop(0)
            if stage_id >= 0:
                waiting += self._after(state, stage_id)
            elif state is not initial:
                found.append(state)
        names = ", ".join(rule.rule_name for rule in self.rules)
        raise TuningError(
            f"{names}: there is no end after {MAX_STATES} states; apply_func is to return the "
            "number of another stage, usually stage_id - 1"
        )

    def _after(self, state: State, stage_id: int) -> Iterator[tuple[State, int]]:
        """What becomes of a state at one stage."""
        for rule in self.rules:
            condition = rule.condition(self._policy, state, stage_id)
            if condition != rule.PASS:
                yield from rule.following(self._policy, state, stage_id)
            if condition == rule.APPLY_AND_SKIP_REST:
                return
        yield state, stage_id - 1

    def _with_running_loops(self, state: State, sch: Schedule) -> list[Schedule]:
        """The sketches in which the search decides how loops run, if the state does not say it."""
        if any(step.code in _HOW_LOOPS_RUN for step in state.transform_steps):
            return [sch]
        found = [sch]
        for rule in self._for_loops:
            found = [made for item in found for made in rule.apply(item, item.get_block("root"))]
        return found


def _schedule(steps: list[Any], schedule: te.Schedule, *tensors: te.Tensor) -> None:
    """Apply the steps of a state to a schedule of the tensors that a program is read as."""
    apply_steps(State(schedule, tensors), steps)
