"""What a state knows: its stages by number, and the names of their iterators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tilewright.auto_scheduler.operation_order import numbered_operations
from tilewright.auto_scheduler.state_parts import (
    Iterator,
    IteratorLike,
    Stage,
    StageLike,
    Step,
    is_integer,
)
from tilewright.auto_scheduler.state_text import state_text
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.te.operation import Operation
from tilewright.te.schedule import InferBound, Schedule
from tilewright.te.schedule import Stage as TEStage
from tilewright.te.schedule.relation import domain
from tilewright.te.schedule.stage_state import AttachType
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterVar
from tilewright.tir.stmt import ForKind

if TYPE_CHECKING:
    from typing_extensions import Self

    from tilewright.auto_scheduler.compute_dag import ComputeDAG
    from tilewright.te.schedule.trace import Trace

_KINDS: Final = {
    ForKind.UNROLLED: "unroll",
    ForKind.VECTORIZED: "vectorize",
    ForKind.PARALLEL: "parallel",
}

_PLACES: Final = {
    AttachType.GROUP_ROOT: "root",
    AttachType.INLINE: "inlined",
    AttachType.SCOPE: "iter",
}


class StageTable:
    """The stages of a state, each a view of a stage of its te schedule; see `State`."""

    def __init__(
        self,
        state_object: StageTable | Schedule,
        dag: ComputeDAG | list[Tensor] | tuple[Tensor, ...] | None = None,
    ) -> None:
        if isinstance(state_object, StageTable):
            vars(self).update(vars(state_object.copy()))
            return
        if not isinstance(state_object, Schedule):
            raise ArgumentError(
                f"State: expected a state or a te.Schedule, got {state_object!r}; a ComputeDAG "
                "gives one by get_init_state()"
            )
        if not state_object.history.is_empty:
            raise ArgumentValueError(
                "State: something has been done to the schedule already, which would be missing "
                "among the steps; give one that te.create_schedule has just made"
            )
        self.schedule = state_object
        outputs = [op.output(0) for op in state_object.outputs]
        given = outputs if dag is None else dag
        order = numbered_operations(given if isinstance(given, (list, tuple)) else given.tensors)
        self._stages = [state_object[op] for op in order if op in state_object.stage_map]
        self._stage_names = [stage.name for stage in self._stages]
        self.transform_steps: list[Step] = []
        self._names: dict[IterVar, str] = {}
        self._free: set[IterVar] = set()
        self._lengths: dict[int, list[Any]] = {}
        self._bounds: dict[IterVar, Range] = {}

    def copy(self) -> Self:
        """The same state, to be continued on its own; its iterators are those of this one."""
        twin = type(self).__new__(type(self))
        for name, value in vars(self).items():
            vars(twin)[name] = value.copy() if isinstance(value, (list, dict, set)) else value
        twin.schedule = self.schedule.copy()
        positions = [self.schedule.stages.index(stage) for stage in self._stages]
        twin._stages = [twin.schedule.stages[position] for position in positions]
        return twin

    @property
    def state_object(self) -> Self:
        """The state itself: there is no other object behind it."""
        return self

    @property
    def trace(self) -> Trace:
        """The steps of the te schedule."""
        return self.schedule.trace

    # --- what there is --------------------------------------------------------------------------

    @property
    def stages(self) -> list[Stage]:
        """All stages by number."""
        return [self._stage(number) for number in range(len(self._stages))]

    @property
    def stage_ops(self) -> list[Operation]:
        """The operations of the stages."""
        return [stage.op for stage in self._stages]

    @property
    def stage_id_map(self) -> dict[Operation, int]:
        """The numbers of the stages, by operation."""
        return {stage.op: number for number, stage in enumerate(self._stages)}

    def __getitem__(self, stage: StageLike) -> Stage:
        """The stage of a tensor or an operation, or that number."""
        return self._stage(self._number("State", stage))

    @property
    def is_decided(self) -> bool:
        """Whether no lengths of splits are left to a search."""
        return not self._free

    def te_stage(self, number: int) -> TEStage:
        """The stage of the te schedule that has that number here."""
        return self._stages[number]

    def attached(self, iterator: Iterator, number: int) -> list[int]:
        """The stages that are computed in an iterator of the stage of that number."""
        stage = self._stages[number]
        found: list[int] = []
        for other, candidate in enumerate(self._stages):
            if candidate.attach_stage is stage and candidate.attach_ivar is not None:
                loop = stage.current_loop(candidate.attach_ivar)
                found += [other] if loop is iterator.loop else []
        return found

    def with_bounds(self) -> Self:
        """A copy in which the range of each iterator is known.

        Those of stages that are computed in loops of others follow from what is read there;
        numbers that are free have their current values.

        Raises:
            TEScheduleError: if a stage is computed where it cannot be.
        """
        twin = self.copy()
        twin._bounds = InferBound(twin.schedule)
        return twin

    def __str__(self) -> str:
        return state_text(self)

    def __repr__(self) -> str:
        return f"State({', '.join(self._stage_names)}; {len(self.transform_steps)} steps)"

    # --- stages and iterators -----------------------------------------------------------------

    def _number(self, primitive: str, stage: Any) -> int:
        if is_integer(stage):
            if 0 <= stage < len(self._stages):
                return stage
            names = ", ".join(f"{n} {name}" for n, name in enumerate(self._stage_names))
            raise ArgumentValueError(f"{primitive}: there is no stage {stage}; there are {names}")
        if isinstance(stage, Stage):
            stage = stage.op
        found = self.schedule[stage]
        return self._stages.index(found)

    def _stage(self, number: int) -> Stage:
        stage = self._stages[number]
        iters = self._iterators(number, stage.leaf_iter_vars)
        return Stage(self._stage_names[number], stage.op, iters, _PLACES[stage.attach_type])

    def _is_whole(self, number: int) -> bool:
        """Whether the loops of a stage run over the whole of its axes."""
        return self._stages[number].attach_type is not AttachType.SCOPE

    def _iterators(self, number: int, loops: Iterable[IterVar]) -> list[Iterator]:
        return [self._iterator(number, loop) for loop in loops]

    def _iterator(self, number: int, loop: IterVar) -> Iterator:
        stage = self._stages[number]
        thread = stage.threads.get(loop)
        kind = _KINDS.get(stage.kinds.get(loop, ForKind.SERIAL), "none")
        dom = self._bounds.get(loop)
        if dom is None and self._is_whole(number) and loop not in self._free:
            dom = domain(loop)
        annotation = kind if thread is None else thread.thread_tag
        return Iterator(self._name(loop), loop, dom, annotation)

    def _name(self, loop: IterVar) -> str:
        return self._names.get(loop, loop.name)

    def _find(
        self, primitive: str, stage: StageLike, iterator: IteratorLike
    ) -> tuple[int, int, IterVar]:
        """The number of a stage, and the position of one of its iterators with its loop."""
        number = self._number(primitive, stage)
        leaves = self._stages[number].leaf_iter_vars
        if isinstance(iterator, Iterator):
            position = next((p for p, leaf in enumerate(leaves) if leaf is iterator.loop), -1)
        elif isinstance(iterator, int) and is_integer(iterator):
            position = iterator
        else:
            raise ArgumentError(
                f"{primitive}: expected an iterator such as state[C].iters[0], got {iterator!r}"
            )
        if not 0 <= position < len(leaves):
            name = iterator.name if isinstance(iterator, Iterator) else iterator
            known = ", ".join(map(self._name, leaves)) or "none"
            raise ArgumentValueError(
                f"{primitive}: stage {self._stage_names[number]} has no iterator {name}; it has "
                f"{known}"
            )
        return number, position, leaves[position]

    def _find_all(
        self, primitive: str, stage: StageLike, iterators: Sequence[IteratorLike]
    ) -> tuple[int, list[int], list[IterVar]]:
        if not isinstance(iterators, (list, tuple)) or isinstance(iterators, Iterator):
            raise ArgumentError(f"{primitive}: expected a list of iterators, got {iterators!r}")
        found = [self._find(primitive, stage, iterator) for iterator in iterators]
        number = self._number(primitive, stage)
        return number, [position for _, position, _ in found], [loop for _, _, loop in found]

    def _note(self, code: str, *arguments: Any) -> None:
        self.transform_steps.append(Step(code, arguments))
        self._bounds = {}
