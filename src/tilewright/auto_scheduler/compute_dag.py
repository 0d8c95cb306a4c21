"""`ComputeDAG`: the computation that is tuned."""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import Sequence
from typing import Any

from tilewright.auto_scheduler.dag_text import lines_of
from tilewright.auto_scheduler.loop_state import State
from tilewright.auto_scheduler.operation_order import numbered_operations
from tilewright.auto_scheduler.record_steps import apply_steps, steps_as_json
from tilewright.auto_scheduler.workload_registry import computation_of
from tilewright.error import ArgumentError, ArgumentValueError, TEScheduleError
from tilewright.ir.expr import IntImm
from tilewright.te.create_prim_func import create_prim_func
from tilewright.te.from_prim_func import tensors_of
from tilewright.te.operation import Operation, PlaceholderOp
from tilewright.te.schedule import Schedule, create_schedule
from tilewright.te.tensor import Tensor
from tilewright.tir.analysis import estimate_tir_flops
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tune.workload import Workload


class LayoutRewriteOption(enum.IntEnum):
    """What may be done to the layout of inputs that are constants.

    Sketches copy an operand into the order in which it is read where that is worth its time, so
    `INSERT_TRANSFORM_STAGE` is what happens in any case. `REWRITE_FOR_PRE_TRANSFORMED` is for
    weights of models, which `relax.build` lays out when the model is built; a schedule of tensors
    cannot change the inputs that its callers give, so tasks refuse it.
    """

    NO_REWRITE = 0
    INSERT_TRANSFORM_STAGE = 1
    REWRITE_FOR_PRE_TRANSFORMED = 2


