"""Record files that were cut short, spoilt, or written by somebody else."""

import errno
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.tune.database.programs import matmul, record_of, relu

from tilewright.error import ArgumentError, DatabaseError, RecordError
from tilewright.tune.database import JSONDatabase
from tilewright.tune.database import line_file as line_file_module
from tilewright.tune.database.json_database import RECORD_FILE, WORKLOAD_FILE
from tilewright.tune.workload import Workload

ROOT = Path(__file__).parents[3]


@pytest.fixture
def directory(tmp_path):
    """Files with three records of one workload."""
    database = JSONDatabase(work_dir=tmp_path)
    workload = database.commit_workload(matmul())
    for seconds in (3.0, 2.0, 1.0):
        database.commit_tuning_record(record_of(workload, run_secs=[seconds]))
    return tmp_path


def times(directory):
    return [r.mean_secs for r in JSONDatabase(work_dir=directory).get_all_tuning_records()]


def test_a_line_torn_at_any_byte_costs_one_record_at_most(directory, caplog, monkeypatch):
    file = directory / RECORD_FILE
    whole = file.read_bytes()
    start = whole[:-1].rindex(b"\n") + 1
    caplog.set_level(logging.CRITICAL)
    monkeypatch.setattr(line_file_module.os, "fsync", lambda file: None)
    another = record_of(Workload(matmul()), [4.0])
    for end in range(start, len(whole)):
        file.write_bytes(whole[:end])
        # Only the end of the line is missing: nothing of the record is.
        expected = [3.0, 2.0, 1.0] if end == len(whole) - 1 else [3.0, 2.0]
        database = JSONDatabase(work_dir=directory)
        assert [r.mean_secs for r in database.get_all_tuning_records()] == expected
        assert len(database.skipped) == (0 if end in (start, len(whole) - 1) else 1)
        database.commit_tuning_record(another)
        lines = file.read_bytes().splitlines()
        assert [json.loads(line)["run_secs"] for line in lines] == [[s] for s in [*expected, 4.0]]


def test_a_torn_workload_is_written_again(directory):
    file = directory / WORKLOAD_FILE
    file.write_bytes(file.read_bytes()[:100])
    database = JSONDatabase(work_dir=directory)
    assert len(database) == 0
    reasons = [str(line) for line in database.skipped]
    assert f"{file}:1: the end of the line is missing" in reasons[0]
    assert "there is no workload" in reasons[1]
    database.commit_workload(matmul())
    assert times(directory) == [3.0, 2.0, 1.0]


def test_what_cannot_be_used_is_told_once_with_its_place(directory, caplog):
    file = directory / RECORD_FILE
    good = json.loads(file.read_bytes().splitlines()[0])
    with file.open("ab") as stream:
        for line in (
            b"\x00\xff garbage",
            b'{"half": ',
            b"[1, 2]",
            json.dumps({**good, "version": 0}).encode(),
            json.dumps({**good, "version": 999}).encode(),
            json.dumps({**good, "workload": "0123456789abcdef"}).encode(),
            json.dumps({**good, "run_secs": ["fast"]}).encode(),
            json.dumps({**good, "trace": "rm -rf /"}).encode(),
            json.dumps({**good, "machine": 5}).encode(),
            json.dumps({**good, "target": {"kind": "abacus"}}).encode(),
            b"",
            json.dumps({**good, "run_secs": [0.5], "colour": "red"}).encode(),
        ):
            stream.write(line + b"\n")
    database = JSONDatabase(work_dir=directory)
    assert [r.mean_secs for r in database.get_all_tuning_records()] == [3.0, 2.0, 1.0, 0.5]
    assert [line.number for line in database.skipped] == [4, 5, 6, 7, 8, 9, 10, 11, 12, 13]
    assert "not JSON" in database.skipped[0].reason
    assert "version 0 is older" in database.skipped[3].reason
    assert "version 999 is newer" in database.skipped[4].reason
    assert caplog.text.count(f"{file}:8") == 1
    caplog.clear()
    database.get_top_k(database.commit_workload(matmul()), 3)
    assert not caplog.text


