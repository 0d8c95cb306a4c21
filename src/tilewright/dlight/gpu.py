"""Rules for devices: the default schedule for those functions that a rule is about.

Pipelines list these rules in an order. The default schedule for devices has a structure for each
kind of block, so whichever rule comes first for a function, it gets the same. For other targets
none of them is for any function, and all functions get the default schedule when they are built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tilewright.dlight.cpu import multiplies_a_vector
from tilewright.dlight.rule import ScheduleRule
from tilewright.error import TargetError
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.default import default_schedule
from tilewright.schedule_rules.elementwise import transposed_along
from tilewright.schedule_rules.eligible import lacks_threads
from tilewright.schedule_rules.operands import find_contraction
from tilewright.target import Target
from tilewright.target.kinds import KERNEL_KINDS
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule import Schedule
from tilewright.tir.stmt import Block
from tilewright.tir.transform.building.statements import statements


class GPUScheduleRule(ScheduleRule):
    """Base class of the rules here: for functions with a block of some kind.

    Attributes:
        is_about: whether a block is of the kind that the rule is about.
    """

    is_about: ClassVar[Callable[[Block], bool]]

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        """The default schedule of a function with such a block; None for others.

        Raises:
            TargetError: for a graphics processor that there is no back end for.
        """
        del tunable
        if target.kind.name not in KERNEL_KINDS:
            if "gpu" not in target.keys:
                return None
            raise TargetError(
                f"dlight.gpu.{type(self).__name__}: there is no back end for the target "
                f"{target.kind.name!r}; use one of {', '.join(KERNEL_KINDS)}"
            )
        blocks = [stmt for stmt in statements(func.body) if isinstance(stmt, Block)]
        if not lacks_threads(func) or not any(map(type(self).is_about, blocks)):
            return None
        return default_schedule(func, target)


def _is_product(block: Block) -> bool:
    return find_contraction(accesses_of(block)) is not None


def _is_reduction(block: Block) -> bool:
    return block.init is not None


def _is_transposition(block: Block) -> bool:
    accesses = accesses_of(block)
    return block.init is None and any(
        transposed_along(accesses, var) is not None
        for store in accesses.stores
        for var in accesses.spatial
        if store.stride(var) == 1 and accesses.extents[var] != 1
    )


def _is_any(block: Block) -> bool:
    del block
    return True


class Matmul(GPUScheduleRule):
    """Products of matrices."""

    is_about = staticmethod(_is_product)


class GEMV(GPUScheduleRule):
    """Products of a matrix with a vector."""

    is_about = staticmethod(multiplies_a_vector)


class LowBatchGEMV(GPUScheduleRule):
    """Products of a matrix with a few vectors."""

    is_about = staticmethod(_is_product)

    def __init__(self, batch_pad: int = 8) -> None:
        self.batch_pad = batch_pad


class Reduction(GPUScheduleRule):
    """Sums along rows, and the like."""

    is_about = staticmethod(_is_reduction)


class GeneralReduction(GPUScheduleRule):
    """Several reductions one after the other, as in softmax."""

    is_about = staticmethod(_is_reduction)


class RMSNorm(GPUScheduleRule):
    """Normalisation by the root of the mean of squares."""

    is_about = staticmethod(_is_reduction)


class Transpose(GPUScheduleRule):
    """Elements that are read along another dimension than they are written along."""

    is_about = staticmethod(_is_transposition)


class Fallback(GPUScheduleRule):
    """All other functions."""

    is_about = staticmethod(_is_any)

    def __init__(self, max_wave: int = 1) -> None:
        self.max_wave = max_wave
