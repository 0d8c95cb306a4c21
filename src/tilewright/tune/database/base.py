"""The interface of databases of tuning records."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tilewright.error import DatabaseError, RecordError, require_one_of
from tilewright.ir.module import IRModule
from tilewright.ir.recursion import ScopeStack
from tilewright.ir.structural import structural_equal
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.schedule import Schedule
from tilewright.tune.database.record import TuningRecord
from tilewright.tune.database.selection import same_machine_code
from tilewright.tune.replay import replayed_where_possible
from tilewright.tune.workload import ModuleEquality, Workload, normalized

_logger = logging.getLogger(__name__)
_scopes: ScopeStack[Database] = ScopeStack()


class Database:
    """Workloads, and the records of their candidates.

    Subclasses define `has_workload`, `commit_workload`, `commit_tuning_record`, `get_top_k`,
    `get_all_tuning_records` and `__len__`. ``with database:`` makes it the one that
    `Database.current()` returns.

    Args:
        module_equality: when two modules are one workload: ``"structural"``,
            ``"ignore-ndarray"`` (constants may have other values) or ``"anchor-block"`` (only the
            main block counts).
    """

    def __init__(self, module_equality: str | ModuleEquality = "structural") -> None:
        self.module_equality = ModuleEquality.create(module_equality)

    # --- what a database defines ----------------------------------------------------------------

    def has_workload(self, mod: IRModule | PrimFunc) -> bool:
        """Whether `commit_workload` has been called for a module equal to `mod`."""
        raise self._undefined("has_workload")

    def commit_workload(self, mod: IRModule | PrimFunc) -> Workload:
        """The workload of a module, which is added if it is new."""
        raise self._undefined("commit_workload")

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Add a record."""
        raise self._undefined("commit_tuning_record")

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest valid records of a workload, the best first."""
        raise self._undefined("get_top_k")

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records, failed candidates included, in order of addition."""
        raise self._undefined("get_all_tuning_records")

    def __len__(self) -> int:
        """Number of records."""
        raise self._undefined("__len__")

    def _undefined(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} does not define {method}")

    def __bool__(self) -> bool:
        # An empty database is one, too: `database or default` must not replace it.
        return True

    def commit_tuning_records(self, records: Iterable[TuningRecord]) -> None:
        """Add several records; databases in files write them at once."""
        for record in records:
            self.commit_tuning_record(record)

    # --- finding records ------------------------------------------------------------------------

    def query_tuning_record(
        self,
        mod: IRModule | PrimFunc,
        target: Target | str | None = None,
        workload_name: str = "main",
    ) -> TuningRecord | None:
        """The best record of a module for a target, or None.

        Args:
            mod: the module.
            target: records for targets with other instructions or another number of cores do not
                count; None for any target.
            workload_name: for compatibility; the module alone decides.
        """
        del workload_name
        return next(self._records_for(mod, target), None)

    def _records_for(
        self, mod: IRModule | PrimFunc, target: Target | str | None
    ) -> Iterator[TuningRecord]:
        """The records of a module for a target, the best first."""
        if not self.has_workload(mod):
            return
        wanted = Target.current() if target is None else Target(target)
        for record in self.get_top_k(self.commit_workload(mod), len(self)):
            if wanted is None or same_machine_code(record, wanted):
                yield record

    def query_schedule(
        self,
        mod: IRModule | PrimFunc,
        target: Target | str | None = None,
        workload_name: str = "main",
    ) -> Schedule | None:
        """The best schedule of a module for a target, or None.

        Records whose traces do not apply to the module are skipped.
        """
        record = self.query_tuning_record(mod, target, workload_name)
        if record is None:
            return None
        try:
            return self._scheduled(record, mod)
        except RecordError as error:
            _logger.warning("passed over %r: %s", record, error)
        for other in self._records_for(mod, target):
            with contextlib.suppress(RecordError):
                return self._scheduled(other, mod)
        return None

    def _scheduled(self, record: TuningRecord, mod: IRModule | PrimFunc) -> Schedule:
        module = normalized(mod)
        if self.module_equality.needs_same_blocks or structural_equal(module, record.workload.mod):
            return record.schedule(module)
        return replayed_where_possible(record.trace, module)

    def query_ir_module(
        self,
        mod: IRModule | PrimFunc,
        target: Target | str | None = None,
        workload_name: str = "main",
    ) -> IRModule | None:
        """The module with the best schedule applied, or None."""
        sch = self.query_schedule(mod, target, workload_name)
        return None if sch is None else sch.mod

    def query(
        self,
        mod: IRModule | PrimFunc,
        target: Target | str | None = None,
        workload_name: str = "main",
        kind: str = "schedule",
    ) -> Schedule | IRModule | TuningRecord | None:
        """The best record of a module, or its schedule, or the scheduled module.

        Args:
            mod: the module.
            target: as for `query_tuning_record`.
            workload_name: for compatibility.
            kind: ``"schedule"``, ``"record"`` or ``"ir_module"``.
        """
        queries: dict[str, Callable[..., Any]] = {
            "schedule": self.query_schedule,
            "record": self.query_tuning_record,
            "ir_module": self.query_ir_module,
        }
        require_one_of("query: kind", kind, queries)
        return queries[kind](mod, target, workload_name)

    def dump_pruned(self, destination: Database) -> None:
        """Add the best record of each workload (and target) to another database."""
        from tilewright.tune.database.selection import best_records

        for record in best_records(self.get_all_tuning_records()):
            workload = destination.commit_workload(record.workload.mod)
            destination.commit_tuning_record(record.of(workload))

    # --- scope ----------------------------------------------------------------------------------

    def __enter__(self) -> Database:
        _scopes.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        _scopes.leave()

    @staticmethod
    def current() -> Database | None:
        """The database of the innermost ``with`` statement."""
        return _scopes.innermost()

    @staticmethod
    def create(kind: Any = "json", *args: Any, **kwargs: Any) -> Database:
        """A database by the name of its kind.

        Args:
            kind: ``"json"``, ``"memory"``, ``"sqlite"``, ``"union"``, ``"ordered_union"``, or a
                function that schedules (see `ScheduleFnDatabase`); a database is returned as is.
            args: of the constructor of that kind.
            kwargs: of the constructor of that kind.
        """
        from tilewright.tune.database import create

        return create(kind, *args, **kwargs)


_SHOWN: Final = 10


class SkippedLine(NamedTuple):
    """A line that cannot be used.

    Attributes:
        path: of the file.
        number: of the line.
        reason: the defect.
    """

    path: Path
    number: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.number}: {self.reason}"


def report(lines: Sequence[SkippedLine]) -> None:
    """Log which lines are skipped, and why."""
    if not lines:
        return
    shown = "\n".join(f"  {line}" for line in lines[:_SHOWN])
    more = f"\n  and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    _logger.warning("skipped %s of tuning records:\n%s%s", count, shown, more)


def kept_in_memory(error: DatabaseError, count: int) -> DatabaseError:
    """The error of a write; its message says what becomes of the records."""
    records = "1 unwritten record is" if count == 1 else f"{count} unwritten records are"
    return DatabaseError(
        f"{error}; {records} kept in memory, and will be written with the next: free some space, "
        "or add them to another database"
    )
