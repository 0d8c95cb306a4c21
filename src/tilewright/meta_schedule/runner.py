"""What times candidates."""

from tilewright.tune.measure import (
    EvaluatorConfig,
    LocalRunner,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)

PyRunner = Runner
PyRunnerFuture = RunnerFuture

__all__ = [
    "EvaluatorConfig",
    "LocalRunner",
    "PyRunner",
    "PyRunnerFuture",
    "Runner",
    "RunnerFuture",
    "RunnerInput",
    "RunnerResult",
]
