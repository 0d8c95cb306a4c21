"""What happens after each batch."""

from __future__ import annotations

import pytest
from tests.tune.fakes import Count, PaperBuilder, PaperRunner, task

from tilewright.error import ArgumentError, UnknownNameError
from tilewright.tune.callback import (
    AddToDatabase,
    MeasureCallback,
    RemoveBuildArtifact,
    UpdateCostModel,
)
from tilewright.tune.database import MemoryDatabase
from tilewright.tune.scheduler import RoundRobin


def tune(tmp_path, callbacks, **given):
    given.setdefault("runner", PaperRunner(lambda factor: "bad" if factor == 2 else 1.0 / factor))
    RoundRobin().tune(
        [task(strategy=Count(4), name="scale")], [1], 4, None, 4, PaperBuilder(tmp_path),
        measure_callbacks=callbacks, **given,
    )  # fmt: skip


def test_the_default_callbacks():
    kinds = [type(callback) for callback in MeasureCallback.create("default")]
    assert kinds == [AddToDatabase, RemoveBuildArtifact, UpdateCostModel]
    assert MeasureCallback.create("none") == []
    own = AddToDatabase()
    assert MeasureCallback.create(own) == [own]
    assert MeasureCallback.create([own]) == [own]
    with pytest.raises(UnknownNameError, match="known are 'default', 'none'"):
        MeasureCallback.create("defaults")
    with pytest.raises(ArgumentError, match="list of measure callbacks, got 3"):
        MeasureCallback.create(3)


def test_records_have_results_and_errors(tmp_path):
    database = MemoryDatabase()
    tune(tmp_path, [AddToDatabase()], database=database)
    records = [r for r in database.get_all_tuning_records() if not r.supersedes]
    assert [r.run_secs for r in records] == [[1.0], None, [1 / 3], [0.25]]
    assert records[1].error == "bad"
    assert records[1].error_kind == "run"
    assert str(records[0].target) == "llvm -num-cores=1"
    assert records[0].task_name == "scale"
    assert [info.shape for info in records[0].args_info] == [(64,), (64,)]


def test_records_go_to_a_database_of_the_callback_and_so_do_those_of_the_final(tmp_path):
    own, other = MemoryDatabase(), MemoryDatabase()
    close = PaperRunner(lambda factor: 1.0 + factor / 100)
    tune(tmp_path, [AddToDatabase(own), AddToDatabase()], database=other, runner=close)
    texts = [[r.run_secs for r in d.get_all_tuning_records()] for d in (own, other)]
    assert texts[0] == texts[1]
    assert any(record.supersedes for record in own.get_all_tuning_records())


def test_artifacts_stay_without_the_callback(tmp_path):
    tune(tmp_path, [])
    assert len(list(tmp_path.iterdir())) == 4
    tune(tmp_path, [RemoveBuildArtifact()])
    assert len(list(tmp_path.iterdir())) == 4


def test_artifacts_beside_others_and_directories(tmp_path):
    for name in ("file", "other"):
        (tmp_path / name).touch()
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory" / "inside").touch()

    class Artifact:
        def __init__(self, path):
            self.artifact_path = path

    gone = [Artifact(str(tmp_path / name)) for name in ("file", "directory", "missing")]
    RemoveBuildArtifact().apply(RoundRobin(), 0, [], [*gone, Artifact(None)], [])
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_callback_of_the_user(tmp_path):
    class CountFailures(MeasureCallback):
        failures = 0

        def apply(self, task_scheduler, task_id, measure_candidates, builder_results, results):
            assert task_scheduler.tasks[task_id].name == "scale"
            assert len(measure_candidates) == len(builder_results) == len(results)
            self.failures += sum(r.error_msg is not None for r in results)

    counter = CountFailures()
    tune(tmp_path, [counter])
    assert counter.failures == 1


def test_a_callback_that_defines_nothing(tmp_path):
    with pytest.raises(NotImplementedError, match="Nothing does not define `apply`"):
        tune(tmp_path, [type("Nothing", (MeasureCallback,), {})()])
