"""`tilewright records`: look at records, choose among them, put them together."""

from __future__ import annotations

import argparse
import datetime
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from tilewright.cli import convert
from tilewright.error import ArgumentValueError
from tilewright.tune.database import (
    Database,
    JSONDatabase,
    SQLiteDatabase,
    TuningRecord,
    best_records,
    selected,
)
from tilewright.tune.database.tvm_lines import write_records
from tilewright.tune.report.quantities import count, seconds

_SQLITE: Final = (".sqlite", ".sqlite3", ".db")

METAVAR: Final = "RECORDS"
HELP: Final = "a directory of records, or a file of SQLite (.sqlite, .db)"


def open_records(place: str, *, may_be_new: bool = False) -> Database:
    """The database at a place.

    Raises:
        DatabaseError: if there is none, unless `may_be_new`.
    """
    path = Path(place)
    if path.suffix in _SQLITE:
        if not may_be_new and not path.is_file():
            return JSONDatabase(path, path, allow_missing=False)
        return SQLiteDatabase(path)
    return JSONDatabase(work_dir=path, allow_missing=may_be_new)


_COMMANDS: Final = {
    "list": "show records",
    "best": "show the best record of each task, target and machine",
    "stats": "count records by task and reason of failure",
    "filter": "copy some of the records",
    "merge": "copy records of several places to one",
    "convert": "copy the records of a file of another system",
}


def add_to(commands: Any) -> None:
    """Add the commands."""
    parser = commands.add_parser(
        "records",
        help="look at records, choose among them, put them together",
        description="Look at records, choose among them, put them together.",
    )
    inner = parser.add_subparsers(metavar="COMMAND", required=True)
    runs = {"list": _list, "best": _best, "stats": _stats, "filter": _filter, "merge": _merge}
    runs["convert"] = _convert
    for name, text in _COMMANDS.items():
        command = inner.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == "convert":
            convert.add_to(command)
        else:
            many = "+" if name == "merge" else None
            command.add_argument("records", metavar=METAVAR, nargs=many, help=HELP)
        _add_tests(command)
        if name in ("list", "best"):
            command.add_argument("--json", action="store_true", help="a JSON object a line")
        if name in ("filter", "merge", "convert"):
            command.add_argument("-o", "--output", required=True, metavar=METAVAR, help=HELP)
            command.add_argument(
                "--tvm", action="store_true", help="write new files as Apache TVM 0.18 reads them"
            )
        command.set_defaults(run=runs[name])


def _add_tests(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which records")
    group.add_argument("--workload", metavar="HASH", help="of that workload (first digits)")
    group.add_argument("--task", metavar="NAME", help="with that in the name of the task")
    group.add_argument("--target", help="for that target")
    group.add_argument("--machine", metavar="NAME", help="with that in the name of the CPU")
    group.add_argument("--since", type=date, metavar="DATE", help="from then on, as 2026-01-31")
    group.add_argument("--until", type=date, metavar="DATE", help="before that")
    outcome = group.add_mutually_exclusive_group()
    outcome.add_argument("--failed", action="store_true", default=None, help="that failed")
    outcome.add_argument(
        "--valid", action="store_false", dest="failed", default=None, help="that did not fail"
    )


def date(text: str) -> float:
    """A date or a time in ISO format, in seconds since 1970."""
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected a date such as 2026-01-31, got {text}"
        ) from None


def _selected(options: argparse.Namespace, records: Iterable[TuningRecord]) -> list[TuningRecord]:
    names = ("workload", "task", "target", "machine", "since", "until", "failed")
    return selected(records, **{name: getattr(options, name) for name in names})


def _chosen(options: argparse.Namespace) -> list[TuningRecord]:
    return _selected(options, open_records(options.records).get_all_tuning_records())


def _list(options: argparse.Namespace) -> int:
    _show(_chosen(options), options.json)
    return 0


def _best(options: argparse.Namespace) -> int:
    _show(best_records(_chosen(options)), options.json)
    return 0


def _show(records: Sequence[TuningRecord], as_json: bool) -> None:
    if as_json:
        for record in records:
            print(json.dumps(record.as_json()))
        return
    rows = [
        (
            f"{datetime.datetime.fromtimestamp(r.timestamp):%Y-%m-%d %H:%M:%S}",
            r.task_name,
            r.workload.key[:8],
            seconds(r.mean_secs) if r.is_valid else f"failed: {r.error_kind or 'no times'}",
            str(r.target),
            str(r.machine.get("cpu", "")),
        )
        for r in records
    ]
    _print_table(("Date", "Task", "Workload", "Time", "Target", "Machine"), rows)


def _print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def _stats(options: argparse.Namespace) -> int:
    records = _chosen(options)
    rows: list[tuple[str, ...]] = []
    for task, key in dict.fromkeys((r.task_name, r.workload.key) for r in records):
        own = [r for r in records if (r.task_name, r.workload.key) == (task, key)]
        kinds = Counter(r.error_kind or "no times" for r in own if not r.is_valid)
        failed = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common()) or "0"
        best = min((r.mean_secs for r in best_records(own)), default=None)
        rows.append((task, key[:8], str(len(own)), failed, "" if best is None else seconds(best)))
    _print_table(("Task", "Workload", "Records", "Failed", "Best"), rows)
    return 0


def _filter(options: argparse.Namespace) -> int:
    return _copy(_chosen(options), options)


def _merge(options: argparse.Namespace) -> int:
    sources = [open_records(place) for place in options.records]
    found = [record for source in sources for record in source.get_all_tuning_records()]
    return _copy(_selected(options, found), options)


def _convert(options: argparse.Namespace) -> int:
    return _copy(_selected(options, convert.converted(options)), options)


def _copy(records: Sequence[TuningRecord], options: argparse.Namespace) -> int:
    """Add records to a database, those that it has already left out."""
    if not records:
        raise ArgumentValueError("no record passes the tests")
    place = options.output
    if options.tvm:
        write_records(records, place)
        print(f"{count(len(records), 'record')} written to {place}")
        return 0
    destination = open_records(place, may_be_new=True)
    known = {_identity(record) for record in destination.get_all_tuning_records()}
    new: dict[str, TuningRecord] = {}
    for record in records:
        new.setdefault(_identity(record), record)
    added = [record for identity, record in new.items() if identity not in known]
    destination.commit_tuning_records(added)
    print(f"{count(len(added), 'record')} added to {place}, which has {len(destination)}")
    return 0


def _identity(record: TuningRecord) -> str:
    return json.dumps(record.as_json(), sort_keys=True)
