"""A database in files of JSON lines, which several tuners may share."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tilewright.error import ArgumentError, DatabaseError, RecordError
from tilewright.ir.module import IRModule
from tilewright.tir.function import PrimFunc
from tilewright.tune.database.base import SkippedLine, kept_in_memory, report
from tilewright.tune.database.line_file import Line, LineFile
from tilewright.tune.database.memory import MemoryDatabase
from tilewright.tune.database.record import TuningRecord
from tilewright.tune.database.tvm_lines import (
    RECORD_FILE,
    WORKLOAD_FILE,
    is_of_auto_scheduler,
    read_auto_scheduler,
    read_record,
    read_workload,
)
from tilewright.tune.workload import ModuleEquality, Workload

VERSION: Final = 1
"""The version of the format of a line; others are skipped."""

_TRACE: Final = b',"trace":['
"""No text within quotes holds this, since quotes in it have a backslash."""


class JSONDatabase(MemoryDatabase):
    """Workloads and records in two files, or in one, with one JSON object a line.

    Files that Apache TVM's MetaSchedule (each of their lines is a list) or its auto-scheduler has
    written are read, too. What is committed to them is written in the form of this class.

    Committed records are on the disk when the method returns. Others may append to the files at
    the same time; what they append is found by the next query. A line that cannot be used (torn,
    garbage, of another version) is skipped and reported once.

    Args:
        path_workload: the file of workloads.
        path_tuning_record: the file of records; it may be the same.
        work_dir: the directory of both, ``database_workload.json`` and
            ``database_tuning_record.json``, where they are not given.
        allow_missing: whether files that do not exist are made.
        module_equality: when two modules are one workload; see `Database`.

    Attributes:
        skipped: the lines that were skipped.

    Raises:
        DatabaseError: if a file cannot be read.
    """

    def __init__(
        self,
        path_workload: str | os.PathLike[str] | None = None,
        path_tuning_record: str | os.PathLike[str] | None = None,
        *,
        work_dir: str | os.PathLike[str] | None = None,
        allow_missing: bool = True,
        module_equality: str | ModuleEquality = "structural",
    ) -> None:
        super().__init__(module_equality)
        self._workload_file = LineFile(_path(path_workload, work_dir, WORKLOAD_FILE))
        self._record_file = LineFile(_path(path_tuning_record, work_dir, RECORD_FILE))
        if self._record_file.path == self._workload_file.path:
            self._record_file = self._workload_file
        for file in (self._workload_file, self._record_file):
            if not allow_missing and not file.exists():
                raise DatabaseError(f"there is no record file {file.path}")
        self.skipped: list[SkippedLine] = []
        self._lock = threading.RLock()
        self._by_key: dict[str, Workload] = {}
        self._by_position: list[Workload | None] = []
        self._in_file: set[str] = set()
        self._generation = 0
        self._unwritten_records: list[TuningRecord] = []
        self.refresh()

    @property
    def path_workload(self) -> str:
        """The file of workloads."""
        return str(self._workload_file.path)

    @property
    def path_tuning_record(self) -> str:
        """The file of records."""
        return str(self._record_file.path)

    # --- reading --------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read what others have appended; every query does."""
        with self._lock:
            # A workload is written before its records: read after them, it is there.
            records = self._record_file.read_new()
            workloads = [] if self._is_one_file else self._workload_file.read_new()
            if self._workload_file.generation != self._generation:
                self._generation = self._workload_file.generation
                self._in_file.clear()
                self._by_position.clear()
            self._accept(workloads, records)

    @property
    def _is_one_file(self) -> bool:
        return self._record_file is self._workload_file

    def _accept(self, workloads: list[Line], records: list[Line]) -> None:
        skipped: list[SkippedLine] = []
        for file, lines, add in (
            (self._workload_file, workloads, self._accept_workload),
            (self._record_file, records, self._accept_record),
        ):
            for line in lines:
                if line.is_comment:
                    continue
                try:
                    (self._accept_either if self._is_one_file else add)(_parsed(line))
                except RecordError as error:
                    skipped.append(SkippedLine(file.path, line.number, str(error)))
        self.skipped += skipped
        report(skipped)

    def _accept_either(self, form: Any) -> None:
        """Accept a line of a file of both."""
        if isinstance(form, list):
            raise RecordError("lines of Apache TVM are read from two files, not from one")
        (self._accept_workload if "module" in form else self._accept_record)(form)

    def _accept_workload(self, form: Any) -> None:
        if isinstance(form, list):
            self._accept_tvm_workload(form)
            return
        workload = Workload.from_json(form)
        self._in_file.add(workload.key)
        if workload.key not in self._by_key:
            self._by_key[workload.key] = workload
            self._add_workload(workload)

    def _accept_tvm_workload(self, form: list[Any]) -> None:
        self._by_position.append(None)  # records name workloads by position, read or not
        workload = read_workload(form)
        known = self._by_key.setdefault(workload.key, workload)
        if known is workload:
            self._add_workload(workload)
        self._by_position[-1] = known

    def _accept_record(self, form: Any) -> None:
        if isinstance(form, list):
            self._add_record(read_record(form, self._by_position))
            return
        if is_of_auto_scheduler(form):
            record = read_auto_scheduler(form)
            self._add_record(record.of(self._own_workload(record.workload.mod)))
            return
        workload = self._by_key.get(str(form.get("workload")))
        if workload is None:
            raise RecordError(f"there is no workload {form.get('workload')}")
        self._add_record(TuningRecord.from_json(form, workload))

    def has_workload(self, mod: IRModule | PrimFunc) -> bool:
        """Whether there is a workload that is equal to `mod`."""
        self.refresh()
        return super().has_workload(mod)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest valid records of a workload, the best first."""
        self.refresh()
        return super().get_top_k(workload, top_k)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records, in order of addition."""
        self.refresh()
        return super().get_all_tuning_records()

    def __len__(self) -> int:
        self.refresh()
        return super().__len__()

    # --- writing --------------------------------------------------------------------------------

    def commit_workload(self, mod: IRModule | PrimFunc) -> Workload:
        """The workload of a module, which is added if it is new."""
        with self._lock:
            self.refresh()
            workload = self._own_workload(mod)
            self._write_workloads([workload])
            return workload

    def _own_workload(self, mod: IRModule | PrimFunc) -> Workload:
        """The workload of a module, in memory."""
        workload = super().commit_workload(mod)
        # A line that is damaged may have the key of this program for another one.
        while self._by_key.setdefault(workload.key, workload) is not workload:
            workload.shash = (workload.shash + 1) % 2**64
        return workload

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Add a record; its workload is added if it is new."""
        self.commit_tuning_records([record])

    def commit_tuning_records(self, records: Iterable[TuningRecord]) -> None:
        """Add several records, with one flush to the disk.

        Raises:
            DatabaseError: if they cannot be written. They are kept in memory, and written with
                the next ones.
        """
        with self._lock:
            for record in records:
                known = record.workload in self._by_workload
                own = record if known else record.of(self._own_workload(record.workload.mod))
                self._add_record(own)
                self._unwritten_records.append(own)
            self._write_records()

    def _write_workloads(self, workloads: Iterable[Workload]) -> None:
        """Write those that the file does not have."""
        new = {w.key: w for w in workloads if w.key not in self._in_file}
        self._accept(self._append(self._workload_file, [*new.values()]), [])
        self._in_file.update(new)

    def _write_records(self) -> None:
        try:
            self.refresh()
            self._write_workloads(record.workload for record in self._unwritten_records)
            found = self._append(self._record_file, self._unwritten_records)
        except DatabaseError as error:
            raise kept_in_memory(error, len(self._unwritten_records)) from None
        self._unwritten_records = []
        self._accept([], found)

    def _append(self, file: LineFile, items: list[Any]) -> list[Line]:
        if not items:
            return []
        lines = [_line({"version": VERSION, **item.as_json()}) for item in items]
        return file.append(lines)


def _path(path: str | os.PathLike[str] | None, work_dir: Any, name: str) -> Path:
    if path is not None:
        return Path(path)
    if work_dir is None:
        raise ArgumentError("JSONDatabase: give work_dir, or the paths of both files")
    return Path(work_dir) / name


def _line(form: dict[str, Any]) -> bytes:
    return json.dumps(form, separators=(",", ":"), allow_nan=False).encode("ascii")


def _lazily_parsed(text: bytes) -> Any:
    """The object that a line says, its trace left as text.

    Traces are most of a file, and of thousands of records the traces of a few are looked at.
    """
    head, mark, trace = text.rstrip().partition(_TRACE)
    if mark and trace.endswith(b"]}"):
        with contextlib.suppress(ValueError):
            return {**json.loads(head + b"}"), "trace": b"[" + trace[:-1]}
    return json.loads(text)


def _parsed(line: Line) -> dict[str, Any] | list[Any]:
    form = line.parsed(_lazily_parsed)
    if isinstance(form, list) or is_of_auto_scheduler(form):
        return form
    version = form.get("version") if isinstance(form, dict) else None
    if type(version) is not int:
        raise RecordError("this is not a line of a record file: it has no version")
    if version != VERSION:
        age = "newer" if version > VERSION else "older"
        raise RecordError(f"version {version} is {age} than this Tilewright reads ({VERSION})")
    return form
