"""A stage: how one operation of a schedule is computed, where, and in what memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.ir.convert import as_expr
from tilewright.ir.expr import IntImm, Var
from tilewright.te.operation import ComputeOp, PlaceholderOp, ScanOp
from tilewright.te.schedule.layout import layout_of, transform_of
from tilewright.te.schedule.loop_primitives import LoopPrimitives
from tilewright.te.schedule.primitive import recorded
from tilewright.te.schedule.stage_state import AttachType, StageState
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.index_map import IndexMap


class Stage(LoopPrimitives):
    """How one operation is computed: its loops, its place and its memory.

    Made by `create_schedule`; ``s[C]`` is the stage of the tensor C. For what it knows, see
    `StageState`.
    """

    def copy(self) -> Stage:
        """A stage with the same loops, which can be changed on its own."""
        twin = Stage.__new__(Stage)
        for name, value in vars(self).items():
            vars(twin)[name] = value.copy() if isinstance(value, (list, dict)) else value
        twin.prefetches = {leaf: list(wanted) for leaf, wanted in self.prefetches.items()}
        twin.pragmas = {leaf: dict(notes) for leaf, notes in self.pragmas.items()}
        return twin

    @recorded(loops_of="parent")
    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute in each iteration of a loop of another stage what is needed there.

        The axes of this stage then range over the part that the iteration needs, and so does its
        memory; what is needed in several iterations is computed in each of them.

        Where the loop is split or fused afterwards, the stage is computed in the inner one of the
        split, or in the fused one.

        Args:
            parent: a stage that reads this one, or in whose loop such a stage is computed.
            scope: the loop of `parent`.

        Raises:
            TEScheduleError: if `scope` is not a loop of `parent`, `parent` is computed inside of
                this stage, or this stage is an output or an input. Whether all readers are inside
                of the loop is checked when the schedule is lowered.
        """
        self._require_intermediate("compute_at")
        if not isinstance(parent, StageState) or parent.is_group:
            raise self.error("compute_at", f"the parent must be a stage such as s[C], got {parent}")
        self._require_outside(parent)
        if not any(leaf is scope for leaf in parent.leaf_iter_vars):
            name = scope.name if isinstance(scope, IterVar) else repr(scope)
            raise self.error(
                "compute_at",
                f"cannot find the axis {name} in the leaf_iter_vars {parent.loop_names()} of "
                f"stage {parent.name}",
            )
        self.attach_type = AttachType.SCOPE
        self.attach_stage, self.attach_ivar = parent, scope

    @recorded()
    def compute_inline(self) -> None:
        """Compute each element where it is read; the tensor gets no memory.

        Its buffer is not written, even where it is a parameter of the function.

        Raises:
            TEScheduleError: if this stage is an output, an input, or has a reduction.
        """
        self._require_intermediate("compute_inline")
        if self.is_group:
            raise self.error("compute_inline", "a group of stages cannot be inlined")
        op = self.op
        if not isinstance(op, ComputeOp):
            raise self.error("compute_inline", "only a te.compute can be inlined")
        if op.reduction is not None:
            raise self.error(
                "compute_inline", "it is a reduction, which is not an expression of its readers"
            )
        self._attach(AttachType.INLINE)

    @recorded()
    def compute_root(self) -> None:
        """Compute it on its own, before the stages that read it."""
        self._attach(AttachType.GROUP_ROOT)

    def _require_outside(self, parent: Stage) -> None:
        """Require that `parent` is not computed inside of this stage."""
        stage: StageState | None = parent
        while stage is not None:
            owner: StageState | None = stage
            while owner is not None:
                if owner is self:
                    raise self.error("compute_at", f"stage {parent.name} is computed inside of it")
                owner = owner.group
            stage = stage.attachment().attach_stage

    def _attach(self, kind: AttachType) -> None:
        self.attach_type = kind
        self.attach_stage = self.attach_ivar = None

    def _require_intermediate(self, primitive: str) -> None:
        if self.is_output:
            raise self.error(primitive, "it is an output, which is computed at the root")
        if not self.is_group and isinstance(self.op, PlaceholderOp):
            raise self.error(primitive, "it is an input, which is not computed")

    @recorded()
    def set_scope(self, scope: str) -> None:
        """Keep the results in memory of the given kind.

        Args:
            scope: such as ``"global"``, ``"shared"`` or ``"local"``. Without it, a stage that is
                computed in a loop of GPU threads is in ``"local"`` memory, in one of blocks only
                in ``"shared"``, and elsewhere in ``"global"``.

        Raises:
            TEScheduleError: if `scope` is not a name.
        """
        if not isinstance(scope, str) or not scope:
            raise self.error(
                "set_scope", f"the scope must be a name such as 'local', got {scope!r}"
            )
        self.scope = scope

    @recorded()
    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Choose the layout so that ``stride[axis] % factor == offset``.

        Args:
            axis: one of the axes of the operation.
            factor: such as the number of banks of shared memory.
            offset: what the stride is beyond a multiple of `factor`.

        Raises:
            TEScheduleError: for something that is not an axis of the operation, a factor that is
                not positive, a number that is not a constant, or an output, whose layout is given.
        """
        if self.is_output:
            raise self.error("storage_align", "it is an output, whose layout is given")
        axes = self.op.axis if isinstance(self.op, ComputeOp) else ()
        if not any(axis is item for item in axes):
            names = ", ".join(item.name for item in axes)
            raise self.error("storage_align", f"expected one of the axes ({names}), got {axis!r}")
        period, rest = self._constant("factor", factor), self._constant("offset", offset)
        if period <= 0:
            raise self.error("storage_align", f"the factor must be positive, got {period}")
        self.alignments[axis] = (period, rest)

    def _constant(self, name: str, value: Any) -> int:
        expr = as_expr(value)
        if not isinstance(expr, IntImm) or expr.dtype.is_bool:
            raise self.error("storage_align", f"the {name} must be an integer, got {value!r}")
        return expr.value

    @recorded(taken=lambda stage: stage.layout.arguments)
    def transform_layout(
        self, mapping_function: Callable[..., Any] | IndexMap, axis_separators: Sequence[int] = ()
    ) -> list[IterVar]:
        """Choose where the elements of the tensor are in memory.

        The buffer gets the new shape, also where it is a parameter of the function. The loops over
        the axes of the operation become loops over the dimensions of the new layout.

        Args:
            mapping_function: from the indices of the tensor to those of the buffer, such as
                ``lambda n, c: [n, c // 4, c % 4]``; `te.AXIS_SEPARATOR` between them starts a
                physical axis.
            axis_separators: dimensions of the buffer at which a physical axis starts, too.

        Returns:
            The new loops; none for an input.

        Raises:
            TEScheduleError: if two elements would be in one place, the tensor has another layout
                already, or its loops are not those of the operation any more.
        """
        op = self.op
        if self.layout is not None:
            raise self.error("transform_layout", "the tensor is in another layout already")
        if not isinstance(op, (ComputeOp, PlaceholderOp)):
            raise self.error("transform_layout", "only a te.compute or an input has a layout")
        layout = layout_of(mapping_function, op.output(0).ndim, axis_separators)
        refusal = self.error("transform_layout", "the layout has no inverse")
        if isinstance(op, PlaceholderOp):
            shape = op.output(0).shape
            axes = tuple(
                IterVar(Range.from_extent(e), Var(f"i{d}", e.dtype), IterType.DATA_PAR)
                for d, e in enumerate(shape)
            )
            transform_of(refusal, axes, layout)
            self.layout = layout
            return []
        leaves = self.leaf_iter_vars
        positions = [p for p, leaf in enumerate(leaves) if any(leaf is a for a in op.axis)]
        if len(positions) < len(op.axis):
            raise self.error(
                "transform_layout",
                f"the loops {self.loop_names()} are not those of the operation any more",
            )
        relation = transform_of(refusal, op.axis, layout)
        rest = [leaf for p, leaf in enumerate(leaves) if p not in positions]
        self.leaf_iter_vars = [*relation.children, *rest]
        self.all_iter_vars.extend(relation.children)
        self.relations.append(relation)
        self.layout = layout
        return list(relation.children)

    @recorded()
    def rolling_buffer(self) -> None:
        """Keep what the previous iteration computed in a circular buffer.

        For a stage that is computed in a serial loop whose iterations need overlapping parts: each
        then computes only the new part.

        Raises:
            TEScheduleError: if this stage is an output. Whether the parts overlap is checked when
                the schedule is lowered.
        """
        self._require_intermediate("rolling_buffer")
        self.is_rolling = True

    @recorded()
    def set_store_predicate(self, predicate: Any) -> None:
        """Say which of several GPU threads that store the same element need to.

        It changes no result: no thread may be excluded that stores an element of its own.

        Args:
            predicate: a condition on thread axes, such as ``thread_x.var.equal(0)``.

        Raises:
            TEScheduleError: if it is not a condition. Whether it is on threads that store the same
                is checked when the schedule is lowered.
        """
        condition = as_expr(predicate)
        if not condition.dtype.is_bool:
            raise self.error("set_store_predicate", f"expected a condition, got {condition!r}")
        self.store_predicate = condition

    @recorded()
    def env_threads(self, threads: Any) -> None:
        """Start GPU threads around all steps of a scan, and not in each step.

        Args:
            threads: a `te.thread_axis`, or a list of them, outermost first.

        Raises:
            TEScheduleError: if this is not the stage of a te.scan, or `threads` holds anything but
                thread axes. Whether threads can go through all steps on their own is checked when
                the schedule is lowered.
        """
        if self.is_group or not isinstance(self.op, ScanOp):
            raise self.error("env_threads", "only a te.scan has steps that threads go through")
        axes = list(threads) if isinstance(threads, (tuple, list)) else [threads]
        for axis in axes:
            if not isinstance(axis, IterVar) or axis.iter_type is not IterType.THREAD_INDEX:
                raise self.error("env_threads", f"expected a te.thread_axis, got {axis!r}")
        self.env_thread_axes = axes

    @recorded()
    def double_buffer(self) -> None:
        """Allow two copies of the memory, so that one is filled while the other is read.

        Raises:
            TEScheduleError: if this stage is an output.
        """
        if self.is_output:
            raise self.error("double_buffer", "cannot apply double buffer on output")
        self.is_double_buffered = True
