"""SQLite files that were spoilt, or written by somebody else."""

import logging
import sqlite3
import threading
from contextlib import closing

import pytest
from tests.tune.database.programs import matmul, record_of

from tilewright.error import DatabaseError
from tilewright.tune.database import SQLiteDatabase


@pytest.fixture
def path(tmp_path):
    """A file with two records."""
    path = tmp_path / "records.sqlite"
    with closing(SQLiteDatabase(path)) as database:
        workload = database.commit_workload(matmul())
        database.commit_tuning_records([record_of(workload, [s]) for s in (2.0, 1.0)])
    return path


def change(path, statement):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_file_that_is_no_database(tmp_path):
    path = tmp_path / "records.sqlite"
    path.write_text("something else\n" * 100)
    with pytest.raises(DatabaseError, match=f"cannot open {path}: file is not a database"):
        SQLiteDatabase(path)


@pytest.mark.parametrize("version", [-1, 999])
def test_a_file_of_another_version(path, version):
    change(path, f"PRAGMA user_version = {version}")
    with pytest.raises(DatabaseError, match=f"has version {version}; this Tilewright reads 1"):
        SQLiteDatabase(path)


def test_a_garbage_record_is_told_and_skipped(path, caplog):
    change(path, "UPDATE record SET body = 'garbage' WHERE id = 2")
    with closing(SQLiteDatabase(path)) as database:
        assert [r.mean_secs for r in database.get_all_tuning_records()] == [2.0]
    assert f"{path}:2: this is not JSON" in caplog.text


def test_a_batch_is_written_or_not(path, monkeypatch, caplog):
    caplog.set_level(logging.CRITICAL)
    with closing(SQLiteDatabase(path)) as database:
        workload = database.commit_workload(matmul())
        change(path, "CREATE TRIGGER full BEFORE INSERT ON record WHEN new.seconds = 7.0 "
                     "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END")  # fmt: skip
        message = "database or disk is full; 3 unwritten records are kept in memory"
        with pytest.raises(DatabaseError, match=message):
            database.commit_tuning_records([record_of(workload, [s]) for s in (6.0, 7.0, 8.0)])
        assert len(database) == 2
        change(path, "DROP TRIGGER full")
        database.commit_tuning_record(record_of(workload, [0.5]))
        times = [record.mean_secs for record in database.get_all_tuning_records()]
        assert times == [2.0, 1.0, 6.0, 7.0, 8.0, 0.5]


def test_threads_share_a_database(tmp_path):
    with closing(SQLiteDatabase(tmp_path / "records.sqlite")) as database:
        workload = database.commit_workload(matmul())

        def commit():
            for number in range(20):
                database.commit_tuning_record(record_of(workload, [number + 1.0]))

        threads = [threading.Thread(target=commit) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(database) == 80


@pytest.mark.parametrize("module", ["garbage", "[5]"])
def test_a_damaged_workload_is_mended_when_it_is_committed(path, caplog, module):
    change(path, f"UPDATE workload SET module = '{module}'")
    with closing(SQLiteDatabase(path)) as database:
        assert not database.has_workload(matmul())
        assert database.get_all_tuning_records() == []
        workload = database.commit_workload(matmul())
        database.commit_tuning_record(record_of(workload, [0.5]))
    with closing(SQLiteDatabase(path)) as database:
        assert [r.mean_secs for r in database.get_all_tuning_records()] == [2.0, 1.0, 0.5]
    assert f"workload {workload.key}: " in caplog.text
