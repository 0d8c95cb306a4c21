"""Building candidates and timing them, in processes of their own.

Whatever a candidate does there (crash, hang, take all memory, compute wrong numbers) costs that
candidate alone, and is told by an `error_kind`.
"""

from tilewright.tune.measure.error_number import MeasureErrorNo
from tilewright.tune.measure.interfaces import (
    ERROR_KINDS,
    Builder,
    BuilderInput,
    BuilderResult,
    ErrorKind,
    EvaluatorConfig,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from tilewright.tune.measure.local_builder import LocalBuilder
from tilewright.tune.measure.local_runner import LocalRunner