def test_a_spoilt_trace_is_passed_over(directory, caplog):
    file = directory / RECORD_FILE
    lines = file.read_text().splitlines()
    lines[2] = lines[2].replace('"GetLoops"', '"GetLoot"')
    file.write_text("\n".join([*lines, ""]))
    database = JSONDatabase(work_dir=directory)
    best = database.query_tuning_record(matmul(), "llvm -num-cores=1")
    with pytest.raises(RecordError, match="GetLoot"):
        best.schedule()
    assert database.query_schedule(matmul(), "llvm -num-cores=1") is not None
    assert "passed over" in caplog.text


def test_a_trace_that_is_wrong_is_refused(directory):
    """A record cannot make a wrong program: its steps are proved again."""
    file = directory / RECORD_FILE
    lines = file.read_text().splitlines()
    form = json.loads(lines[2])
    instructions = form["trace"][0]
    instructions += [["Parallel", ["l3"], [], []]]
    file.write_text(json.dumps(form) + "\n")
    database = JSONDatabase(work_dir=directory)
    (record,) = database.get_all_tuning_records()
    with pytest.raises(RecordError, match="parallel"):
        record.schedule()


def test_a_workload_of_another_program_is_not_found_by_its_forged_hash(directory):
    file = directory / WORKLOAD_FILE
    form = json.loads(file.read_text())
    database = JSONDatabase(work_dir=directory / "other")
    database.commit_workload(relu())
    other = json.loads(Path(database.path_workload).read_text())
    file.write_text(json.dumps({**form, "module": other["module"]}) + "\n")
    assert not JSONDatabase(work_dir=directory).has_workload(matmul())


def test_a_workload_is_found_although_its_hash_was_computed_otherwise(directory):
    for name in (WORKLOAD_FILE, RECORD_FILE):
        file = directory / name
        key = json.loads((directory / WORKLOAD_FILE).read_text())["hash"]
        if name == RECORD_FILE:
            key = JSONDatabase(work_dir=directory / "other").commit_workload(matmul()).key
        file.write_text(file.read_text().replace(key, "0123456789abcdef"))
    database = JSONDatabase(work_dir=directory)
    assert database.query_tuning_record(matmul(), "llvm -num-cores=1").mean_secs == 1.0
    database.commit_tuning_record(record_of(database.commit_workload(matmul()), [0.5]))
    assert times(directory) == [3.0, 2.0, 1.0, 0.5]


KILLED = """
import sys
from tests.tune.database.programs import matmul, record_of
from tilewright.tune.database import JSONDatabase
database = JSONDatabase(work_dir=sys.argv[1])
record = record_of(database.commit_workload(matmul()))
print("ready", flush=True)
for n in range(1, 1000000):
    record.run_secs = [float(n)]
    database.commit_tuning_record(record)
    print(n, flush=True)
"""


