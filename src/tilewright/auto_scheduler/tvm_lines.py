"""Lines of the record files of Apache TVM's auto-scheduler, as records of the tuner.

A line is a JSON object::

    {"i": [[workload key, target, hardware parameters, ...], [[], [step, ...]]],
     "r": [[seconds, ...], number of an error, seconds of measuring, time], "v": "v0.6"}

For steps see `record_steps`. The machine is not recorded. A workload key is a name and arguments,
so the function of that name must be registered in this process; no code is in a line.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tilewright.auto_scheduler.compute_dag import ComputeDAG
from tilewright.auto_scheduler.record_steps import apply_steps
from tilewright.auto_scheduler.workload_registry import registered
from tilewright.error import RecordError, TVMError
from tilewright.target import Target
from tilewright.te.schedule.within import unapplied_trace
from tilewright.tune.candidate import end_decisions, entry_function
from tilewright.tune.database import TuningRecord
from tilewright.tune.database.base import SkippedLine
from tilewright.tune.database.line_file import LineFile
from tilewright.tune.database.tvm_lines import read_target
from tilewright.tune.measure import MeasureErrorNo
from tilewright.tune.workload import Workload

_FAILED_SECONDS: Final = 1e10


class MeasuredSteps(NamedTuple):
    """What a line says.

    Attributes:
        workload_key: names the computation.
        target: what it was built for.
        steps: of its state, as lists.
        run_secs: the seconds of a run, one number per repetition.
        error_no: what became of it.
        timestamp: when that was, in seconds since 1970.
    """

    workload_key: str
    target: Target
    steps: list[Any]
    run_secs: list[float]
    error_no: MeasureErrorNo
    timestamp: float


def read_line(form: Any) -> MeasuredSteps:
    """What a line says, whose steps are not applied.

    Args:
        form: the object.

    Raises:
        RecordError: if it is malformed.
    """
    try:
        version = form["v"]
        (key, target, *_), (_, steps) = form["i"]
        costs, number, _, timestamp = form["r"]
        if not isinstance(version, str):
            raise ValueError(f"version {version} is one of AutoTVM before 0.7, which is not read")
        if not version.startswith("v0."):
            raise ValueError(f"version {version} is not one that is read, such as v0.6")
        if not isinstance(key, str) or not isinstance(steps, list):
            raise TypeError("a workload key is a text, and steps are a list")
        times = [float(seconds) for seconds in costs]
        error_no = MeasureErrorNo(number)
        if not error_no and not (times and all(0 < time < _FAILED_SECONDS for time in times)):
            raise ValueError(f"{costs} are not times in seconds")
        return MeasuredSteps(key, read_target(target), steps, times, error_no, float(timestamp))
    except RecordError:
        raise
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        raise RecordError(f"malformed line of the auto-scheduler: {error}") from None


def record_of(form: Any, machine: Mapping[str, Any] = MappingProxyType({})) -> TuningRecord:
    """The record of the tuner that a line says.

    Args:
        form: the object.
        machine: what it was measured on; an empty one is unknown.

    Raises:
        RecordError: if it is malformed, its workload is not registered, or a step does not apply.
    """
    line = read_line(form)
    program = _program(line.workload_key)
    state = program.dag.get_init_state()
    apply_steps(state, line.steps)
    if not state.is_decided:
        raise RecordError("the lengths of a split are not decided")
    trace = unapplied_trace(state.schedule, "main")
    end_decisions(trace)
    kind = line.error_no.kind
    return TuningRecord(
        trace,
        program.workload,
        None if kind else line.run_secs,
        line.target,
        error_kind=kind,
        machine=machine,
        versions={},
        timestamp=line.timestamp,
        task_name=line.workload_key,
    )


def read_tuning_records(
    path: str | os.PathLike[str], skipped: list[SkippedLine], machine: Mapping[str, Any]
) -> list[TuningRecord]:
    """The lines of a file as records of the tuner; each step is proved.

    Args:
        path: the file.
        skipped: gets the lines that cannot be used, such as those of workloads that are not
            registered in this process.
        machine: what they were measured on; an empty one is unknown.

    Raises:
        DatabaseError: if the file cannot be read.
    """
    found: list[TuningRecord] = []
    for line in LineFile(path).read_new():
        if line.is_comment:
            continue
        try:
            record = record_of(line.parsed(), machine)
            record.schedule()
            found.append(record)
        except RecordError as error:
            skipped.append(SkippedLine(Path(path), line.number, str(error)))
    return found


class _Program(NamedTuple):
    """The program of a workload, and the computation that is read from it."""

    workload: Workload
    dag: ComputeDAG


def _program(workload_key: str) -> _Program:
    try:
        return _made(workload_key, registered(workload_key))
    except TVMError as error:
        raise RecordError(str(error)) from None
    except Exception as error:  # the function of a workload is the user's
        raise RecordError(f"the workload {workload_key} fails: {error!r}") from None


@functools.lru_cache(maxsize=64)
def _made(workload_key: str, function: Any) -> _Program:
    del function  # which tells a workload that is registered anew from the old one
    workload = Workload(ComputeDAG(workload_key).func)
    return _Program(workload, ComputeDAG(entry_function(workload.mod)))
