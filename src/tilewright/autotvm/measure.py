"""Building and running of configs, and what came of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright.autotvm.task.space import ConfigEntity
from tilewright.autotvm.task.task import Task
from tilewright.autotvm.task.workload import Workload
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.target import Target
from tilewright.tune import measure
from tilewright.tune.measure import EvaluatorConfig, MeasureErrorNo

__all__ = [
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

    @property
    def mean(self) -> float:
        """The mean of the times in seconds; infinite for a config that failed."""
        return float("inf") if self.error_no else sum(self.costs) / len(self.costs)


class LocalBuilder(measure.LocalBuilder):
    """Builds in processes of this machine; see `tilewright.tune.measure.LocalBuilder`.

    Args:
        timeout: seconds that a config may take.
        n_parallel: number of processes; by default one per core that is not needed for timing.
        build_func: ``"default"``, or a function as `f_build` of that class.
    """

    def __init__(
        self, timeout: float = 10, n_parallel: int | None = None, build_func: Any = "default"
    ) -> None:
        if build_func != "default" and not callable(build_func):
            raise ArgumentValueError(
                f"LocalBuilder: build_func is 'default' or a function, got {build_func!r}"
            )
        own = None if build_func == "default" else build_func
        super().__init__(timeout_sec=timeout, max_workers=n_parallel, f_build=own)


class LocalRunner(measure.LocalRunner):
    """Runs in a process of this machine; see `tilewright.tune.measure.LocalRunner`.

    Args:
        timeout: seconds that a config may take in all.
        number: runs per repetition, at least.
        repeat: repetitions; each gives one time.
        min_repeat_ms: how long a repetition takes at least, by more runs if need be.
        cooldown_interval: seconds of rest after each config.
        enable_cpu_cache_flush: start each run with caches that hold other data.
    """

    def __init__(
        self,
        timeout: float = 10,
        number: int = 4,
        repeat: int = 3,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.1,
        enable_cpu_cache_flush: bool = False,
    ) -> None:
        config = EvaluatorConfig(number, repeat, min_repeat_ms, enable_cpu_cache_flush)
        super().__init__(timeout, config, cooldown_interval)


class RPCRunner:
    """A name that programs know: there is no such runner, and the error says what to use."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise ArgumentValueError(
            "RPCRunner: no tracker is asked for machines. autotvm.LocalRunner() measures on this "
            'one; runner="ray" measures on a cluster'
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
    for name, part, kind in (
        ("builder", builder, measure.Builder), ("runner", runner, measure.Runner),
    ):  # fmt: skip
        if not isinstance(part, (str, kind)):
            raise ArgumentError(
                f"measure_option: {name} is 'local', autotvm.Local{kind.__name__}(...), or another "
                f"{name} of the tuner; got {part!r}"
            )
    return {
        "builder": LocalBuilder() if builder == "local" else builder,
        "runner": LocalRunner() if runner == "local" else runner,
    }