class ComputeDAG:
    """A computation: its tensors, and the tensor program that computes them.

    It prints as a line for each operation::

        A = PLACEHOLDER [64, 64]
        B = PLACEHOLDER [64, 64]
        C(i, j) += (A[i, k] * B[k, j])

    Args:
        compute: the inputs and outputs, a workload key, a `te.Schedule` on which nothing has been
            done, or a tensor program, such as one of a model.

    Attributes:
        func: the tensor program; that of tensors is made by `te.create_prim_func`.

    Raises:
        ArgumentError: for something else, and for inputs that are not listed.
    """

    def __init__(self, compute: Sequence[Tensor] | str | Schedule | PrimFunc) -> None:
        if isinstance(compute, str):
            compute = computation_of(compute)
        if isinstance(compute, PrimFunc):
            self.func = compute
            return
        if isinstance(compute, Schedule):
            compute = compute.arguments
        if not isinstance(compute, (list, tuple)) or not compute:
            raise ArgumentError(
                "ComputeDAG: expected the list of inputs and outputs, a workload key, a "
                f"te.Schedule or a tensor program, got {compute!r}"
            )
        self.tensors = list(compute)
        self.func = create_prim_func(self.tensors)
        if not self.outputs:
            raise ArgumentError(f"ComputeDAG: nothing is computed, {self.tensors} are inputs")

    @functools.cached_property
    def tensors(self) -> list[Tensor]:
        """The inputs and outputs, in the order in which the built function takes them.

        Raises:
            TEScheduleError: for a tensor program that is not one of tensors.
        """
        return [tensor for tensor in tensors_of(self.func) if isinstance(tensor, Tensor)]

    @property
    def computation(self) -> list[Tensor] | PrimFunc:
        """What another `ComputeDAG` of the same computation is made from."""
        return vars(self).get("tensors", self.func)

    @property
    def ops(self) -> list[Operation]:
        """The operations, each after those whose results it reads; states number them so."""
        return numbered_operations(self.tensors)

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that are computed."""
        return [tensor for tensor in self.tensors if not isinstance(tensor.op, PlaceholderOp)]

    @functools.cached_property
    def flop_ct(self) -> float:
        """Operations on numbers that one run takes; 0 if they cannot be counted."""
        try:
            return estimate_tir_flops(self.func)
        except ArgumentValueError:
            return 0.0

    @functools.cached_property
    def _hash(self) -> str:
        return Workload(self.func).key

    def hash_key(self) -> str:
        """16 hexadecimal digits that are the same for all computations that differ in names only.

        Records name the program by it.
        """
        return self._hash

    def workload_key(self) -> str:
        """A workload key for a computation without a registered function: hash and shapes."""
        return json.dumps([self.hash_key(), *map(_extents, self.func.buffer_map.values())])

    def get_init_state(self) -> State:
        """A state to which nothing has been done."""
        return State(create_schedule([tensor.op for tensor in self.outputs]), self)

    def infer_bound_from_state(self, state: State) -> State:
        """A copy of a state in which the range of each iterator is known.

        Raises:
            ArgumentError: if it is not a state.
            TEScheduleError: if a stage is computed where it cannot be.
        """
        if not isinstance(state, State):
            raise ArgumentError(f"infer_bound_from_state: expected a State, got {state!r}")
        return state.with_bounds()

    def print_python_code_from_state(self, state: Any) -> str:
        """Python that repeats the steps of a state or a candidate.

        It defines ``apply_trace(sch)``; `sch` is a `te.Schedule` of the outputs for a state, and a
        `tir.Schedule` of `func` for a candidate.

        Args:
            state: a state, a candidate of a search, a `tir.Schedule` of `func`, or the trace of
                one.
        """
        return str(trace_of(state))

    def apply_steps_from_state(
        self, state: Any, layout_rewrite: LayoutRewriteOption = LayoutRewriteOption.NO_REWRITE
    ) -> tuple[Schedule, list[Tensor]]:
        """A schedule of the tensors with the steps of a candidate, and the arguments.

        `tvm.lower` and `tvm.build` take both.

        Args:
            state: a state, a candidate of a search, a `tir.Schedule` of `func`, or the trace of
                one.
            layout_rewrite: see `LayoutRewriteOption`.

        Raises:
            ArgumentError: for something else.
            RecordError: for a state of another computation, whose steps do not apply to this one.
        """
        require_layout(layout_rewrite)
        if isinstance(state, State):
            return self._own(state).schedule.copy(), list(self.tensors)
        schedule = create_schedule([tensor.op for tensor in self.outputs])
        schedule.continue_with(trace_of(state))
        return schedule, list(self.tensors)

    def _own(self, state: State) -> State:
        """A state of these tensors with the steps of one of other tensors."""
        if all(tensor.op in state.schedule.stage_map for tensor in self.outputs):
            return state
        own = self.get_init_state()
        apply_steps(own, steps_as_json(state))
        return own

    def __str__(self) -> str:
        try:
            operations = self.ops
        except TEScheduleError:
            return self.func.script()
        return "\n".join(line for op in operations for line in lines_of(op)) + "\n"

    def __repr__(self) -> str:
        names = ", ".join(buffer.name for buffer in self.func.buffer_map.values())
        return f"ComputeDAG({self.hash_key()}, {names})"


def trace_of(state: Any) -> Any:
    """The trace of a candidate, or of a schedule; a trace as it is."""
    schedule = getattr(state, "sch", state)
    return getattr(schedule, "trace", schedule)


def require_layout(option: LayoutRewriteOption | int | None) -> None:
    """Refuse a layout of inputs that a schedule of tensors cannot have.

    Raises:
        ArgumentValueError: it says what to do instead.
    """
    try:
        chosen = LayoutRewriteOption(option or 0)
    except ValueError:
        known = ", ".join(item.name for item in LayoutRewriteOption)
        raise ArgumentValueError(
            f"layout_rewrite_option is one of {known}, got {option!r}"
        ) from None
    if chosen is LayoutRewriteOption.REWRITE_FOR_PRE_TRANSFORMED:
        raise ArgumentValueError(
            "layout_rewrite_option: the inputs of a schedule of tensors keep their layout. Weights "
            "of a model are laid out when it is built: tune it by auto_scheduler.extract_tasks"
        )


def _extents(buffer: Buffer) -> list[Any]:
    return [n.value if isinstance(n, IntImm) else str(n) for n in buffer.shape]
