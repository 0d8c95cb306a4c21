"""Records of configs as records of the tuner, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.autotvm.measure import EstimatedResult, MeasureErrorNo, MeasureInput, MeasureResult
from tilewright.autotvm.record import read_lines
from tilewright.autotvm.task.task import Task, known_task
from tilewright.autotvm.task.workload import hashable
from tilewright.autotvm.template_step import config_of, template_trace
from tilewright.error import TVMError
from tilewright.tune.candidate import end_decisions
from tilewright.tune.database import TuningRecord
from tilewright.tune.database.base import SkippedLine
from tilewright.tune.measure.estimate import estimated_machine
from tilewright.tune.workload import Workload


def task_of(measured: MeasureInput) -> Task:
    """The task of a record, made of its template.

    Raises:
        UnknownNameError: if the template is not registered in this process.
        InstantiationError: if the template fails.
    """
    if isinstance(measured.task, Task):
        return measured.task
    return known_task(measured.task.name, hashable(measured.task.args), measured.target)


def to_tuning_record(
    measured: MeasureInput,
    result: MeasureResult,
    *,
    machine: Mapping[str, Any] | None = None,
    supersedes: bool = False,
) -> TuningRecord:
    """A record of the tuner: the program, and the trace that stands for the config.

    Args:
        measured: the config.
        result: what came of it.
        machine: what it was measured on; by default this machine. An empty one is unknown.
        supersedes: whether earlier records of the same config no longer count.

    Raises:
        UnknownNameError: if the template is not registered in this process.
        ArgumentValueError: for a config of another task.
    """
    task = task_of(measured)
    trace = template_trace(task, measured.config)
    end_decisions(trace)
    kind = MeasureErrorNo(result.error_no).kind
    return TuningRecord(
        trace.as_json(),
        Workload(task.mod),
        None if kind else result.costs,
        measured.target,
        error=None if kind is None else str(next(iter(result.costs), "")),
        error_kind=kind,
        machine=estimated_machine(measured.target) if result.is_estimate else machine,
        timestamp=result.timestamp,
        task_name=task.name,
        supersedes=supersedes,
    )


def read_tuning_records(
    path: str | os.PathLike[str], skipped: list[SkippedLine], machine: Mapping[str, Any]
) -> list[TuningRecord]:
    """The lines of a file of configs as records of the tuner.

    Args:
        path: the file.
        skipped: gets the lines that cannot be used, such as those of templates that are not
            registered in this process.
        machine: what they were measured on; an empty one is unknown.

    Raises:
        DatabaseError: if the file cannot be read.
    """
    found: list[TuningRecord] = []
    for line in read_lines(path, skipped):
        try:
            found.append(
                to_tuning_record(
                    line.measured, line.result, machine=machine, supersedes=line.supersedes
                )
            )
        except TVMError as error:
            skipped.append(SkippedLine(Path(path), line.number, str(error)))
    return found


def from_tuning_record(record: TuningRecord) -> tuple[MeasureInput, MeasureResult]:
    """The config that a record of the tuner is about, and what came of it.

    Raises:
        RecordError: for a record that no template made, or one whose knobs are others by now.
        UnknownNameError: if the template is not registered in this process.
    """
    task, config = config_of(record.trace_json)
    kind = EstimatedResult if record.is_estimate else MeasureResult
    result = kind(
        tuple(record.run_secs or ()) if record.is_valid else (record.error or "",),
        MeasureErrorNo.of(record.error_kind or (None if record.is_valid else "run")),
        0.0,
        record.timestamp,
    )
    return MeasureInput(record.target or task.target, task, config), result
