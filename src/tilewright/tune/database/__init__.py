"""Databases of tuning records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright.error import ArgumentValueError
from tilewright.tune.database.base import Database
from tilewright.tune.database.memory import MemoryDatabase
from tilewright.tune.database.record import TuningRecord
from tilewright.tune.database.selection import best_records, fastest, selected

_KINDS: Final[dict[str, Callable[..., Database]]] = {"memory": MemoryDatabase}


def create(kind: Any = "json", *args: Any, **kwargs: Any) -> Database:
    """A database by the name of its kind; see `Database.create`."""
    if isinstance(kind, Database):
        return kind
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ArgumentValueError(f"a database is one of {[*_KINDS]}, got {kind!r}")
    return _KINDS[kind](*args, **kwargs)
