"""Building candidates and timing them, in processes of their own.

Whatever a candidate does there (crash, hang, take all memory, compute wrong numbers) costs that
candidate alone, and is told by an `error_kind`.
"""

from tilewright.tune.measure.builder import Builder, BuilderInput, BuilderResult
from tilewright.tune.measure.error_kind import ERROR_KINDS, ErrorKind
from tilewright.tune.measure.local_builder import LocalBuilder
from tilewright.tune.measure.local_runner import LocalRunner
from tilewright.tune.measure.runner import (
    EvaluatorConfig,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
