"""Records that the command line names: a directory, or a file of SQLite."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tilewright.tune.database import Database, JSONDatabase, SQLiteDatabase

_SQLITE: Final = (".sqlite", ".sqlite3", ".db")

METAVAR: Final = "RECORDS"
HELP: Final = "a directory of records, or a file of SQLite (.sqlite, .db)"


def open_records(place: str, *, may_be_new: bool = False) -> Database:
    """The database at a place.

    Raises:
        DatabaseError: if there is none, unless `may_be_new`.
    """
    path = Path(place)
    if path.suffix in _SQLITE:
        if not may_be_new and not path.is_file():
            return JSONDatabase(path, path, allow_missing=False)
        return SQLiteDatabase(path)
    return JSONDatabase(work_dir=path, allow_missing=may_be_new)
