"""Workloads and the records of their candidates."""

from tilewright.tune.database import (
    Database,
    JSONDatabase,
    MemoryDatabase,
    OrderedUnionDatabase,
    ScheduleFnDatabase,
    SQLiteDatabase,
    TuningRecord,
    UnionDatabase,
)
from tilewright.tune.module_equality import ModuleEquality
from tilewright.tune.workload import Workload

PyDatabase = Database
create = Database.create

__all__ = [
    "Database",
    "JSONDatabase",
    "MemoryDatabase",
    "ModuleEquality",
    "OrderedUnionDatabase",
    "PyDatabase",
    "SQLiteDatabase",
    "ScheduleFnDatabase",
    "TuningRecord",
    "UnionDatabase",
    "Workload",
    "create",
]
