"""Logs of what was measured: one file of lines of JSON, a database of the tuner.

A log has a line for each program and one for each candidate, in the form of tuning records; see
`JSONDatabase`. The name of the task of a record is the workload key.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tilewright.auto_scheduler.compute_dag import ComputeDAG
from tilewright.auto_scheduler.measure import MeasureInput, MeasureResult, RecordedTask
from tilewright.error import ArgumentValueError, RecordError
from tilewright.target import Target
from tilewright.tir.schedule import Schedule
from tilewright.tune.callback import AddToDatabase
from tilewright.tune.database import JSONDatabase, TuningRecord, fastest, selected

_logger = logging.getLogger(__name__)

DEFAULT_FILE: Final = "auto_scheduler_tuning.json"

Pair = tuple[MeasureInput, MeasureResult]


def open_log(filename: str | os.PathLike[str], *, must_exist: bool = True) -> JSONDatabase:
    """A log as a database.

    Lines that cannot be used are skipped, and logged with file, number and reason.

    Args:
        filename: the file.
        must_exist: whether a missing file is an error.

    Raises:
        DatabaseError: if there is no such file, or it cannot be read.
    """
    path = Path(filename)
    return JSONDatabase(path, path, allow_missing=not must_exist)


class RecordToFile(AddToDatabase):
    """A measure callback that appends each candidate to a log, also those that failed.

    What is measured again at the end of a search takes the place of what was measured before, so
    that the best record of the log is what the tuner chose.

    Args:
        filename: the log; made if it does not exist.
    """

    def __init__(self, filename: str | os.PathLike[str] = DEFAULT_FILE) -> None:
        super().__init__(open_log(filename, must_exist=False))


class RecordReader:
    """Reads a log.

    Args:
        filename: the log.

    Raises:
        DatabaseError: if there is no such file, or it cannot be read.
    """

    def __init__(self, filename: str | os.PathLike[str] = DEFAULT_FILE) -> None:
        self._database = open_log(filename)

    def read_lines(
        self, max_lines: int | None = None, skip_lines: int = 0
    ) -> tuple[list[MeasureInput], list[MeasureResult]]:
        """Candidates and what came of them, in two lists.

        Args:
            max_lines: how many, at most; None for all.
            skip_lines: the number of records at the beginning to leave out.
        """
        end = None if max_lines is None else skip_lines + max_lines
        records = self._database.get_all_tuning_records()[skip_lines:end]
        pairs = [pair_of(record) for record in records]
        return [inp for inp, _ in pairs], [result for _, result in pairs]

    def __iter__(self) -> Iterator[Pair]:
        return (pair_of(record) for record in self._database.get_all_tuning_records())


def pair_of(record: TuningRecord) -> Pair:
    """A record as a candidate and what came of it."""
    task = RecordedTask(record.task_name, record.target)
    return MeasureInput(task, record=record), MeasureResult.of(record)


def load_records(filename: str | os.PathLike[str]) -> Iterator[Pair]:
    """The candidates of a log and what came of them, in the order in which they were measured.

    Raises:
        DatabaseError: if there is no such file, or it cannot be read.
    """
    return iter(RecordReader(filename))


def load_best_record(
    filename: str | os.PathLike[str],
    workload_key: str | None = None,
    target: Target | str | None = None,
    include_compatible: bool = False,
) -> Pair | tuple[None, None]:
    """The fastest candidate of a log, the one that the tuner chose.

    Args:
        filename: the log.
        workload_key: of which computation; None for any.
        target: records for targets with other instructions or another number of cores do not
            count; None for any target.
        include_compatible: let those for any target count in any case.

    Returns:
        The candidate and its result; two times None if there is none.
    """
    records = open_log(filename).get_all_tuning_records()
    if workload_key is not None:
        records = [record for record in records if record.task_name == workload_key]
    best = fastest(selected(records, target=None if include_compatible else target), 1)
    return pair_of(best[0]) if best else (None, None)


def best_schedule(
    filename: str | os.PathLike[str], dag: ComputeDAG, target: Target | None
) -> Schedule | None:
    """The schedule of the fastest candidate of a log for a computation, each step proved.

    Args:
        filename: the log.
        dag: the computation.
        target: the target; None for any.

    Returns:
        None if there is no record that applies.
    """
    records = open_log(filename).get_all_tuning_records()
    found = selected(records, workload=dag.hash_key(), target=target)
    for record in fastest(found, len(found)):
        try:
            return record.schedule(dag.func)
        except RecordError as error:
            _logger.warning("%s: passed over %r: %s", filename, record, error)
    return None


def save_records(
    filename: str | os.PathLike[str],
    inputs: Sequence[MeasureInput],
    results: Sequence[MeasureResult],
) -> None:
    """Append candidates and what came of them to a log.

    Raises:
        ArgumentValueError: if there is not one result for each candidate.
        DatabaseError: if they cannot be written.
    """
    if len(inputs) != len(results):
        raise ArgumentValueError(f"save_records: {len(inputs)} inputs, but {len(results)} results")
    records = [inp.with_result(result) for inp, result in zip(inputs, results, strict=True)]
    open_log(filename, must_exist=False).commit_tuning_records(records)


def distill_record_file(in_file: str | os.PathLike[str], out_file: str | os.PathLike[str]) -> None:
    """Append the best record of each computation, target and machine of a log to another one."""
    open_log(in_file).dump_pruned(open_log(out_file, must_exist=False))
