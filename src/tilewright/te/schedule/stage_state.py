"""What is known about a stage: its loops, where it is computed, and in what memory."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from tilewright.error import TEScheduleError
from tilewright.ir.expr import Expr
from tilewright.te.operation import ComputeOp, Operation, ScanOp
from tilewright.te.schedule.relation import Relation
from tilewright.tir.expr import IterVar
from tilewright.tir.stmt import ForKind

if TYPE_CHECKING:
    from tilewright.te.schedule.history import History
    from tilewright.te.schedule.layout import Layout
    from tilewright.te.schedule.schedule import Schedule
    from tilewright.te.schedule.stage import Stage
    from tilewright.te.tensor import Tensor
    from tilewright.te.tensor_intrin import TensorIntrin


class AttachType(enum.IntEnum):
    """Where a stage is computed."""

    GROUP_ROOT = 1
    """On its own, or where its group is computed."""
    INLINE = 2
    """In the expressions that read it."""
    SCOPE = 4
    """In a loop of another stage."""


class StageState:
    """The state of a stage, and how its primitives look up loops and refuse.

    Attributes:
        schedule: the schedule that it belongs to.
        op: the operation.
        origin_op: the operation that the schedule was created with; caching and factoring replace
            `op`, and its results go to the buffers of this one.
        is_output: whether the schedule was created for this operation.
        leaf_iter_vars: the loops, outermost first.
        all_iter_vars: every iteration variable that there ever was.
        relations: how they follow from the axes of the operation, in the order they were made.
        attach_type: where it is computed.
        attach_stage: the stage in one of whose loops it is computed, if it is.
        attach_ivar: that loop.
        group: the group that it belongs to, if any; see `Schedule.create_group`.
        scope: of the memory for its results; empty to choose by where it is computed.
    """

    def __init__(
        self, schedule: Schedule, op: Operation | None, is_output: bool, name: str = ""
    ) -> None:
        self.schedule = schedule
        self._op = op
        self._name = name
        self.origin_op = op
        self.is_output = is_output
        self.leaf_iter_vars: list[IterVar] = []
        self.all_iter_vars: list[IterVar] = []
        self.relations: list[Relation] = []
        self.kinds: dict[IterVar, ForKind] = {}
        self.pragmas: dict[IterVar, dict[str, Any]] = {}
        self.threads: dict[IterVar, IterVar] = {}
        """The thread axis that a loop is bound to."""
        self.prefetches: dict[IterVar, list[tuple[Tensor, Expr]]] = {}
        self.tensor_intrins: dict[IterVar, TensorIntrin] = {}
        self.attach_type = AttachType.GROUP_ROOT
        self.attach_stage: Stage | None = None
        self.attach_ivar: IterVar | None = None
        self.group: Stage | None = None
        self.scope = ""
        self.layout: Layout | None = None
        """Where the elements are, if not in the order of the dimensions."""
        self.is_double_buffered = False
        self.is_rolling = False
        self.store_predicate: Expr | None = None
        self.env_thread_axes: list[IterVar] = []
        self.alignments: dict[IterVar, tuple[int, int]] = {}
        """For an axis, the factor and offset of its stride."""
        self.restart(op)

    def restart(self, op: Operation | None) -> None:
        """Compute `op` instead, in the loops that it has by itself."""
        self._op = op
        axes: tuple[IterVar, ...] = ()
        if isinstance(op, ComputeOp):
            axes = (*op.axis, *op.reduce_axis)
        elif isinstance(op, ScanOp):
            axes = (op.scan_axis,)
        self.leaf_iter_vars = list(axes)
        self.all_iter_vars = list(axes)
        self.relations.clear()
        for marks in self.marks:
            marks.clear()

    @property
    def marks(self) -> tuple[dict[IterVar, Any], ...]:
        """What was asked for loops, by loop: one dictionary per primitive."""
        return self.kinds, self.pragmas, self.threads, self.prefetches, self.tensor_intrins

    @property
    def history(self) -> History:
        """The history of the schedule."""
        return self.schedule.history

    @property
    def op(self) -> Operation:
        """The operation; a group of stages has none."""
        if self._op is None:
            raise self.error("op", "a group of stages has no operation")
        return self._op

    @op.setter
    def op(self, op: Operation) -> None:
        """Compute `op`, which has the same axes, instead."""
        self._op = op

    @property
    def is_group(self) -> bool:
        """Whether it stands for a group of stages."""
        return self._op is None

    @property
    def name(self) -> str:
        """The name of its operation, or of the group."""
        return self._name if self._op is None else self._op.name

    def attachment(self) -> StageState:
        """The stage or group whose place is also that of this one.

        A stage without a place of its own is computed where its group is.
        """
        spec: StageState = self
        while spec.attach_type is AttachType.GROUP_ROOT and spec.group is not None:
            spec = spec.group
        return spec

    def position(self, primitive: str, var: Any) -> int:
        """The position of a loop, which must exist."""
        for position, leaf in enumerate(self.leaf_iter_vars):
            if leaf is var:
                return position
        if not isinstance(var, IterVar):
            raise self.error(primitive, f"expected a loop, got {var!r}")
        for relation in self.relations:
            if any(parent is var for parent in relation.parents):
                children = " and ".join(child.name for child in relation.children)
                raise self.error(
                    primitive,
                    f"iter var {var.name} has already been {relation.verb}; operate on {children}",
                )
        raise self.error(
            primitive,
            f"operate on iter var {var.name} that is not part of the schedule of this stage; the "
            f"loops are {self.loop_names()}",
        )

    def current_loop(self, var: IterVar) -> IterVar:
        """The loop that `var` has become: the inner one of a split, the fused one."""
        for relation in self.relations:
            if any(parent is var for parent in relation.parents):
                var = relation.children[-1]
        return var

    def loop_names(self) -> str:
        """The names of the loops, for messages."""
        return f"({', '.join(leaf.name for leaf in self.leaf_iter_vars)})"

    def error(self, primitive: str, reason: str) -> TEScheduleError:
        """The refusal of a primitive."""
        return TEScheduleError(f"{primitive} on stage {self.name}: {reason}")

    def __repr__(self) -> str:
        return f"stage({self.name}, loops={self.loop_names()})"
