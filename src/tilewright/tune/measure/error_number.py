"""Numbers of the kinds of errors, as in record files of AutoTVM and of the auto-scheduler."""

from __future__ import annotations

import enum
from typing import Final

from tilewright.tune.measure.interfaces import ErrorKind


class MeasureErrorNo(enum.IntEnum):
    """What became of a candidate."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    """A step of its schedule was refused."""
    COMPILE_HOST = 2
    """It cannot be compiled."""
    COMPILE_DEVICE = 3
    """Its code for a GPU cannot be compiled."""
    RUNTIME_DEVICE = 4
    """It reported an error while it ran, or cannot be loaded."""
    WRONG_ANSWER = 5
    """It computes other numbers than the program that was to be tuned."""
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8

    @staticmethod
    def of(kind: str | None) -> MeasureErrorNo:
        """The number of a kind of error; None is no error."""
        return _NUMBERS.get(kind, MeasureErrorNo.UNKNOWN_ERROR)

    @property
    def kind(self) -> ErrorKind | None:
        """The kind of error of a number; None for no error."""
        return _KINDS[self]


_NUMBERS: Final[dict[str | None, MeasureErrorNo]] = {
    None: MeasureErrorNo.NO_ERROR,
    "illegal-schedule": MeasureErrorNo.INSTANTIATION_ERROR,
    "build": MeasureErrorNo.COMPILE_HOST,
    "run": MeasureErrorNo.RUNTIME_DEVICE,
    "crash": MeasureErrorNo.RUNTIME_DEVICE,
    "illegal-instruction": MeasureErrorNo.RUNTIME_DEVICE,
    "wrong-result": MeasureErrorNo.WRONG_ANSWER,
    "build-timeout": MeasureErrorNo.BUILD_TIMEOUT,
    "timeout": MeasureErrorNo.RUN_TIMEOUT,
}
_KINDS: Final[dict[MeasureErrorNo, ErrorKind | None]] = {
    MeasureErrorNo.NO_ERROR: None,
    MeasureErrorNo.INSTANTIATION_ERROR: "illegal-schedule",
    MeasureErrorNo.COMPILE_HOST: "build",
    MeasureErrorNo.COMPILE_DEVICE: "build",
    MeasureErrorNo.RUNTIME_DEVICE: "run",
    MeasureErrorNo.WRONG_ANSWER: "wrong-result",
    MeasureErrorNo.BUILD_TIMEOUT: "build-timeout",
    MeasureErrorNo.RUN_TIMEOUT: "timeout",
    MeasureErrorNo.UNKNOWN_ERROR: "run",
}
