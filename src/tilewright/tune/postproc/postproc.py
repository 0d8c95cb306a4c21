"""`Postproc`: what is done to a candidate after its trace, and whether it is legal."""

from __future__ import annotations

from tilewright.tir.schedule import Schedule
from tilewright.tune.parts import Registry, TargetPart

POSTPROC_SETS: Registry[list[Postproc]] = Registry("list of postprocessors for")
"""The postprocessors for a kind of target, in the order in which they are applied."""


class Postproc(TargetPart):
    """Completes a candidate, or rejects it.

    Subclasses define `apply`.
    """

    def apply(self, sch: Schedule) -> bool:
        """Change the schedule, after its trace and `Schedule.enter_postproc`.

        Args:
            sch: the candidate.

        Returns:
            Whether it is worth measuring.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has to define apply(self, sch), which returns whether the "
            "schedule is worth measuring"
        )

    @staticmethod
    def create(kind: str) -> list[Postproc]:
        """The postprocessors for a kind of target, new ones every time.

        Args:
            kind: ``"llvm"``, ``"c"``, ``"vnni"``, ``"avx512"``, ``"dotprod"``, ``"cuda"``,
                ``"cuda-tensorcore"``, ``"opencl"`` or ``"hexagon"``.
        """
        return POSTPROC_SETS.make(kind)
