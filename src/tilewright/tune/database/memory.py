"""Databases without files: in memory, by a function, and unions."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.error import DatabaseError
from tilewright.ir.module import IRModule
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.schedule import Schedule
from tilewright.tune.database.base import Database
from tilewright.tune.database.record import TuningRecord
from tilewright.tune.database.selection import fastest
from tilewright.tune.workload import ModuleEquality, Workload, normalized


class MemoryDatabase(Database):
    """Workloads and records that are gone when the process ends.

    Args:
        module_equality: when two modules are one workload; see `Database`.
    """

    def __init__(self, module_equality: str | ModuleEquality = "structural") -> None:
        super().__init__(module_equality)
        self._by_hash: dict[int, list[Workload]] = {}
        self._by_workload: dict[Workload, list[TuningRecord]] = {}
        self._records: list[TuningRecord] = []

    def has_workload(self, mod: IRModule | PrimFunc) -> bool:
        """Whether there is a workload that is equal to `mod`."""
        return self._find(normalized(mod)) is not None

    def commit_workload(self, mod: IRModule | PrimFunc) -> Workload:
        """The workload of a module, which is added if it is new."""
        module = normalized(mod)
        found = self._find(module)
        if found is None:
            found = Workload(module)
            self._add_workload(found)
        return found

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Add a record; its workload is added if it is new."""
        own = record.workload in self._by_workload
        workload = record.workload if own else self.commit_workload(record.workload.mod)
        self._add_record(record.of(workload))

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest valid records of a workload, the best first."""
        own = workload if workload in self._by_workload else self._find(workload.mod)
        return [] if own is None else fastest(self._by_workload[own], top_k)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records, in order of addition."""
        return list(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def _find(self, mod: IRModule) -> Workload | None:
        for workload in self._by_hash.get(self.module_equality.hash(mod), ()):
            if self.module_equality.equal(workload.mod, mod):
                return workload
        return None

    def _add_workload(self, workload: Workload) -> None:
        shash = self.module_equality.hash(workload.mod)
        self._by_hash.setdefault(shash, []).append(workload)
        self._by_workload[workload] = []

    def _add_record(self, record: TuningRecord) -> None:
        self._by_workload[record.workload].append(record)
        self._records.append(record)


class ScheduleFnDatabase(MemoryDatabase):
    """Answers every query by calling a function; committed records are kept, but not used.

    Args:
        schedule_fn: gets a schedule, transforms it, and returns whether it knew how to.
        module_equality: when two modules are one workload; see `Database`.
    """

    def __init__(
        self,
        schedule_fn: Callable[[Schedule], bool],
        module_equality: str | ModuleEquality = "structural",
    ) -> None:
        super().__init__(module_equality)
        self.schedule_fn = schedule_fn

    def query_tuning_record(
        self,
        mod: IRModule | PrimFunc,
        target: Target | str | None = None,
        workload_name: str = "main",
    ) -> TuningRecord | None:
        """What the function does to `mod`, as a record without times."""
        sch = Schedule(normalized(mod))
        if not self.schedule_fn(sch):
            return None
        workload = self.commit_workload(mod)
        return TuningRecord(sch.trace, workload, None, target, task_name=workload_name)


class UnionDatabase(Database):
    """The best record of all databases.

    Args:
        databases: the databases.
    """

    def __init__(self, *databases: Database) -> None:
        super().__init__()
        self.databases = list(databases)

    def has_workload(self, mod: IRModule | PrimFunc) -> bool:
        """Whether one of the databases has the workload."""
        return any(database.has_workload(mod) for database in self.databases)

    def commit_workload(self, mod: IRModule | PrimFunc) -> Workload:
        """Refused: it is not clear where to."""
        raise DatabaseError("a union is only asked: commit to one of its databases")

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Refused: it is not clear where to."""
        raise DatabaseError("a union is only asked: commit to one of its databases")

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest valid records of a workload, the best first."""
        found: list[TuningRecord] = []
        for database in self.databases:
            if database.has_workload(workload.mod):
                own = database.commit_workload(workload.mod)
                found += database.get_top_k(own, top_k)
        return fastest(found, top_k)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """The records of all databases, one database after the other."""
        return [
            record for database in self.databases for record in database.get_all_tuning_records()
        ]

    def __len__(self) -> int:
        return sum(len(database) for database in self.databases)

    def query_tuning_record(
        self,
        mod: IRModule | PrimFunc,
        target: Target | str | None = None,
        workload_name: str = "main",
    ) -> TuningRecord | None:
        """The best record of all databases."""
        found = [
            record
            for database in self.databases
            if (record := database.query_tuning_record(mod, target, workload_name)) is not None
        ]
        return min(found, key=lambda record: record.rank, default=None)


class OrderedUnionDatabase(UnionDatabase):
    """The best record of the first database that has one.

    Args:
        databases: the databases, the preferred ones first.
    """

    def query_tuning_record(
        self,
        mod: IRModule | PrimFunc,
        target: Target | str | None = None,
        workload_name: str = "main",
    ) -> TuningRecord | None:
        """The best record of the first database that has one."""
        for database in self.databases:
            record = database.query_tuning_record(mod, target, workload_name)
            if record is not None:
                return record
        return None
