"""Files of records that are damaged: records are skipped, or there is a DatabaseError."""

import contextlib
import logging
import os
import random
import shutil
import sqlite3

import pytest
from tests.tune.database.programs import matmul, record_of, relu

from tilewright.error import DatabaseError, TVMError
from tilewright.tune.database import JSONDatabase, SQLiteDatabase


def filled(database):
    for mod in (matmul(), relu()):
        workload = database.commit_workload(mod)
        for number in range(6):
            database.commit_tuning_record(record_of(workload, [1e-3 + number]))
    return database


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A directory with a database of each kind."""
    directory = tmp_path_factory.mktemp("sound")
    filled(SQLiteDatabase(directory / "records.sqlite")).close()
    filled(JSONDatabase(work_dir=directory))
    return directory


def opened(kind, directory):
    if kind == "sqlite":
        return SQLiteDatabase(directory / "records.sqlite", timeout=0.2)
    return JSONDatabase(work_dir=directory)


def use(database):
    """All that can be asked of a database."""
    len(database)
    for record in database.get_all_tuning_records():
        for name in ("is_valid", "mean_secs", "target", "args_info", "trace", "candidate_key"):
            with contextlib.suppress(TVMError):
                getattr(record, name)
        for ask in (record.as_json, record.as_measure_candidate, record.__repr__):
            with contextlib.suppress(TVMError):
                ask()
    for mod in (matmul(), relu()):
        database.has_workload(mod)
        workload = database.commit_workload(mod)
        database.get_top_k(workload, 3)
        database.query_tuning_record(mod, "llvm")
        database.commit_tuning_record(record_of(workload, [0.5]))


def check(kind, directory):
    """Whether the database can be used; whatever else may happen is a DatabaseError."""
    try:
        database = opened(kind, directory)
        try:
            use(database)
        finally:
            if kind == "sqlite":
                database.close()
    except DatabaseError as error:
        return str(directory) not in str(error)  # which has to name the file
    return True


def damaged(content, rng):
    content = bytearray(content)
    for _ in range(rng.choice((0, 1, 2, 5, 50, 500))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.2:
        del content[rng.randrange(len(content)) :]
    return bytes(content)


@pytest.mark.parametrize("kind", ["sqlite", "json"])
def test_random_damage(kind, sound, tmp_path, budget, caplog):
    caplog.set_level(logging.CRITICAL, "tilewright")
    rng = random.Random(1)
    for _ in budget.examples(60):
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        for path in sound.iterdir():
            (tmp_path / path.name).write_bytes(damaged(path.read_bytes(), rng))
        check(kind, tmp_path)


def test_a_message_about_damage_that_is_not_text(sound, tmp_path):
    # SQLite quotes the damaged declaration of a table, which is not UTF-8 any more.
    content = (sound / "records.sqlite").read_bytes()
    broken = content.replace(b"CREATE TABLE record", b"CREATE T\xd3\xc1LE record", 1)
    assert broken != content
    (tmp_path / "records.sqlite").write_bytes(broken)
    assert not check("sqlite", tmp_path)


@pytest.mark.parametrize("kind", ["sqlite", "json"])
@pytest.mark.parametrize("size", [0, 1, 50, 99, 100, 101, 4096, 5000])
def test_a_file_that_ends_early(kind, size, sound, tmp_path):
    for path in sound.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes()[:size])
    # An empty file is a database without records, as those that were never written are.
    assert check(kind, tmp_path) or (kind == "sqlite" and size > 0)


@pytest.mark.parametrize(
    "name", ["records.sqlite", "database_workload.json", "database_tuning_record.json"]
)
def test_a_directory_in_place_of_a_file(name, tmp_path):
    (tmp_path / name).mkdir()
    assert not check("sqlite" if name.endswith("sqlite") else "json", tmp_path)


@pytest.mark.parametrize("name", ["records.sqlite", "work"])
def test_a_file_in_place_of_the_directory(name, tmp_path):
    (tmp_path / "work").write_text("")
    with pytest.raises(DatabaseError):
        opened("sqlite" if name.endswith("sqlite") else "json", tmp_path / "work")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("kind", ["sqlite", "json"])
@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_files_without_rights(kind, mode, sound, tmp_path):
    for path in sound.iterdir():
        shutil.copy(path, tmp_path)
        (tmp_path / path.name).chmod(mode)
    assert not check(kind, tmp_path)


def test_a_file_that_another_program_has_locked(sound, tmp_path):
    shutil.copy(sound / "records.sqlite", tmp_path)
    other = sqlite3.connect(tmp_path / "records.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert not check("sqlite", tmp_path)
    other.execute("ROLLBACK")
    other.close()
    assert check("sqlite", tmp_path)


@pytest.mark.parametrize("lost", ["-wal", "-shm", "-wal -shm"])
@pytest.mark.parametrize("how", ["missing", "empty", "garbage", "directory"])
def test_the_log_of_a_writer_that_was_killed(lost, how, tmp_path):
    (tmp_path / "writer").mkdir()
    (tmp_path / "copy").mkdir()
    database = filled(opened("sqlite", tmp_path / "writer"))
    for path in (tmp_path / "writer").iterdir():  # as they are while the writer is at work
        shutil.copy(path, tmp_path / "copy")
    database.close()
    for suffix in lost.split():
        path = tmp_path / "copy" / f"records.sqlite{suffix}"
        path.unlink()
        if how == "directory":
            path.mkdir()
        elif how != "missing":
            path.write_bytes(b"" if how == "empty" else os.urandom(5000))
    check("sqlite", tmp_path / "copy")


def test_json_that_nests_too_deeply(sound, tmp_path):
    for path in sound.iterdir():
        shutil.copy(path, tmp_path)
    connection = sqlite3.connect(tmp_path / "records.sqlite")
    for column, table in (("body", "record"), ("module", "workload")):
        connection.execute(f"UPDATE {table} SET {column} = ?", ("[" * 100_000,))
    connection.commit()
    connection.close()
    assert check("sqlite", tmp_path)
