"""Callbacks, and records as those of the tuner."""

import io
from types import SimpleNamespace

import pytest
from tests.autotvm.templates import matmul  # noqa: F401, registers it

import tilewright as tvm
from tilewright import autotvm
from tilewright.autotvm.conversion import from_tuning_record, to_tuning_record
from tilewright.autotvm.measure import MeasureErrorNo, MeasureInput, MeasureResult
from tilewright.error import ArgumentError, ArgumentValueError, UnknownNameError
from tilewright.tune.database import MemoryDatabase


@pytest.fixture
def task():
    return autotvm.task.create("tests/matmul", [8, 12, 4], "llvm -num-cores=1")


@pytest.fixture
def batch(task):
    inputs = [MeasureInput(task.target, task, task.config_space.get(i)) for i in (3, 7)]
    results = [
        MeasureResult((2e-6, 2e-6), MeasureErrorNo.NO_ERROR, 0.5, 17e8),
        MeasureResult(("it took too long",), MeasureErrorNo.RUN_TIMEOUT, 0.5, 17e8 + 1),
    ]
    return inputs, results


def test_a_progress_bar(task, batch, capsys):
    bar = autotvm.callback.progress_bar(4, prefix="[Task 1/1]", si_prefix="M")
    for _ in range(2):
        bar(SimpleNamespace(task=task), *batch)
    bar.finish()
    last = capsys.readouterr().out.split("\r")[-1]
    # 8 * 12 * 4 multiplications and additions in 2 microseconds; the last one failed.
    assert last.startswith("[Task 1/1] Current/Best:    0.00/ 384.00 MFLOPS | Progress: (4/4) |")
    assert last.endswith(" Done.\n")
    with pytest.raises(ArgumentValueError, match=r"si_prefix is '', .*got 'X'"):
        autotvm.callback.progress_bar(4, si_prefix="X")


def test_a_monitor(task, batch):
    monitor = autotvm.callback.Monitor()
    monitor(SimpleNamespace(task=task), *batch)
    assert monitor.trial_scores() == [pytest.approx(384e6), 0.0]
    assert monitor.trial_timestamps() == [17e8, 17e8 + 1]
    monitor.reset()
    assert monitor.trial_scores() == monitor.trial_timestamps() == []


def test_logs_go_to_files(batch, tmp_path):
    file = io.StringIO()
    for out in (file, tmp_path / "log", str(tmp_path / "log")):
        autotvm.callback.log_to_file(out)(None, *batch)
    text = file.getvalue()
    assert text.count("\n") == 2
    assert (tmp_path / "log").read_text() == 2 * text
    with pytest.raises(ArgumentError, match="log_to_file: expected the name of a file"):
        autotvm.callback.log_to_file(None)
    with pytest.raises(ArgumentValueError, match="protocol='json', got 'pickle'"):
        autotvm.callback.log_to_file("log", protocol="pickle")


def test_logs_go_to_databases_of_the_tuner(task, batch):
    database = MemoryDatabase()
    autotvm.callback.log_to_database(database)(None, *batch)
    good, failed = database.get_all_tuning_records()
    assert good.run_secs == [2e-6, 2e-6]
    assert (failed.error_kind, failed.error) == ("timeout", "it took too long")
    tvm.ir.assert_structural_equal(good.workload.mod, task.mod)
    (inputs, results) = batch
    for record, measured, result in zip((good, failed), inputs, results, strict=True):
        again, same = from_tuning_record(record)
        assert (again.task.workload, again.config) == (task.workload, measured.config)
        assert (same.costs, same.error_no) == (result.costs, result.error_no)
    sch = database.query_schedule(task.mod, task.target)
    expected = tvm.te.schedule.schedule_to_prim_func(*task.instantiate(inputs[0].config))
    tvm.ir.assert_structural_equal(sch.mod["main"], expected)
    with pytest.raises(ArgumentError, match="log_to_database: expected a database"):
        autotvm.callback.log_to_database("tuned")


def test_records_of_templates_that_are_not_there(batch):
    inputs, results = batch
    line = autotvm.record.encode(inputs[0], results[0]).replace("tests/matmul", "tests/nothing")
    with pytest.raises(UnknownNameError, match="there is no template 'tests/nothing'"):
        to_tuning_record(*autotvm.record.decode(line))


def test_records_with_configs_of_other_tasks(batch):
    inputs, results = batch
    line = autotvm.record.encode(inputs[0], results[0]).replace("[8, 12, 4]", "[7, 12, 4]")
    with pytest.raises(ArgumentValueError, match="the config is one of another task"):
        to_tuning_record(*autotvm.record.decode(line))
