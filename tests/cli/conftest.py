"""Fixtures of the command line."""

import pytest
from tests.cli.programs import PROGRAM
from tests.tune.database.programs import matmul, record_of

from tilewright.cli import main
from tilewright.runtime.peaks import Peaks
from tilewright.tune.database import JSONDatabase


@pytest.fixture(autouse=True)
def _peaks(monkeypatch):
    """Measuring takes seconds."""
    peaks = Peaks(
        1, {"float32": 100e9}, {"DRAM": 10e9}, {"L1": 32768, "L2": 1 << 20, "L3": 1 << 24}
    )
    monkeypatch.setattr("tilewright.tune.report.measure", lambda threads, dtypes: peaks)


@pytest.fixture
def program(tmp_path):
    """A file with programs."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def tuned(tmp_path):
    """A directory with records of a matrix product: 2 us, a crash, 1 us."""
    directory = tmp_path / "tuned"
    database = JSONDatabase(work_dir=directory)
    workload = database.commit_workload(matmul())
    details = {"task_name": "dense", "timestamp": 1.7e9}
    crash = {"error": "killed by signal 11", "error_kind": "crash"}
    database.commit_tuning_records(
        [
            record_of(workload, [2e-6], tile=2, **details),
            record_of(workload, None, tile=8, **details, **crash),
            record_of(workload, [1e-6], tile=4, task_name="dense", timestamp=1.8e9),
        ]
    )
    return directory


@pytest.fixture
def run(capfd):
    """Runs a command: its exit code, what it printed, and its errors."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capfd.readouterr()

    return run
