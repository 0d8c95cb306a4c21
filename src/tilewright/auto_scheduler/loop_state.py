"""`State`: a schedule as the auto-scheduler's programs write it, in front of a `te.Schedule`.

Each primitive is one or more primitives of `te.Schedule`, which checks and records them. What a
state adds are names: iterators are called by what they were split and fused from, and a step is
numbered, so that later splits can follow it and record files can mention it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.auto_scheduler.loop_steps import LoopSteps
from tilewright.auto_scheduler.state_parts import (
    ANNOTATIONS,
    THREADS,
    Iterator,
    IteratorLike,
    StageLike,
)
from tilewright.error import ArgumentError, ArgumentValueError, did_you_mean
from tilewright.ir.expr import IntImm
from tilewright.te.operation import Operation
from tilewright.te.reducer import thread_axis
from tilewright.te.schedule import Stage as TEStage
from tilewright.te.schedule.relation import domain
from tilewright.tir.expr import IterVar


class State(LoopSteps):
    """The loops of a computation after some steps.

    ``state[C]`` is the stage of the tensor C, ``state[C].iters`` are its iterators. Primitives take
    a stage by its tensor, its operation or its number, and an iterator as `iters` and other
    primitives return it, or by its position. They change the state; see `copy`.

    Args:
        state_object: a schedule to which nothing has been done, or a state, which is copied.
        dag: the computation, or its inputs and outputs, which number the stages; without it, they
            have the numbers of a computation with the outputs of the schedule.

    Attributes:
        schedule: the schedule, with all that has been done.
        transform_steps: the steps by number.

    Raises:
        ArgumentError: if `state_object` is neither.
        ArgumentValueError: if something has been done to the schedule already.
    """

    # --- how iterators run ------------------------------------------------------------------------

    def parallel(self, stage: StageLike, iterator: IteratorLike) -> Iterator:
        """Run the iterations on several cores; see `te.Stage.parallel`."""
        return self._annotate("parallel", stage, iterator, TEStage.parallel)

    def vectorize(self, stage: StageLike, iterator: IteratorLike) -> Iterator:
        """Run the iterations as lanes of vectors; see `te.Stage.vectorize`."""
        return self._annotate("vectorize", stage, iterator, TEStage.vectorize)

    def unroll(
        self, stage: StageLike, iterator: IteratorLike, max_unroll: int | None = None
    ) -> Iterator:
        """Repeat the body for each iteration; see `te.Stage.unroll`.

        Args:
            stage: the stage.
            iterator: the iterator.
            max_unroll: an iterator with a larger extent stays as it is.
        """
        number, _, loop = self._find("unroll", stage, iterator)
        extent = domain(loop).extent
        if max_unroll is not None and isinstance(extent, IntImm) and extent.value > max_unroll:
            return self._iterator(number, loop)
        return self._annotate("unroll", stage, iterator, TEStage.unroll)

    def bind(self, stage: StageLike, iterator: IteratorLike, thread_name: str) -> Iterator:
        """Run one iteration per GPU thread or block; see `te.Stage.bind`.

        Args:
            stage: the stage.
            iterator: the iterator.
            thread_name: such as ``"threadIdx.x"``, or ``"vthread"``.

        Raises:
            ArgumentValueError: for another name, or if there is no such stage or iterator.
            TEScheduleError: if it cannot be bound.
        """
        if thread_name not in THREADS:
            raise ArgumentValueError(
                f"bind: there is no thread {thread_name!r}"
                + did_you_mean(thread_name, THREADS, f"; there are {', '.join(THREADS)}")
            )
        axis = thread_axis(thread_name)
        return self._annotate(thread_name, stage, iterator, lambda s, loop: s.bind(loop, axis))

    def pragma(self, stage: StageLike, iterator: IteratorLike, pragma_type: str) -> None:
        """Mark an iterator for the lowering; see `te.Stage.pragma`.

        Args:
            stage: the stage.
            iterator: the iterator.
            pragma_type: the mark, such as ``"auto_unroll_max_step$64"``: at most 64 steps are
                unrolled below it.

        Raises:
            ArgumentValueError: if there is no such stage or iterator, or the value behind ``$`` is
                not an integer.
        """
        number, position, loop = self._find("pragma", stage, iterator)
        if not isinstance(pragma_type, str) or not pragma_type:
            raise ArgumentError(f"pragma: the mark is a string, got {pragma_type!r}")
        name, _, value = pragma_type.partition("$")
        if value and not value.isdecimal():
            raise ArgumentValueError(f"pragma: {value!r} in {pragma_type!r} is not an integer")
        self._stages[number].pragma(loop, name, int(value) if value else None)
        if name == "auto_unroll_max_step":
            self._stages[number].pragma(loop, "unroll_explicit", True)
        self._note("PR", number, position, pragma_type)

    def storage_align(
        self, stage: StageLike, iterator: IteratorLike, factor: int, offset: int
    ) -> None:
        """Choose the layout so that ``stride[axis] % factor == offset``.

        Args:
            stage: the stage.
            iterator: one of the axes of its operation, which is not split or fused.
            factor: such as the number of banks of shared memory.
            offset: what the stride is beyond a multiple of `factor`.

        Raises:
            ArgumentValueError: if there is no such stage or iterator.
            TEScheduleError: see `te.Stage.storage_align`.
        """
        number, position, loop = self._find("storage_align", stage, iterator)
        self._stages[number].storage_align(loop, factor, offset)
        self._note("SA", number, position, factor, offset)

    # --- where stages are computed ----------------------------------------------------------------

    def compute_at(
        self, stage: StageLike, target_stage: StageLike, target_iter: IteratorLike
    ) -> None:
        """Compute in each iteration of another stage what is needed there.

        Raises:
            ArgumentValueError: if there is no such stage or iterator.
            TEScheduleError: see `te.Stage.compute_at`.
        """
        number = self._number("compute_at", stage)
        target, position, loop = self._find("compute_at", target_stage, target_iter)
        self._stages[number].compute_at(self._stages[target], loop)
        self._note("CA", number, target, position)

    def compute_inline(self, stage: StageLike) -> None:
        """Compute each element where it is read; see `te.Stage.compute_inline`."""
        number = self._number("compute_inline", stage)
        self._stages[number].compute_inline()
        self._note("CI", number)

    def compute_root(self, stage: StageLike) -> None:
        """Compute it on its own, before those that read it; see `te.Stage.compute_root`."""
        number = self._number("compute_root", stage)
        self._stages[number].compute_root()
        self._note("CR", number)

    # --- new stages -------------------------------------------------------------------------------

    def cache_read(
        self, stage: StageLike, scope_name: str, reader_stages: Sequence[StageLike]
    ) -> Operation:
        """Let some stages read a copy of what a stage computes.

        Args:
            stage: the stage, which may be an input.
            scope_name: the kind of memory of the copy, such as ``"shared"``.
            reader_stages: the stages that read the copy.

        Returns:
            The operation of the new stage, which has the number behind `stage`.

        Raises:
            ArgumentValueError: if there is no such stage.
            TEScheduleError: see `te.Schedule.cache_read`.
        """
        number = self._number("cache_read", stage)
        readers = [self._number("cache_read", reader) for reader in reader_stages]
        tensor = self._stages[number].op.output(0)
        cache = self.schedule.cache_read(
            tensor, scope_name, [self._stages[reader].op for reader in readers]
        )
        self._insert(number + 1, cache.op, f"{self._stage_names[number]}.{scope_name}")
        self._note("CHR", number, scope_name, readers)
        return cache.op

    def cache_write(self, stage: StageLike, scope_name: str) -> Operation:
        """Compute the results of a stage in other memory, and copy them from there.

        Args:
            stage: the stage.
            scope_name: the kind of memory of the copy, such as ``"local"``.

        Returns:
            The operation of the new stage, which has the number that `stage` had; that one, which
            only copies, has the next.

        Raises:
            ArgumentValueError: if there is no such stage.
            TEScheduleError: see `te.Schedule.cache_write`.
        """
        number = self._number("cache_write", stage)
        outputs = list(self._stages[number].op.outputs)
        if len(outputs) == 1:
            op = self.schedule.cache_write(outputs[0], scope_name).op
        else:
            op = self.schedule.cache_write(outputs, scope_name)[0].op
        self._insert(number, op, f"{self._stage_names[number]}.{scope_name}")
        self._note("CHW", number, scope_name)
        return op

    def rfactor(self, stage: StageLike, iterator: IteratorLike, factor_iter_id: int) -> Operation:
        """Reduce in two steps: an iterator of the reduction becomes an axis of partial results.

        Args:
            stage: the stage.
            iterator: an iterator over a part of the reduction.
            factor_iter_id: where the new dimension goes among those of the result.

        Returns:
            The operation of the partial results, which has the number that `stage` had; that one
            has the next.

        Raises:
            ArgumentValueError: if there is no such stage or iterator.
            TEScheduleError: see `te.Schedule.rfactor`.
        """
        number, position, loop = self._find("rfactor", stage, iterator)
        before = self._stages[number]
        names = {leaf.name: self._name(leaf) for leaf in before.leaf_iter_vars}
        partial = self.schedule.rfactor(before.op.output(0), loop, factor_iter_id)
        op = (partial[0] if isinstance(partial, list) else partial).op
        self._insert(number, op, f"{self._stage_names[number]}.rf")
        for leaf in self._stages[number].leaf_iter_vars:
            self._names.setdefault(leaf, names.get(leaf.name, leaf.name))
        self._note("RF", number, position, factor_iter_id)
        return op

    # --- steps ------------------------------------------------------------------------------------

    def _insert(self, number: int, op: Operation, name: str) -> None:
        self._stages.insert(number, self.schedule[op])
        self._stage_names.insert(number, name)

    def _annotate(
        self,
        annotation: str,
        stage: StageLike,
        iterator: IteratorLike,
        apply: Callable[[TEStage, IterVar], None],
    ) -> Iterator:
        primitive = "bind" if annotation in THREADS else annotation
        number, position, loop = self._find(primitive, stage, iterator)
        apply(self._stages[number], loop)
        self._note("AN", number, position, ANNOTATIONS.index(annotation))
        return self._iterator(number, loop)
