"""A tuning run writes its report."""

import logging

import pytest
from tests.tune.fakes import PaperBuilder, PaperRunner, task

from tilewright.error import ArgumentValueError
from tilewright.runtime.peaks import Peaks
from tilewright.tune.report import load_phases
from tilewright.tune.tuning import tune_tasks


@pytest.fixture
def tune(tmp_path, monkeypatch):
    """Tunes on paper."""
    peaks = Peaks(1, {"float32": 1e9}, {"DRAM": 1e9}, {"L1": 1, "L2": 2, "L3": 3})
    monkeypatch.setattr("tilewright.tune.report.measure", lambda threads, dtypes: peaks)

    def tune(**options):
        return tune_tasks(
            tasks=[task()],
            task_weights=[1.0],
            max_trials_global=6,
            num_trials_per_iter=3,
            builder=PaperBuilder(tmp_path, fails=lambda factor: factor == 4),
            runner=PaperRunner(),
            cost_model=None,
            **options,
        )

    return tune


def test_a_report_in_the_work_dir(tune, tmp_path):
    tune(work_dir=tmp_path / "tuned", report=True)
    text = (tmp_path / "tuned" / "report.html").read_text()
    assert "1 task \u00b7 6 candidates \u00b7 1 failed" in text
    assert "cannot build 4" in text
    assert "Where the time went" in text


def test_times_of_several_runs_add_up(tune, tmp_path):
    tune(work_dir=tmp_path / "tuned")
    first = load_phases(tmp_path / "tuned")["Total"]
    tune(work_dir=tmp_path / "tuned")
    assert load_phases(tmp_path / "tuned")["Total"] > first > 0
    assert not (tmp_path / "tuned" / "report.html").exists()


def test_a_report_without_a_work_dir(tune, tmp_path):
    tune(work_dir=None, database="memory", report=tmp_path / "here.html")
    assert "6 candidates" in (tmp_path / "here.html").read_text()
    with pytest.raises(ArgumentValueError, match="needs a `work_dir`"):
        tune(work_dir=None, database="memory", report=True)


def test_a_report_that_cannot_be_written_costs_nothing_else(tune, tmp_path, caplog):
    (tmp_path / "file").touch()
    caplog.set_level(logging.WARNING)
    database = tune(work_dir=tmp_path / "tuned", report=tmp_path / "file" / "report.html")
    assert len(database) >= 6
    assert "cannot write" in caplog.text
