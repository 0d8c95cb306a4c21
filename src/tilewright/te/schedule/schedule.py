"""A schedule: one stage per operation."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, TEScheduleError
from tilewright.ir.expr import Var
from tilewright.ir.recursion import deep_recursion
from tilewright.te.operation import ComputeOp, Operation, PlaceholderOp, topological_order
from tilewright.te.schedule import cache, rfactor
from tilewright.te.schedule.continuation import Continuation, text_of
from tilewright.te.schedule.graph import create_group, inline, replace_tensors
from tilewright.te.schedule.history import History
from tilewright.te.schedule.primitive import recorded
from tilewright.te.schedule.stage import Stage
from tilewright.te.schedule.stage_state import AttachType
from tilewright.te.schedule.step import axes_of, one_of, tensors_named, variables_named
from tilewright.te.schedule.traced import TracedSchedule
from tilewright.te.tensor import Tensor
from tilewright.tir.expr import IterVar


class Schedule(TracedSchedule):
    """How the loops of a graph of tensors run.

    ``s[C]`` is the stage of the tensor (or operation) C.

    Attributes:
        stages: one per operation, each after those whose results it reads.
        groups: the groups of stages; see `create_group`.
        outputs: the operations that the schedule was created for.
        arguments: the inputs and the outputs.
        stage_map: from operations to stages.
        continuation: what is done to its program; see `continue_with`.
    """

    continuation: Continuation | None = None

    def __init__(self, outputs: list[Operation]) -> None:
        self.outputs = outputs
        order = topological_order([tensor for op in outputs for tensor in op.outputs])
        self.arguments = [
            tensor
            for op in order
            if op in outputs or isinstance(op, PlaceholderOp)
            for tensor in op.outputs
        ]
        self.stages = [Stage(self, op, op in outputs) for op in order]
        self.groups: list[Stage] = []
        self.stage_map = {stage.op: stage for stage in self.stages}
        self.history = History(self)

    def __getitem__(self, tensor: Tensor | Operation | Stage) -> Stage:
        """The stage of a tensor or an operation; a stage or group of the schedule itself."""
        if isinstance(tensor, Stage) and tensor.schedule is self:
            return tensor
        op = tensor.op if isinstance(tensor, Tensor) else tensor
        if not isinstance(op, Operation):
            raise ArgumentError(f"a schedule is indexed by a tensor or an operation, got {op!r}")
        stage = self.stage_map.get(op)
        if stage is None:
            names = ", ".join(stage.name for stage in self.stages)
            raise TEScheduleError(f"cannot find the stage of {op.name}; the schedule has {names}")
        return stage

    @recorded()
    def cache_read(self, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """Let some stages read a copy of a tensor.

        Args:
            tensor: what is copied.
            scope: the kind of memory for the copy, such as ``"shared"`` or ``"local"``.
            readers: the tensors (or operations) whose stages read the copy.

        Returns:
            The copy, named ``<tensor>_<scope>``, with a stage of its own.

        Raises:
            TEScheduleError: if there is no reader, or one does not read `tensor`.
        """
        return cache.cache_read(self, tensor, scope, readers)

    @recorded()
    def cache_write(self, tensor: Any, scope: str) -> Any:
        """Compute a tensor in other memory, and copy it from there.

        If the loops of its stage have been split, fused or reordered, the copy that is computed
        has their order as its layout.

        Args:
            tensor: what is computed; for an operation with several results, the list of all.
            scope: the kind of memory for the copy.

        Returns:
            The copy, named ``<tensor>_<scope>``, whose stage computes what the stage of `tensor`
            did; that one only copies. For a list, the list of copies.

        Raises:
            TEScheduleError: for an input, a part of the results of an operation, or loops that
                have been annotated already.
        """
        return cache.cache_write(self, tensor, scope)

    @recorded(loops_of="tensor")
    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
        """Reduce in two steps: one loop of the reduction becomes an axis of partial results.

        Args:
            tensor: the result of a reduction.
            axis: the reduction loop of its stage, such as one half of a split.
            factor_axis: where the new dimension goes among those of the tensor; counted from the
                end if negative.

        Returns:
            The partial results, named ``<tensor>_rf``, with a stage of their own; for a reduction
            of several values the list of them. Their stage keeps the loops, with what was done
            to them and what is computed in them. The stage of `tensor` adds them up in loops of
            its own, ``s[tensor].op.axis`` and ``s[tensor].op.reduce_axis[0]``.

        Raises:
            TEScheduleError: if `tensor` is not a reduction, `axis` is not a reduction loop of it,
                or there is no such dimension.
        """
        return rfactor.rfactor(self, tensor, axis, factor_axis)

    @recorded()
    def create_group(self, outputs: Any, inputs: Any, include_inputs: bool = False) -> Stage:
        """Stages that are computed in one place.

        The result has the primitives `compute_at` and `compute_root`; stages of the group without
        a place of their own are computed where it is.

        Args:
            outputs: the tensors (or operations) at the end of the group.
            inputs: those at its beginning; the group consists of everything in between.
            include_inputs: whether the inputs belong to the group.

        Raises:
            TEScheduleError: if there is nothing between, or a stage is in another group already.
        """
        return create_group(self, outputs, inputs, include_inputs)

    @recorded(taken=lambda schedule: {"trace": schedule.continuation.traces[-1]})
    def continue_with(self, trace: Any) -> None:
        """Continue as a `tir.Schedule`, with the steps of a trace.

        When the schedule is lowered, they are applied to its program, and each is proved to keep
        its meaning. If no stage has been transformed, the program is that of
        `te.create_prim_func`, on which tuners make their traces. Afterwards stages can no longer
        be transformed.

        Args:
            trace: the trace of a `tir.Schedule`, or its JSON form.

        Raises:
            ArgumentError: for something else. That a step does not apply is a `TEScheduleError`
                when the schedule is lowered.
        """
        text = text_of(trace)
        before = self.continuation or Continuation((), not self.history.is_empty)
        self.continuation = before.followed_by(text)

    # --- what a trace looks up ----------------------------------------------------------------

    @recorded()
    def get_tensor(self, name: str, position: int = 0) -> Tensor:
        """The tensor of that name; if there are several, that at `position` among them."""
        return one_of(tensors_named(self, name), position, f"tensors called {name!r}")

    @recorded(loops_of="tensor")
    def get_loops(self, tensor: Tensor) -> list[IterVar]:
        """The loops of the stage of a tensor, outermost first."""
        return list(self[tensor].leaf_iter_vars)

    @recorded(loops_of="tensor")
    def get_axes(self, tensor: Tensor) -> list[IterVar]:
        """The axes of what the stage of a tensor computes, those of its reduction last."""
        return axes_of(self[tensor])

    @recorded()
    def get_var(self, source: str | IterVar, position: int = 0) -> Var:
        """A variable in the shapes of tensors by its name, or that of a thread axis."""
        if isinstance(source, IterVar):
            return source.var
        return one_of(variables_named(self, source), position, f"sizes called {source!r}")

    # --- how stages change ------------------------------------------------------------------

    def current(self, tensor: Tensor) -> Tensor:
        """What stands for `tensor` now that stages compute other operations."""
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"expected a tensor of the schedule, got {tensor!r}")
        return self[tensor].op.output(tensor.value_index)

    def insert_stage(self, op: Operation, position: int, group: Stage | None) -> Stage:
        """Add the stage of a new operation."""
        stage = Stage(self, op, False)
        stage.group = group
        self.stages.insert(position, stage)
        self.stage_map[op] = stage
        return stage

    def normalize(self) -> Schedule:
        """A copy in which the stages that are computed inline are part of their readers.

        Raises:
            TEScheduleError: if an operation that is not a te.compute reads one of them.
        """
        result = self.copy()
        for stage in list(result.stages):
            if stage.attach_type is AttachType.INLINE:
                assert isinstance(stage.op, ComputeOp)
                result._inline(stage, stage.op)
        return result

    def _inline(self, stage: Stage, producer: ComputeOp) -> None:
        for reader in self.stages:
            op = reader.op
            if not any(tensor.op is producer for tensor in op.input_tensors):
                continue
            changed = inline(producer, op)
            if changed is op:
                raise stage.error(
                    "compute_inline", f"{op.name} reads it as a whole, not by elements"
                )
            self._replace_op(reader, changed)

    def _replace_op(self, stage: Stage, op: Operation) -> None:
        """Compute `op` in the place of the operation of `stage`, for all readers."""
        tensors = dict(zip(stage.op.outputs, op.outputs, strict=True))
        stage.op = op
        replace_tensors(self.stages, tensors)
        self.index_stages()

    def index_stages(self) -> None:
        """Make the operations that stages compute now known."""
        for stage in self.stages:
            self.stage_map[stage.op] = stage
        self.outputs = [self.stage_map[op].op for op in self.outputs]

    def copy(self) -> Schedule:
        """A schedule of the same loops, which can be changed on its own."""
        result = Schedule.__new__(Schedule)
        twins = {stage: stage.copy() for stage in (*self.stages, *self.groups)}
        for twin in twins.values():
            twin.schedule = result
            if twin.attach_stage is not None:
                twin.attach_stage = twins[twin.attach_stage]
            if twin.group is not None:
                twin.group = twins[twin.group]
        result.stages = [twins[stage] for stage in self.stages]
        result.groups = [twins[group] for group in self.groups]
        result.stage_map = {op: twins[stage] for op, stage in self.stage_map.items()}
        result.outputs = list(self.outputs)
        result.arguments = self.arguments
        result.continuation = self.continuation
        result.history = self.history.copy(result, twins)
        return result

    def __repr__(self) -> str:
        return f"te.Schedule({', '.join(map(repr, self.stages))})"


@deep_recursion
def create_schedule(ops: Any) -> Schedule:
    """A schedule in which every operation has its axes as loops.

    Args:
        ops: the operation (or tensor) to compute, or a list of them. What they depend on gets a
            stage too.

    Raises:
        ArgumentError: if `ops` holds something else.
    """
    items = list(ops) if isinstance(ops, (tuple, list)) else [ops]
    outputs: dict[Operation, None] = {}
    for item in items:
        op = item.op if isinstance(item, Tensor) else item
        if not isinstance(op, Operation):
            raise ArgumentError(f"te.create_schedule: expected operations such as C.op, got {op!r}")
        outputs[op] = None
    if not outputs:
        raise ArgumentError("te.create_schedule: no operation is given")
    return Schedule(list(outputs))
