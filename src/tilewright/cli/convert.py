"""`tilewright records convert`: records of other forms as records of the tuner."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from tilewright.cli.program_file import run_file
from tilewright.error import ArgumentValueError, DatabaseError
from tilewright.tune.database import TuningRecord
from tilewright.tune.database.base import SkippedLine, report
from tilewright.tune.database.record import this_machine


class Format(NamedTuple):
    """A form of records.

    Attributes:
        module: has the function ``read_tuning_records(path, skipped, machine)``, which returns the
            records of a file, and adds the lines that cannot be used to the list `skipped`.
        keys: what each line, an object of JSON, has.
    """

    module: str
    keys: frozenset[str]


FORMATS: Final = {
    "autotvm": Format("tilewright.autotvm.conversion", frozenset({"input", "config", "result"})),
    "auto-scheduler": Format("tilewright.auto_scheduler.tvm_lines", frozenset({"i", "r", "v"})),
}
"""Forms of records by name."""


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a file of records")
    parser.add_argument(
        "--programs", type=Path, action="append", default=[], metavar="FILE.py",
        help="a file with the templates or workloads that the records name; it is run",
    )  # fmt: skip
    parser.add_argument(
        "--from", dest="form", choices=[*FORMATS], help="the form, if it cannot be told"
    )
    parser.add_argument(
        "--here", action="store_true",
        help="they were measured on this machine, which such records do not say",
    )  # fmt: skip


def converted(options: argparse.Namespace) -> list[TuningRecord]:
    """The records of a file; lines that cannot be used are logged.

    Raises:
        ArgumentValueError: if there is none, or if the form cannot be told.
        DatabaseError: if the file cannot be read.
    """
    for path in options.programs:
        if not path.is_file():
            raise ArgumentValueError(f"there is no file {path}")
        run_file(path)
    form = FORMATS[options.form or form_of(options.file)]
    skipped: list[SkippedLine] = []
    machine = this_machine() if options.here else {}
    records = importlib.import_module(form.module).read_tuning_records(
        options.file, skipped, machine
    )
    skipped.sort(key=lambda line: line.number)
    report(skipped)
    if not records:
        reason = f"; the first reason: {skipped[0].reason}" if skipped else ""
        raise ArgumentValueError(f"no line of {options.file} can be converted{reason}")
    return records


def form_of(path: Path) -> str:
    """The name of the form of a file, by the first line that is of a known form.

    Raises:
        ArgumentValueError: if there is no such line.
        DatabaseError: if the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DatabaseError(f"cannot read {path}: {error.strerror}") from None
    for line in text.splitlines():
        keys = _keys(line)
        for name, form in FORMATS.items():
            if form.keys <= keys:
                return name
    raise ArgumentValueError(
        f"{path} has no line of a form that is known, which are {', '.join(FORMATS)}"
    )


def _keys(line: str) -> set[Any]:
    try:
        form = json.loads(line)
    except (ValueError, RecursionError):
        return set()
    return set(form) if isinstance(form, dict) else set()
