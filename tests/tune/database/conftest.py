"""Fixtures of databases in files."""

import pytest

from tilewright.tune.database import JSONDatabase, SQLiteDatabase


@pytest.fixture(params=["json", "one file", "sqlite"])
def open_database(request, tmp_path):
    """A function that opens the same files again and again."""
    opened = []

    def open_again(**options):
        if request.param == "json":
            database = JSONDatabase(work_dir=tmp_path, **options)
        elif request.param == "one file":
            path = tmp_path / "records.json"
            database = JSONDatabase(path, path, **options)
        else:
            database = SQLiteDatabase(tmp_path / "records.sqlite", **options)
            opened.append(database)
        return database

    yield open_again
    for database in opened:
        database.close()
