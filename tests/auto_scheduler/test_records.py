"""Logs: reading, writing, choosing, and lines that cannot be used."""

import json

import numpy as np
import pytest
from tests.auto_scheduler.programs import TARGET, matmul_task, small_matmul

import tilewright as tvm
from tilewright import auto_scheduler, tir
from tilewright.auto_scheduler import MeasureErrorNo, MeasureInput, MeasureResult, XGBModel
from tilewright.auto_scheduler.measure import recover_measure_input
from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    DatabaseError,
    RecordError,
    UnknownNameError,
)
from tilewright.tune.context import TuneContext


def test_lines_have_what_they_are_about(tuned):
    task, log = tuned
    program, *records = map(json.loads, log.read_text().splitlines())
    assert program["hash"] == task.compute_dag.hash_key()
    for record in records:
        assert record["workload"] == program["hash"]
        assert record["task"] == task.workload_key
        assert record["target"]["num-cores"] == 1
        assert {"trace", "timestamp", "machine", "versions", "version"} <= record.keys()
    assert records[0]["default"]


def test_candidates_and_what_came_of_them(tuned):
    task, log = tuned
    pairs = list(auto_scheduler.load_records(log))
    assert len(pairs) >= 4
    for inp, result in pairs:
        assert inp.task.workload_key == task.workload_key
        assert inp.task.target == task.target
        assert result.error_no == MeasureErrorNo.NO_ERROR
        assert 0 < min(result.costs) < 1
        assert result.timestamp > 1e9
    reader = auto_scheduler.RecordReader(log)
    inputs, results = reader.read_lines(max_lines=2, skip_lines=1)
    assert [str(r.costs) for r in results] == [str(r.costs) for _, r in pairs[1:3]]
    assert len(inputs) == 2
    assert len(reader.read_lines()[0]) == len(list(reader)) == len(pairs)


def test_the_best_one(tuned):
    task, log = tuned
    inp, result = auto_scheduler.load_best_record(log, task.workload_key, task.target)
    sch, args = task.compute_dag.apply_steps_from_state(inp.state)
    assert tvm.lower(sch, args)
    best, _ = task.apply_best(log)
    assert str(sch.trace) == str(best.trace)
    assert result.costs == auto_scheduler.load_best_record(log)[1].costs
    assert auto_scheduler.load_best_record(log, "another") == (None, None)
    assert auto_scheduler.load_best_record(log, target="llvm -num-cores=9") == (None, None)
    found, _ = auto_scheduler.load_best_record(log, None, "llvm -num-cores=9", True)
    assert found is not None


def test_the_computation_of_a_line_is_recovered(tuned):
    _, log = tuned
    inp, _ = next(auto_scheduler.load_records(log))
    found = recover_measure_input(inp, rebuild_state=True)
    assert found.task.compute_dag.hash_key() == inp.record.workload.key
    assert str(found.state.sch.trace) == str(inp.state.sch.trace)
    assert recover_measure_input(MeasureInput(found.task, found.state)).state is found.state


def test_a_workload_that_is_not_registered_or_another_one(tuned):
    _, log = tuned
    log.write_text(log.read_text().replace("small_matmul", "forgotten"))
    inp, result = next(auto_scheduler.load_records(log))
    assert result.costs  # the program is in the log
    assert inp.state.sch.mod
    with pytest.raises(UnknownNameError, match="'forgotten' is not registered"):
        recover_measure_input(inp)
    auto_scheduler.register_workload(
        "forgotten", lambda n, m, k: small_matmul(n, m, 2 * k), override=True
    )
    with pytest.raises(RecordError, match="is another program than the one of the record"):
        recover_measure_input(inp)


def test_records_are_written_again(tuned, tmp_path):
    _, log = tuned
    inputs, results = auto_scheduler.RecordReader(log).read_lines()
    copy = tmp_path / "copy.json"
    auto_scheduler.save_records(copy, inputs, results)
    assert copy.read_text() == log.read_text()
    auto_scheduler.distill_record_file(log, tmp_path / "best.json")
    ((_, best),) = auto_scheduler.load_records(tmp_path / "best.json")
    assert best.costs == auto_scheduler.load_best_record(log)[1].costs
    with pytest.raises(ArgumentValueError, match="1 inputs, but 0 results"):
        auto_scheduler.save_records(copy, inputs[:1], [])


