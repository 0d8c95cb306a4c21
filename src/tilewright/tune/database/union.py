"""Several databases that are asked as one."""

from __future__ import annotations

from tilewright.error import DatabaseError
from tilewright.ir.module import IRModule
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tune.database.base import Database
from tilewright.tune.database.record import TuningRecord
from tilewright.tune.database.selection import fastest
from tilewright.tune.workload import Workload


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
        return min(found, key=lambda record: record.mean_secs, default=None)


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
