"""`TEScheduleFn`: a space that a function of a te schedule describes."""

from __future__ import annotations

import inspect

from tilewright import te
from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.tir.schedule import Schedule
from tilewright.tune.candidate import entry_function
from tilewright.tune.space.space_generator import GENERATORS, ScheduleFn


@GENERATORS.add("te-schedule-fn")
class TEScheduleFn(ScheduleFn):
    """The space that a function of a te schedule describes.

    The function transforms the schedule that it gets, and samples what is to be tuned::

        def tile(s, A, B, C):
            i, j = C.op.axis
            rows = s.sample_perfect_tile(i, n=2)
            lanes = s.sample_categorical([8, 16], probs=[1, 1])
            s[C].tile(i, j, rows[1], lanes)

        ms.tune_tir(te.create_prim_func([A, B, C]), "llvm", space=TEScheduleFn(tile), ...)

    Where the program comes from does not matter: its tensors are read from it by `te.tensors_of`.
    As for `ScheduleFn`, the default schedule is a part of the space only in a
    ``SpaceGeneratorUnion([TEScheduleFn(tile), "post-order-apply"])``.

    Args:
        sch_fn: the function ``(schedule, *tensors)``, of what the parameters of the program are. It
            returns None, a `te.Schedule`, or a list of them: the sketches.
        sch_rules: not applied.
        postprocs: what is applied to each candidate after its trace.
        mutator_probs: how the search changes decisions, and how often each way is tried.
    """

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """What the function makes of a schedule of the tensors of the program.

        Raises:
            TEScheduleError: if the program is not one of tensors; see `te.tensors_of`.
            ArgumentError: if the function takes another number of tensors.
        """
        args = te.tensors_of(entry_function(mod))
        try:
            inspect.signature(self.sch_fn).bind(None, *args)
        except TypeError:
            names = ", ".join(["schedule", *(arg.name for arg in args)])
            raise ArgumentError(
                f"TEScheduleFn: the function is called with ({names}), got {self.sch_fn!r}"
            ) from None
        return super().generate_design_space(mod)

    def sketches_of(self, sch: Schedule) -> list[Schedule]:
        """What the function makes of a schedule of the program."""
        schedule, args = te.Schedule.of_blocks(sch)
        schedule.seed(sch.fork_seed())
        returned = self.sch_fn(schedule, *args)
        if returned is None:
            returned = schedule
        found: list[Schedule] = []
        for item in returned if isinstance(returned, (list, tuple)) else [returned]:
            if not isinstance(item, te.Schedule):
                raise ArgumentError(
                    "TEScheduleFn: the function returns None, a te.Schedule, or a list of them; "
                    f"got {item!r}"
                )
            found.append(sch.copy())
            item.apply_to(found[-1])
        return found
