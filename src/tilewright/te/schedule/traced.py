"""What a schedule does with its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from tilewright.te.schedule.history import History
from tilewright.te.schedule.primitive import apply

if TYPE_CHECKING:
    from tilewright.ir.expr import Var
    from tilewright.te.schedule.schedule import Schedule
    from tilewright.te.schedule.trace import Trace
    from tilewright.tir import schedule as tir_schedule
    from tilewright.tir.expr import IterVar
    from tilewright.tir.function import PrimFunc


class TracedSchedule:
    """Base class of `Schedule`.

    Attributes:
        history: what has been done to it.
    """

    history: History

    @property
    def trace(self) -> Trace:
        """The history: prints as Python, and can be saved and replayed."""
        return self.history.trace

    def apply(self, primitive: str, arguments: Mapping[str, Any], decision: Any = None) -> Any:
        """Apply the step of that name; what replaying a trace does.

        Args:
            primitive: its name, such as ``"te.split"``.
            arguments: by name; a method of a stage has the stage (or its tensor) as ``stage``.
            decision: of a sampling.
        """
        return apply(cast("Schedule", self), primitive, arguments, decision)

    # --- sampling ---------------------------------------------------------------------------

    def seed(self, seed: int) -> None:
        """Seed the random choices; -1 for a seed from the system."""
        self.history.samples.seed(seed)

    def sample_perfect_tile(
        self,
        loop: IterVar | int,
        n: int,
        max_innermost_factor: int = 16,
        decision: list[int] | None = None,
    ) -> list[Var]:
        """Choose `n` factors whose product is the extent of a loop; as in `tir.Schedule`.

        Args:
            loop: a loop of a stage, with a constant extent; or a number to take for the extent.
            n: how many factors.
            max_innermost_factor: the largest value of the last factor; -1 for no limit.
            decision: the factors to take, instead of choosing them.

        Returns:
            Variables that stand for the factors, the outermost first. Primitives of this schedule
            take them, and expressions of them, for numbers.

        Raises:
            TEScheduleError: for something that is not a loop, or has no such factors.
        """
        arguments = {"loop": loop, "n": n, "max_innermost_factor": max_innermost_factor}
        return self.history.sample("sample_perfect_tile", arguments, decision)

    def sample_categorical(
        self, candidates: list[int], probs: list[float], decision: int | None = None
    ) -> Var:
        """Choose one of several numbers at random; as in `tir.Schedule`.

        Args:
            candidates: the numbers.
            probs: how likely each one is; only their ratios count.
            decision: the position of the candidate to take, instead of choosing one.

        Returns:
            A variable that stands for the number.
        """
        arguments = {"candidates": candidates, "probs": probs}
        return self.history.sample("sample_categorical", arguments, decision)

    # --- as a step of a tir.Schedule --------------------------------------------------------

    def apply_to(self, sch: tir_schedule.Schedule, func_name: str | None = None) -> None:
        """Schedule a program made of blocks as this schedule says.

        It becomes one step of the trace of `sch`, which replaces the function. What this schedule
        has sampled are decisions of that trace, with the same values, and can be changed there. All
        parameters that are computed are outputs there: they are computed as a whole, also if other
        tensors read them.

        Args:
            sch: the schedule of the program, to which nothing has been done but sampling.
            func_name: the function, as `te.create_prim_func` makes it of the tensors of this
                schedule, or of others like them; by default the one that `sch` works on.

        Raises:
            TEScheduleError: if the function is another one, or cannot be scheduled so.
            ScheduleError: if iterations that run at once depend on each other.
            ArgumentValueError: for a schedule that cannot be saved, such as one with an intrinsic
                that has no name.
        """
        from tilewright.te.schedule.within import apply_to

        apply_to(cast("Schedule", self), sch, func_name)

    @staticmethod
    def of_blocks(
        sch: tir_schedule.Schedule, func_name: str | None = None
    ) -> tuple[Schedule, list[Any]]:
        """A te schedule of the tensors of a program made of blocks.

        Args:
            sch: a schedule of the program.
            func_name: the function; by default the one that `sch` works on.

        Returns:
            The schedule, to which nothing has been done, and the parameters; see `te.tensors_of`.

        Raises:
            TEScheduleError: for a function that `te.create_prim_func` does not make.
        """
        from tilewright.te.schedule.within import of_blocks

        return of_blocks(sch, func_name)

    @staticmethod
    @contextmanager
    def within(sch: tir_schedule.Schedule, func_name: str | None = None) -> Iterator[Schedule]:
        """A te schedule of a program made of blocks, which becomes a step of its schedule::

            sch = tir.Schedule(te.create_prim_func([A, B, C]))
            lanes = sch.sample_categorical([8, 16], probs=[0.5, 0.5])
            with te.Schedule.within(sch) as s:
                C = s.get_tensor("C")
                i, j, k = s.get_loops(C)
                s[C].split(j, factor=lanes)
            sch.vectorize(sch.get_loops("C_update")[-1])

        The step is applied at the end of the ``with`` statement, as `apply_to` does.

        Args:
            sch: the schedule of the program. Its sampled numbers can be used, and what the te
                schedule samples are decisions of its trace.
            func_name: the function; by default the one that `sch` works on.

        Raises:
            TEScheduleError: for a function that `te.create_prim_func` does not make.
        """
        from tilewright.te.schedule.within import apply_to, of_blocks

        schedule, _ = of_blocks(sch, func_name)
        schedule.history.share_samples(sch)
        yield schedule
        apply_to(schedule, sch, func_name)

    @staticmethod
    def from_trace(
        trace: tir_schedule.Trace | tir_schedule.Schedule, args: Sequence[Any] | PrimFunc
    ) -> tuple[Schedule, list[Any]]:
        """The te schedule that does what a trace of blocks does, such as one that a tuner found.

        Where the trace has a step that `apply_to` made, it has the stages of that one, with the
        numbers that were decided filled in. It continues with other steps; see `continue_with`.

        Args:
            trace: a trace of `tir.Schedule`, or such a schedule.
            args: the tensors and scalars that the program was made of, or the program.

        Returns:
            The schedule, and the parameters, which `tvm.lower` and `tvm.build` take.

        Raises:
            TEScheduleError: if the steps do not apply, or follow other ones.
        """
        from tilewright.te.schedule.within import from_trace

        return from_trace(trace, args)
