"""A database in memory."""

from __future__ import annotations

from tilewright.ir.module import IRModule
from tilewright.tir.function import PrimFunc
from tilewright.tune.database.base import Database
from tilewright.tune.database.record import TuningRecord
from tilewright.tune.database.selection import fastest
from tilewright.tune.module_equality import ModuleEquality
from tilewright.tune.workload import Workload, normalized


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
        """All records in the order in which they were added."""
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
