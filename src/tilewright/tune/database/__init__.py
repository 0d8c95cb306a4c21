"""Databases of tuning records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright.error import ArgumentValueError
from tilewright.tune.database.base import Database
from tilewright.tune.database.json_database import JSONDatabase
from tilewright.tune.database.memory import (
    MemoryDatabase,
    OrderedUnionDatabase,
    ScheduleFnDatabase,
    UnionDatabase,
)
from tilewright.tune.database.record import TuningRecord
from tilewright.tune.database.selection import best_records, fastest, selected
from tilewright.tune.database.sqlite_database import SQLiteDatabase

_KINDS: Final[dict[str, Callable[..., Database]]] = {
    "json": JSONDatabase,
    "memory": MemoryDatabase,
    "ordered_union": OrderedUnionDatabase,
    "sqlite": SQLiteDatabase,
    "union": UnionDatabase,
}


def create(kind: Any = "json", *args: Any, **kwargs: Any) -> Database:
    """A database by the name of its kind; see `Database.create`."""
    if isinstance(kind, Database):
        return kind
    if not isinstance(kind, str) and callable(kind):
        schedule_fn: Callable[..., Any] = kind
        return ScheduleFnDatabase(schedule_fn, *args, **kwargs)
    if kind not in _KINDS:
        raise ArgumentValueError(f"a database is one of {[*_KINDS]}, or a function; got {kind!r}")
    return _KINDS[kind](*args, **kwargs)
