"""A database in one SQLite file, for many users at once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from tilewright.error import DatabaseError, RecordError
from tilewright.ir.module import IRModule
from tilewright.tir.function import PrimFunc
from tilewright.tune.database.base import Database, SkippedLine, kept_in_memory, report
from tilewright.tune.database.record import TuningRecord
from tilewright.tune.workload import ModuleEquality, Workload, normalized

_logger = logging.getLogger(__name__)

VERSION: Final = 1
"""The version of the tables, SQLite's ``user_version``."""

_TABLES: Final = f"""
BEGIN;
CREATE TABLE IF NOT EXISTS workload (
    key TEXT PRIMARY KEY,   -- the structural hash
    hash TEXT NOT NULL,     -- the hash of the relation of modules
    module TEXT NOT NULL    -- as JSON
);
CREATE INDEX IF NOT EXISTS workload_hash ON workload (hash);
CREATE TABLE IF NOT EXISTS record (
    id INTEGER PRIMARY KEY,
    workload TEXT NOT NULL REFERENCES workload (key),
    seconds REAL,           -- the mean; NULL if it does not count: it failed, or was superseded
    candidate TEXT NOT NULL,
    body TEXT NOT NULL      -- as JSON
);
CREATE INDEX IF NOT EXISTS record_speed ON record (workload, seconds);
CREATE INDEX IF NOT EXISTS record_candidate ON record (candidate);
PRAGMA user_version = {VERSION};
COMMIT;
"""


class SQLiteDatabase(Database):
    """Workloads and records in one file, which many processes read and write at once.

    Nothing is kept in memory, so the file may hold millions of records.

    Args:
        path: the file; made if it does not exist.
        module_equality: when two modules are one workload; see `Database`. All users of a file
            use the same.
        timeout: seconds to wait for another writer.

    Raises:
        DatabaseError: if the file cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        module_equality: str | ModuleEquality = "structural",
        timeout: float = 60.0,
    ) -> None:
        super().__init__(module_equality)
        self.path = Path(path)
        self._lock = threading.RLock()
        self._known: dict[str, Workload] = {}
        self._unwritten: list[tuple[TuningRecord, str]] = []
        with self._errors("open"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.path, timeout=timeout, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._connection.close)
            version = self._one("PRAGMA user_version")
            if version not in (0, VERSION):
                raise DatabaseError(
                    f"{self.path} has version {version}; this Tilewright reads {VERSION}"
                )
            self._one("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            if version == 0:
                self._connection.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    # --- workloads ------------------------------------------------------------------------------

    def has_workload(self, mod: IRModule | PrimFunc) -> bool:
        """Whether there is a workload that is equal to `mod`."""
        return self._find(normalized(mod)) is not None

    def commit_workload(self, mod: IRModule | PrimFunc) -> Workload:
        """The workload of a module, which is added if it is new."""
        module = normalized(mod)
        found = self._find(module)
        if found is None:
            found = Workload(module)
            row = (found.key, self._hash(module), json.dumps(found.as_json()["module"]))
            with self._transaction() as connection:
                # Another process may have added it since; one that is damaged is mended.
                connection.execute("INSERT OR REPLACE INTO workload VALUES (?, ?, ?)", row)
            self._known[found.key] = found
        return found

    def _hash(self, mod: IRModule) -> str:
        return f"{self.module_equality.hash(mod):016x}"

    def _find(self, mod: IRModule) -> Workload | None:
        with self._errors("read"):
            rows = self._rows("SELECT key FROM workload WHERE hash = ?", self._hash(mod))
        for (key,) in rows:
            try:
                workload = self._workload(key)
            except RecordError as error:
                _logger.warning("%s: workload %s: %s", self.path, key, error)
                continue
            if self.module_equality.equal(workload.mod, mod):
                return workload
        return None

    def _workload(self, key: str) -> Workload:
        found = self._known.get(key)
        if found is None:
            with self._errors("read"):
                text = self._one("SELECT module FROM workload WHERE key = ?", key)
            form = {"hash": key, "module": _loaded(text)}
            found = self._known[key] = Workload.from_json(form)
        return found

    # --- records --------------------------------------------------------------------------------

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Add a record; its workload is added if it is new."""
        self.commit_tuning_records([record])

    def commit_tuning_records(self, records: Iterable[TuningRecord]) -> None:
        """Add several records, all or none.

        Raises:
            DatabaseError: if they cannot be written. They are kept in memory, and written with
                the next ones.
        """
        with self._lock:
            for record in records:
                own = record.workload
                if self._known.get(own.key) is not own:
                    own = self.commit_workload(own.mod)
                record = record.of(own)
                body = json.dumps(record.as_json(), separators=(",", ":"), allow_nan=False)
                self._unwritten.append((record, body))
            try:
                self._write()
            except DatabaseError as error:
                raise kept_in_memory(error, len(self._unwritten)) from None

    def _write(self) -> None:
        with self._transaction() as connection:
            for record, body in self._unwritten:
                candidate = _digest(record.candidate_key)
                if record.supersedes:
                    connection.execute(
                        "UPDATE record SET seconds = NULL WHERE candidate = ?", (candidate,)
                    )
                seconds = record.mean_secs if record.is_valid else None
                connection.execute(
                    "INSERT INTO record (workload, seconds, candidate, body) VALUES (?, ?, ?, ?)",
                    (record.workload.key, seconds, candidate, body),
                )
        self._unwritten = []

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest valid records of a workload, the best first."""
        own = self._find(workload.mod)
        if own is None:
            return []
        with self._errors("read"):
            rows = self._rows(
                "SELECT id, workload, body FROM record WHERE workload = ? AND seconds IS NOT NULL "
                "ORDER BY instr(body, ?) > 0, seconds, id LIMIT ?",
                own.key,
                '"machine":{"estimate":',  # what was measured comes first
                max(top_k, 0),
            )
        return self._records(rows)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records, in order of addition."""
        with self._errors("read"):
            rows = self._rows("SELECT id, workload, body FROM record ORDER BY id")
        return self._records(rows)

    def __len__(self) -> int:
        with self._errors("read"):
            return self._one("SELECT count(*) FROM record")

    def _records(self, rows: list[Any]) -> list[TuningRecord]:
        found: list[TuningRecord] = []
        skipped: list[SkippedLine] = []
        for number, key, body in rows:
            try:
                record = TuningRecord.from_json(_loaded(body), self._workload(key))
                found.append(record)
            except RecordError as error:
                skipped.append(SkippedLine(self.path, number, str(error)))
        report(skipped)
        return found

    # --- the file -------------------------------------------------------------------------------

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def _one(self, statement: str, *values: Any) -> Any:
        rows = self._rows(statement, *values)
        return rows[0][0] if rows else None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._errors("write"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _errors(self, action: str) -> Iterator[None]:
        try:
            yield
        except DatabaseError:
            raise
        except (sqlite3.Error, OSError) as error:
            raise DatabaseError(f"cannot {action} {self.path}: {error}") from None
        except (UnicodeDecodeError, MemoryError, OverflowError):
            # Messages about damage quote it; damaged sizes are larger than any memory.
            raise DatabaseError(f"cannot {action} {self.path}: the file is damaged") from None


def _digest(key: tuple[str, ...]) -> str:
    return hashlib.blake2b("\0".join(key).encode(), digest_size=16).hexdigest()


def _loaded(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise RecordError("this is not JSON") from None
