"""Tuning goes on when its records cannot be written."""

import errno
import os

from tests.tune.fakes import PaperBuilder, PaperRunner, task

from tilewright.tune.database import JSONDatabase, line_file
from tilewright.tune.tuning import tune_tasks


def test_a_full_disk_costs_no_result(tmp_path, monkeypatch, caplog):
    written = os.write

    def full(file, data):
        if data.startswith(b'{"version"'):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written(file, data)

    monkeypatch.setattr(line_file.os, "write", full)
    database = tune_tasks(
        tasks=[task()],
        task_weights=[1.0],
        work_dir=tmp_path,
        max_trials_global=6,
        num_trials_per_iter=3,
        builder=PaperBuilder(tmp_path),
        runner=PaperRunner(),
        cost_model=None,
    )
    assert "No space left on device" in caplog.text
    assert "unwritten records are kept in memory" in caplog.text
    found = {record.mean_secs for record in database.get_all_tuning_records()}
    assert found == {1.0 / factor for factor in range(1, 7)}
    assert len(JSONDatabase(work_dir=tmp_path)) == 0
    monkeypatch.undo()
    database.commit_tuning_records([])
    assert len(JSONDatabase(work_dir=tmp_path)) == len(database)
