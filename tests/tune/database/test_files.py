"""What databases in files have in common."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tune.database.programs import matmul, record_of, relu

from tilewright.ir import structural_equal
from tilewright.target import Target
from tilewright.tune.database import Database, MemoryDatabase

ROOT = Path(__file__).parents[3]


def test_what_was_committed_is_found_again(open_database):
    database = open_database()
    workload = database.commit_workload(matmul())
    details = {"cpu_secs": [9e-4], "task_name": "dense", "timestamp": 1e9}
    record = record_of(workload, run_secs=[1e-3, 2e-3], tile=4, **details)
    database.commit_tuning_record(record)
    again = open_database()
    (found,) = again.get_all_tuning_records()
    assert found.as_json() == record.as_json()
    assert structural_equal(found.schedule().mod, record.schedule().mod)
    assert found.target == Target("llvm -num-cores=1")
    assert again.has_workload(matmul())
    assert again.query_tuning_record(matmul(), "llvm -num-cores=1").mean_secs == 1.5e-3


def test_failures_are_kept_and_never_chosen(open_database):
    database = open_database()
    workload = database.commit_workload(matmul())
    for kind, seconds in (("crash", None), ("timeout", [math.inf]), ("wrong-result", [1e-9])):
        database.commit_tuning_record(
            record_of(workload, run_secs=seconds, error=f"a {kind}", error_kind=kind)
        )
    again = open_database()
    assert [r.error_kind for r in again.get_all_tuning_records()] == [
        "crash",
        "timeout",
        "wrong-result",
    ]
    assert again.query_schedule(matmul(), "llvm -num-cores=1") is None
    assert again.get_top_k(again.commit_workload(matmul()), 5) == []


def test_a_better_measurement_of_the_same_candidate_counts(open_database):
    database = open_database()
    workload = database.commit_workload(matmul())
    database.commit_tuning_record(record_of(workload, run_secs=[1.0], tile=2))
    database.commit_tuning_record(record_of(workload, run_secs=[2.0], tile=4))
    database.commit_tuning_record(record_of(workload, run_secs=[3.0], tile=2, supersedes=True))
    for again in (database, open_database()):
        assert [r.mean_secs for r in again.get_top_k(workload, 5)] == [2.0, 3.0]
        assert len(again) == 3


def test_others_see_what_one_commits(open_database):
    one, two = open_database(), open_database()
    workload = one.commit_workload(matmul())
    one.commit_tuning_record(record_of(workload, run_secs=[3.0]))
    assert two.has_workload(matmul())
    two.commit_tuning_records([record_of(two.commit_workload(matmul()), run_secs=[2.0])] * 2)
    assert [r.mean_secs for r in one.get_top_k(workload, 3)] == [2.0, 2.0, 3.0]
    assert len(one) == len(two) == 3


def test_a_record_of_another_database_brings_its_workload(open_database):
    memory = MemoryDatabase()
    record = record_of(memory.commit_workload(relu()), tile=4)
    database = open_database()
    database.commit_tuning_record(record)
    assert open_database().query_schedule(relu(), "llvm -num-cores=1") is not None


WRITER = """
import json, sys
from tests.tune.database.programs import matmul, record_of
from tilewright.tune.database import Database
kind, path, first = sys.argv[1:]
database = Database.create(kind, **json.loads(path))
workload = database.commit_workload(matmul())
record = record_of(workload)
for n in range(40):
    record.run_secs = [float(first) + n]
    database.commit_tuning_record(record)
"""


@pytest.mark.parametrize("kind", ["json", "sqlite"])
def test_several_processes_append(kind, tmp_path):
    options = {"work_dir": str(tmp_path)} if kind == "json" else {"path": str(tmp_path / "r.db")}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, kind, json.dumps(options), first],
            cwd=ROOT,
            env={"PYTHONPATH": "src:.", "PATH": "/usr/bin:/bin"},
        )
        for first in ("1", "1001")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    database = Database.create(kind, **options)
    times = sorted(r.mean_secs for r in database.get_all_tuning_records())
    assert times == [float(n) for start in (1, 1001) for n in range(start, start + 40)]
    assert len({r.workload.key for r in database.get_all_tuning_records()}) == 1
