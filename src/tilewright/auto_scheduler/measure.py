"""How candidates are built and run, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tilewright.auto_scheduler.compute_dag import trace_of
from tilewright.auto_scheduler.search_task import SearchTask, register_task_input_buffer
from tilewright.error import ArgumentError, RecordError
from tilewright.target import Target
from tilewright.tune.candidate import ArgInfo
from tilewright.tune.database import TuningRecord
from tilewright.tune.measure import MeasureErrorNo
from tilewright.tune.measure.estimate import estimated_machine
from tilewright.tune.measure.old_arguments import LocalBuilder, LocalRunner, RPCRunner
from tilewright.tune.workload import Workload

__all__ = [
    "LocalBuilder",
    "LocalRPCMeasureContext",
    "LocalRunner",
    "MeasureErrorNo",
    "MeasureInput",
    "MeasureResult",
    "RPCRunner",
    "recover_measure_input",
    "register_task_input_buffer",
]

FAILED_COST: Final = 1e10
"""The seconds of a candidate that failed, in `MeasureResult.costs`."""


class LocalRPCMeasureContext:
    """A runner that measures in a process of its own, which ends with the context.

    So does every runner here; no network takes part. The name is for programs that know it.

    Args:
        priority: for old programs.
        n_parallel: for old programs; one candidate runs at a time.
        timeout: as for `LocalRunner`, and so are the others.
        number: runs per repetition, at least.
        repeat: repetitions.
        min_repeat_ms: how long a repetition takes at least.
        cooldown_interval: seconds of rest after each candidate.
        enable_cpu_cache_flush: start each run with caches that hold other data.
        device: for old programs.

    Attributes:
        runner: the runner, whose process ends when the context is gone.
    """

    def __init__(
        self,
        priority: int = 1,
        n_parallel: int = 1,
        timeout: float = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        del priority, n_parallel
        self.runner = LocalRunner(
            timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush,
            device,
        )  # fmt: skip

    def __del__(self) -> None:
        if hasattr(self, "runner"):
            self.runner.close()


class RecordedTask(NamedTuple):
    """The task of a line of a log, whose computation is not made yet.

    Attributes:
        workload_key: names the computation.
        target: the target.
    """

    workload_key: str
    target: Target | None


class MeasureInput:
    """A candidate of a task.

    Args:
        task: the task.
        state: the candidate: a `MeasureCandidate`, a `tir.Schedule`, or a trace. By default the
            one of `record`.
        record: the line of a log that it comes from.
    """

    def __init__(
        self,
        task: SearchTask | RecordedTask,
        state: Any = None,
        *,
        record: TuningRecord | None = None,
    ) -> None:
        if not isinstance(task, (SearchTask, RecordedTask)):
            raise ArgumentError(f"MeasureInput: expected a SearchTask, got {task!r}")
        if state is None and record is None:
            raise ArgumentError("MeasureInput: there is no candidate; give `state`")
        self.task, self.record, self._state = task, record, state

    @property
    def state(self) -> Any:
        """The candidate; that of a record is made when it is first asked for.

        Raises:
            RecordError: if a step of it does not apply.
        """
        if self._state is None and self.record is not None:
            self._state = self.record.as_measure_candidate()
        return self._state

    def with_result(self, result: MeasureResult) -> TuningRecord:
        """The record of this candidate and of what came of it."""
        if self.record is not None:
            return self.record
        if not isinstance(self.task, SearchTask):
            raise ArgumentError("save_records: the task of a candidate of your own is a SearchTask")
        func = self.task.compute_dag.func
        return TuningRecord(
            trace_of(self.state),
            Workload(func),
            None if result.error_no else result.costs,
            self.task.target,
            ArgInfo.from_prim_func(func),
            error=result.error_msg or None,
            error_kind=result.error_no.kind,
            timestamp=result.timestamp or None,
            task_name=self.task.workload_key,
            machine=estimated_machine(self.task.target) if result.is_estimate else None,
        )

    def __repr__(self) -> str:
        return f"MeasureInput({self.task})"


class MeasureResult:
    """What came of a candidate.

    Args:
        costs: seconds of a run, one number per repetition; 10**10 of one that failed.
        error_no: what kind of error there was, a `MeasureErrorNo`.
        error_msg: the message.
        all_cost: seconds that measuring took.
        timestamp: when that was, in seconds since 1970; 0 if it is not known.
        is_estimate: whether the costs are those of a model of a device, and were not measured.
    """

    def __init__(
        self,
        costs: Sequence[float],
        error_no: int = MeasureErrorNo.NO_ERROR,
        error_msg: str = "",
        all_cost: float = 0.0,
        timestamp: float = 0.0,
        *,
        is_estimate: bool = False,
    ) -> None:
        self.costs = tuple(float(seconds) for seconds in costs)
        self.error_no = MeasureErrorNo(error_no)
        self.error_msg, self.all_cost, self.timestamp = error_msg, all_cost, timestamp
        self.is_estimate = is_estimate

    @staticmethod
    def of(record: TuningRecord) -> MeasureResult:
        """The result that a record has."""
        costs = (record.run_secs if record.is_valid else None) or [FAILED_COST]
        number = MeasureErrorNo.of(record.error_kind or (None if record.is_valid else "run"))
        return MeasureResult(
            costs, number, record.error or "", 0.0, record.timestamp, is_estimate=record.is_estimate
        )

    def __repr__(self) -> str:
        if self.error_no:
            return f"MeasureResult({self.error_no.name}: {self.error_msg})"
        return f"MeasureResult(costs: {self.costs})"


def recover_measure_input(inp: MeasureInput, rebuild_state: bool = False) -> MeasureInput:
    """An input as `load_records` gives it, with the computation that its workload key stands for.

    Args:
        inp: the input.
        rebuild_state: make its schedule at once, so that an error is raised here.

    Raises:
        UnknownNameError: if the workload is not registered in this process.
        RecordError: if the program is another one now, or a step does not apply to it.
    """
    task = SearchTask(workload_key=inp.task.workload_key, target=inp.task.target)
    if inp.record is None:
        return MeasureInput(task, inp.state)
    key = inp.record.workload.key
    if key != task.compute_dag.hash_key():
        raise RecordError(
            f"the workload {task.workload_key} is another program than the one of the record: its "
            f"hash is {task.compute_dag.hash_key()}, not {key}"
        )
    found = MeasureInput(task, record=inp.record)
    if rebuild_state:
        found = MeasureInput(task, found.state, record=inp.record)
    return found
