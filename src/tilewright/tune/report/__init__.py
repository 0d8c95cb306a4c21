"""Reports: one HTML file that says how a tuning run went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from tilewright.error import ArgumentValueError, DatabaseError
from tilewright.runtime.peaks import DTYPES, Peaks, measure
from tilewright.tune.database import Database, TuningRecord
from tilewright.tune.report.page import html_page
from tilewright.tune.report.summary import TaskSummary, load_phases, save_phases, summarized

__all__ = ["load_phases", "save_phases", "write_report"]


def write_report(
    path: str | Path,
    records: Database | Iterable[TuningRecord],
    *,
    phases: Mapping[str, float] | None = None,
    peaks: Peaks | Literal["measured"] | None = "measured",
    title: str = "Tuning report",
) -> Path:
    """Write a report: one file, which needs nothing else.

    It has the best time of each task trial by trial, all candidates below what the machine can do,
    where the time went, why candidates failed, and the best schedules.

    Args:
        path: the file.
        records: a database, or some of its records.
        phases: the times of a `Profiler`.
        peaks: what the machine can do at most; ``"measured"`` takes seconds, and is nothing for
            records of another machine; None for a report without.
        title: the headline.

    Returns:
        the path of the file.
    """
    found = records.get_all_tuning_records() if isinstance(records, Database) else list(records)
    tasks = summarized(found)
    if not tasks:
        raise ArgumentValueError("there are no records to report about")
    html = html_page(tasks, title, phases, _measured(tasks) if peaks == "measured" else peaks)
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html, encoding="utf-8")
    except OSError as error:
        raise DatabaseError(f"cannot write {path}: {error.strerror or error}") from None
    return path


def _measured(tasks: list[TaskSummary]) -> Peaks | None:
    """What this machine can do, if all candidates ran here."""
    from tilewright.tune.database.record import this_machine

    here = this_machine()["cpu"]
    if any(record.machine.get("cpu") != here for task in tasks for record in task.trials):
        return None
    cores = max((task.target.num_cores for task in tasks if task.target is not None), default=1)
    dtypes = {task.dtype for task in tasks} & set(DTYPES)
    return measure(min(cores, int(this_machine()["cores"])), sorted(dtypes) or ["float32"])