def test_killing_a_writer_loses_nothing_that_was_committed(tmp_path):
    for delay in (0.0, 0.01, 0.05):
        known = len(JSONDatabase(work_dir=tmp_path))
        writer = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)],
            cwd=ROOT,
            env={"PYTHONPATH": "src:.", "PATH": "/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout.readline() == "ready\n"
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        said = writer.communicate()[0].split()
        committed = int(said[-1]) if said else 0
        database = JSONDatabase(work_dir=tmp_path)
        assert known + committed <= len(database) <= known + committed + 1
        database.commit_tuning_record(record_of(database.commit_workload(matmul()), [0.5]))
        assert not JSONDatabase(work_dir=tmp_path).skipped


def test_a_full_disk_loses_nothing_of_memory(directory, monkeypatch):
    database = JSONDatabase(work_dir=directory)
    workload = database.commit_workload(matmul())
    before = (directory / RECORD_FILE).read_bytes()
    written = os.write

    def nearly_full(file, data):
        if len(data) > 40:
            return written(file, data[:40])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(line_file_module.os, "write", nearly_full)
    with pytest.raises(DatabaseError, match="No space left on device; 1 unwritten record"):
        database.commit_tuning_record(record_of(workload, [0.5]))
    assert (directory / RECORD_FILE).read_bytes() == before
    assert database.query_tuning_record(matmul(), "llvm -num-cores=1").mean_secs == 0.5
    monkeypatch.undo()
    database.commit_tuning_record(record_of(workload, [0.25]))
    assert times(directory) == [3.0, 2.0, 1.0, 0.5, 0.25]
    assert len(database) == 5


LIMITED = """
import resource, sys
from tests.tune.database.programs import matmul, record_of
from tilewright.error import DatabaseError
from tilewright.tune.database import JSONDatabase
database = JSONDatabase(work_dir=sys.argv[1])
record = record_of(database.commit_workload(matmul()))
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    database.commit_tuning_records([record] * 100)
except DatabaseError as error:
    print(error)
    print(len(database))
"""


def test_a_file_that_may_not_grow(directory):
    size = (directory / RECORD_FILE).stat().st_size
    result = subprocess.run(
        [sys.executable, "-c", LIMITED, str(directory), str(size + 1000)],
        cwd=ROOT,
        env={"PYTHONPATH": "src:.", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "File too large; 100 unwritten records are kept in memory" in result.stdout
    assert result.stdout.splitlines()[-1] == "103"
    assert not result.stderr
    assert times(directory) == [3.0, 2.0, 1.0]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != size + 1000


def test_files_that_were_removed_are_made_again(directory):
    database = JSONDatabase(work_dir=directory)
    (directory / RECORD_FILE).unlink()
    (directory / WORKLOAD_FILE).unlink()
    database.commit_tuning_record(record_of(database.commit_workload(matmul()), [0.5]))
    assert len(database) == 4
    assert times(directory) == [0.5]


def test_missing_files(tmp_path):
    with pytest.raises(DatabaseError, match="there is no record file"):
        JSONDatabase(work_dir=tmp_path, allow_missing=False)
    with pytest.raises(ArgumentError, match="give work_dir"):
        JSONDatabase()
    database = JSONDatabase(tmp_path / "w.json", tmp_path / "r.json")
    database.commit_workload(matmul())
    assert (tmp_path / "w.json").exists()
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseError, match="Not a directory"):
        JSONDatabase(work_dir=tmp_path / "file").commit_workload(matmul())


def test_loading_many_records_is_quick(directory):
    file = directory / RECORD_FILE
    line = json.loads(file.read_text().splitlines()[0])
    line["trace"][0] = line["trace"][0] * 20  # as long as those of real programs
    text = json.dumps(line, separators=(",", ":")) + "\n"
    file.write_text(text * 10000)
    start = time.process_time()
    database = JSONDatabase(work_dir=directory)
    assert time.process_time() - start < 2.5  # 0.6 s where nothing else runs
    assert len(database) == 10000


@pytest.mark.parametrize("timestamp", ["NaN", "1e300", "-1e300", "Infinity"])
def test_a_record_of_no_time_is_skipped(directory, caplog, timestamp):
    file = directory / RECORD_FILE
    lines = file.read_text().splitlines()
    form = json.loads(lines[1])
    written = f'"timestamp":{form["timestamp"]}'
    assert written in lines[1]
    lines[1] = lines[1].replace(written, f'"timestamp":{timestamp}')
    file.write_text("\n".join(lines) + "\n")
    assert times(directory) == [3.0, 1.0]
    assert "is not a time in seconds since 1970" in caplog.text


@pytest.mark.parametrize("damaged", ["5", '"x"', "true", "null"])
def test_a_workload_with_damaged_attributes_is_skipped(directory, caplog, damaged):
    database = JSONDatabase(work_dir=directory)
    database.commit_tuning_record(record_of(database.commit_workload(relu()), [4.0]))
    file = directory / WORKLOAD_FILE
    first, second = file.read_text().splitlines()
    start = first.index('{"dict":[["global_symbol"')
    _, length = json.JSONDecoder().raw_decode(first[start:])
    file.write_text(f"{first[:start]}{damaged}{first[start + length :]}\n{second}\n")
    assert times(directory) == [4.0]
    assert "malformed workload" in caplog.text