def test_candidates_of_ones_own(tmp_path):
    task, log = matmul_task(8), tmp_path / "own.json"
    sch = tir.Schedule(task.compute_dag.func)
    sch.vectorize(sch.get_loops("C")[1])
    good = MeasureResult([1e-6, 3e-6], timestamp=1e9)
    bad = MeasureResult([1e10], MeasureErrorNo.RUN_TIMEOUT, "too long")
    auto_scheduler.save_records(log, [MeasureInput(task, sch)] * 2, [good, bad])
    (first, second), (_, failed) = auto_scheduler.load_records(log)
    assert second.costs == (1e-6, 3e-6)
    assert second.timestamp == 1e9
    assert first.record.mean_secs == 2e-6
    assert (failed.error_no, failed.error_msg) == (MeasureErrorNo.RUN_TIMEOUT, "too long")
    assert failed.costs == (1e10,)
    assert "RUN_TIMEOUT: too long" in repr(failed)
    best, args = task.apply_best(log)
    assert "vectorized(8)" in tvm.lower(best, args, simple_mode=True).script()
    with pytest.raises(ArgumentError, match="is a SearchTask"):
        MeasureInput(first.task, sch).with_result(good)
    with pytest.raises(ArgumentError, match="expected a SearchTask, got 3"):
        MeasureInput(3, sch)
    with pytest.raises(ArgumentError, match="there is no candidate"):
        MeasureInput(task)


def test_torn_and_foreign_lines_are_skipped_and_named(tuned, caplog):
    task, log = tuned
    whole = log.read_text()
    count = len(list(auto_scheduler.load_records(log)))
    lines = ['{"another": "program"}', "garbage", '{"version":99}', whole.splitlines()[-1][:200]]
    log.write_text(whole + "\n".join(lines))
    assert len(list(auto_scheduler.load_records(log))) == count
    number = len(whole.splitlines())
    assert f"{log}:{number + 1}: this is not a line of a record file" in caplog.text
    assert f"{log}:{number + 2}: this is not JSON" in caplog.text
    assert f"{log}:{number + 3}: version 99 is newer" in caplog.text
    assert f"{log}:{number + 4}: the end of the line is missing" in caplog.text
    assert task.apply_best(log)
    # The next writer removes what is torn.
    inputs, results = auto_scheduler.RecordReader(log).read_lines(1)
    auto_scheduler.save_records(log, inputs, results)
    assert len(list(auto_scheduler.load_records(log))) == count + 1


def test_files_that_are_not_there(tmp_path):
    path = tmp_path / "none.json"
    for read in (
        auto_scheduler.load_records,
        auto_scheduler.load_best_record,
        auto_scheduler.RecordReader,
        lambda name: auto_scheduler.distill_record_file(name, tmp_path / "out.json"),
        XGBModel().update_from_file,
    ):
        with pytest.raises(DatabaseError, match="there is no record file"):
            read(path)
    with pytest.raises(DatabaseError, match="cannot"):
        auto_scheduler.RecordToFile(tmp_path)
    auto_scheduler.RecordToFile(tmp_path / "new" / "log.json")


def test_a_model_learns_from_a_log_and_is_kept(tuned, tmp_path):
    task, log = tuned
    model = XGBModel(model_file=tmp_path / "model.npz")
    model.update_from_file(log)
    candidates = [inp.state for inp, _ in auto_scheduler.load_records(log)]
    distinct = {str(inp.record.trace_json) for inp, _ in auto_scheduler.load_records(log)}
    assert len(model.samples) >= len(distinct)
    before = len(model.samples)
    model.update_from_file(log)  # which it knows
    assert len(model.samples) == before
    again = XGBModel(model_file=tmp_path / "model.npz")
    context = TuneContext(task.compute_dag.func, target=TARGET)
    expected = model.predict(context, candidates)
    np.testing.assert_allclose(again.predict(context, candidates), expected)
    few = XGBModel()
    few.update_from_file(log, n_lines=1)
    assert len(few.samples) == 1
