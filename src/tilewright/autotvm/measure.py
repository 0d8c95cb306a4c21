"""Building and running of configs, and what came of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright.autotvm.task.space import ConfigEntity
from tilewright.autotvm.task.task import Task
from tilewright.autotvm.task.workload import Workload
from tilewright.target import Target
from tilewright.tune.measure import MeasureErrorNo, old_arguments
from tilewright.tune.measure.old_arguments import RPCRunner, require_parts

__all__ = [
    "EstimatedResult",
    "LocalBuilder",
    "LocalRunner",
    "MeasureErrorNo",
    "MeasureInput",
    "MeasureResult",
    "RPCRunner",
    "RecordedTask",
    "measure_option",
]


class RecordedTask(NamedTuple):
    """The task of a record, whose template need not be registered in this process.

    Attributes:
        name: the name of the template.
        args: its arguments, as `serialize_args` gives them.
        kwargs: none; for compatibility.
    """

    name: str
    args: Workload
    kwargs: dict[str, Any]

    @property
    def workload(self) -> Workload:
        """The name and the arguments: what tells it from other tasks."""
        return (self.name, *self.args)


class MeasureInput(NamedTuple):
    """What is measured.

    Attributes:
        target: what it is built for.
        task: the task; of a record, its name and arguments.
        config: the values of the knobs.
    """

    target: Target
    task: Task | RecordedTask
    config: ConfigEntity


class MeasureResult(NamedTuple):
    """What came of it.

    Attributes:
        costs: seconds per run, one for each repetition; the message of a config that failed.
        error_no: a `MeasureErrorNo`; 0 if there was no error.
        all_cost: seconds that building and running took.
        timestamp: when it was measured, in seconds since 1970.
    """

    costs: tuple[Any, ...]
    error_no: int
    all_cost: float
    timestamp: float

    is_estimate = False
    """Whether the times are those of a model of a device, and were not measured."""

    @property
    def mean(self) -> float:
        """The mean of the times in seconds; infinite for a config that failed."""
        return float("inf") if self.error_no else sum(self.costs) / len(self.costs)


class EstimatedResult(MeasureResult):
    """The result of a config for a device that is not here: its time is that of a model."""

    is_estimate = True


class LocalBuilder(old_arguments.LocalBuilder):
    """Builds in processes of this machine, with the default time limit of AutoTVM."""

    def __init__(
        self, timeout: float = 10, n_parallel: int | None = None, build_func: Any = "default"
    ) -> None:
        super().__init__(timeout, n_parallel, build_func)


class LocalRunner(old_arguments.LocalRunner):
    """Runs in a process of this machine, with the defaults of AutoTVM."""

    def __init__(
        self,
        timeout: float = 10,
        number: int = 4,
        repeat: int = 3,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.1,
        enable_cpu_cache_flush: bool = False,
    ) -> None:
        super().__init__(
            timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush
        )


def measure_option(builder: Any, runner: Any) -> dict[str, Any]:
    """How configs are measured, for `Tuner.tune`.

    Args:
        builder: ``"local"``, a `LocalBuilder`, any builder of `tilewright.tune`, or its name.
        runner: ``"local"``, a `LocalRunner`, any runner of `tilewright.tune`, or its name.

    Returns:
        A dictionary with both.

    Raises:
        ArgumentError: for something else.
    """
    require_parts("measure_option", builder, runner)
    return {
        "builder": LocalBuilder() if builder == "local" else builder,
        "runner": LocalRunner() if runner == "local" else runner,
    }
