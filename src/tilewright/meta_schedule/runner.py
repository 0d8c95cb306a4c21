"""What times candidates."""

from tilewright.tune.measure import (
    EvaluatorConfig,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)

PyRunner = Runner
PyRunnerFuture = RunnerFuture

__all__ = [
    "EvaluatorConfig",
    "PyRunner",
    "PyRunnerFuture",
    "Runner",
    "RunnerFuture",
    "RunnerInput",
    "RunnerResult",
]
