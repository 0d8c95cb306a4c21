"""The names of rules for graphics processors, which programs cannot be built for yet.

Pipelines for large language models list these rules whatever they are run for. For other targets
none of them is for any function, so all functions get the default schedule when they are built.
"""

from __future__ import annotations

from tilewright.dlight.rule import ScheduleRule
from tilewright.error import TargetError
from tilewright.target import Target
from tilewright.tir.function import PrimFunc


class GPUScheduleRule(ScheduleRule):
    """Base class of the rules here."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> None:
        """Nothing, as no rule is for functions of other targets.

        Raises:
            TargetError: for a graphics processor.
        """
        del func, tunable
        if "gpu" in target.keys:
            raise TargetError(
                f"dlight.gpu.{type(self).__name__}: there is no back end for the target "
                f"{target.kind.name!r} yet; use Target('llvm')"
            )


class Matmul(GPUScheduleRule):
    """Products of matrices."""


class GEMV(GPUScheduleRule):
    """Products of a matrix with a vector."""


class LowBatchGEMV(GPUScheduleRule):
    """Products of a matrix with a few vectors."""

    def __init__(self, batch_pad: int = 8) -> None:
        self.batch_pad = batch_pad


class Reduction(GPUScheduleRule):
    """Sums along rows, and the like."""


class GeneralReduction(GPUScheduleRule):
    """Several reductions one after the other, as in softmax."""


class RMSNorm(GPUScheduleRule):
    """Normalisation by the root of the mean of squares."""


class Transpose(GPUScheduleRule):
    """Transposes."""


class Fallback(GPUScheduleRule):
    """All other functions."""

    def __init__(self, max_wave: int = 1) -> None:
        self.max_wave = max_wave
