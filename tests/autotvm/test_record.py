"""Records: lines that are written and read, lines that are refused, and choices among them."""

import io
import json
import logging

import pytest
from tests.autotvm.templates import matmul  # noqa: F401, registers it

import tilewright as tvm
from tilewright import autotvm
from tilewright.autotvm import record
from tilewright.autotvm.measure import MeasureErrorNo, MeasureInput, MeasureResult
from tilewright.error import ArgumentError, ArgumentValueError, DatabaseError, RecordError

OLD_LINES = [
    '{"input": ["llvm -keys=cpu -link-params=0", "tutorial/matmul", [512, 512, 512, "float32"], '
    '{}], "config": {"index": 33, "code_hash": null, "entity": [["tile_y", "sp", [-1, 8]], '
    '["tile_x", "sp", [-1, 8]]]}, "result": [[0.0325, 0.0331], 0, 1.63, 1630000000.5], '
    '"version": 0.2, "tvm_version": "0.8.0"}',
    '{"input": ["llvm -keys=cpu -mcpu=core-avx2", "dense_nopack.x86", [["TENSOR", [1, 128], '
    '"float32"], ["TENSOR", [10, 128], "float32"], null, "float32"], {}], "config": {"index": 5, '
    '"code_hash": null, "entity": [["tile_y", "sp", [-1, 1]], ["perm", "re", [0, 2, 1]], '
    '["ann", "an", ["unroll", "vec"]], ["auto_unroll", "ot", 16]]}, "result": [[1000000000.0], '
    '4, 10.1, 1630000001.5], "version": 0.2, "tvm_version": "0.18.0"}',
]


@pytest.fixture
def task():
    return autotvm.task.create("tests/matmul", [8, 12, 4], "llvm -num-cores=1")


def pair(task, index=0, seconds=0.5, error=MeasureErrorNo.NO_ERROR):
    costs = (f"error {error}",) if error else (seconds, seconds)
    config = task.config_space.get(index)
    return MeasureInput(task.target, task, config), MeasureResult(costs, error, 0.25, 17e8)


def test_lines_of_older_systems_are_read():
    (measured, result), (failed, why) = (record.decode(line) for line in OLD_LINES)
    assert str(measured.target) == "llvm -keys=cpu"
    assert measured.task.workload == ("tutorial/matmul", 512, 512, 512, "float32")
    assert measured.config.index == 33
    assert measured.config["tile_y"].size == [-1, 8]
    assert result == ((0.0325, 0.0331), 0, 1.63, 1630000000.5)
    assert failed.task.args[0] == ("TENSOR", (1, 128), "float32")
    assert failed.config["perm"].perm == [0, 2, 1]
    assert failed.config["ann"].anns == ["unroll", "vec"]
    assert failed.config["auto_unroll"].val == 16
    assert why.error_no == MeasureErrorNo.RUNTIME_DEVICE
    assert why.mean == float("inf")


def test_lines_are_written_in_the_same_form(task):
    form = json.loads(record.encode(*pair(task, 3)))
    assert form["input"] == ["llvm -num-cores=1", "tests/matmul", [8, 12, 4], {}]
    assert form["config"] == task.config_space.get(3).to_json_dict()
    assert form["result"] == [[0.5, 0.5], 0, 0.25, 17e8]
    assert form["version"] == 0.2
    failed = json.loads(record.encode(*pair(task, 3, error=MeasureErrorNo.RUN_TIMEOUT)))
    assert failed["result"] == [[1e9], 7, 0.25, 17e8]


def test_what_was_written_is_read(task):
    for line in [*OLD_LINES, record.encode(*pair(task, 5))]:
        measured, result = record.decode(line)
        again, same = record.decode(record.encode(measured, result))
        assert (again.config, again.task, same) == (measured.config, measured.task, result)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("garbage", "this is not JSON"),
        ("[" * 100_000, "this is not JSON"),
        ("[1, 2]", "not a record of AutoTVM"),
        ("{}", "not a record of AutoTVM"),
        ('{"i": ["llvm", "matmul"], "v": 0.1}', "version 0.1 is older"),
        (OLD_LINES[0].replace('"version": 0.2', '"version": 0.3'), "version 0.3 is another"),
        (OLD_LINES[0].replace("[0.0325, 0.0331]", "[]"), "are not times"),
        (OLD_LINES[0].replace("[0.0325, 0.0331]", '["x"]'), "could not convert"),
        (OLD_LINES[0].replace('"sp"', '"xx"'), "the kind of a knob is one of"),
        (OLD_LINES[0].replace("[-1, 8]", '"a"'), "sp"),
        (OLD_LINES[0].replace("llvm -keys=cpu -link-params=0", "abacus"), "its target 'abacus'"),
        (OLD_LINES[0].replace("-link-params=0", "-wings=2"), "no attribute 'wings'"),
        (OLD_LINES[0].replace('"tutorial/matmul"', "7"), "malformed record"),
        (OLD_LINES[0].replace('"index": 33', '"index": "a"'), "the index of a config"),
    ],
)
def test_bad_lines_are_refused(line, reason):
    with pytest.raises(RecordError, match=reason):
        record.decode(line)


def test_only_json_is_read_and_written(task):
    for function in (lambda: record.decode("", "pickle"), lambda: record.encode(*pair(task), "p")):
        with pytest.raises(ArgumentValueError, match="reading a pickle may run code"):
            function()


def test_bad_lines_of_a_file_are_named(task, tmp_path, caplog):
    path = tmp_path / "matmul.log"
    good = record.encode(*pair(task, 1))
    path.write_text(f"# tuned today\n{good}\n\nnonsense\n{OLD_LINES[0]}\n{good[:40]}")
    with caplog.at_level(logging.WARNING):
        found = list(record.load_from_file(path))
    assert [measured.config.index for measured, _ in found] == [1, 33]
    assert "skipped 2 lines" in caplog.text
    assert "matmul.log:4: this is not JSON" in caplog.text
    assert "matmul.log:6: the end of the line is missing" in caplog.text
    # The next writer removes what is torn.
    autotvm.callback.log_to_file(path)(None, *zip(pair(task, 2), strict=True))
    assert [measured.config.index for measured, _ in record.load_from_file(path)] == [1, 33, 2]


def test_open_files_are_read(task):
    file = io.StringIO("\n".join(OLD_LINES))
    assert len(list(record.load_from_file(file))) == 2


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(DatabaseError, match=r"there is no record file .*none\.log"):
        record.load_from_file(tmp_path / "none.log")
    with pytest.raises(ArgumentError, match="the name of a file of records, got 3"):
        record.load_from_file(3)


def test_lines_that_a_later_one_supersedes_do_not_count(task, tmp_path):
    path = tmp_path / "matmul.log"
    record.append(path, [
        record.encode(*pair(task, 1, 0.1)), record.encode(*pair(task, 2, 0.2)),
        record.encode(*pair(task, 1, 0.3), supersedes=True),
    ])  # fmt: skip
    found = [(m.config.index, r.mean) for m, r in record.load_from_file(path)]
    assert found == [(2, 0.2), (1, 0.3)]
    with autotvm.apply_history_best(path):
        config = autotvm.DispatchContext.current.query(task.target, task.workload)
    assert config == task.config_space.get(2)


def test_the_best_of_each_task(task, tmp_path):
    path, best = tmp_path / "all.log", tmp_path / "best.log"
    other = autotvm.task.create("tests/matmul", [4, 4, 4], "llvm")
    failed = pair(task, 4, error=MeasureErrorNo.WRONG_ANSWER)
    record.append(path, [
        record.encode(*pair(task, 1, 0.2)), record.encode(*pair(other, 1, 0.3)),
        record.encode(*pair(task, 2, 0.1)), record.encode(*failed),
    ])  # fmt: skip
    record.pick_best(path, best)
    found = [(m.task.workload, m.config.index) for m, _ in record.load_from_file(best)]
    assert found == [(task.workload, 2), (other.workload, 1)]


def test_a_file_for_each_task(task, tmp_path):
    path = tmp_path / "all.log"
    other = autotvm.task.create("tests/matmul", [4, 4, 4], "llvm")
    lines = [record.encode(*pair(t, i)) for t, i in ((task, 1), (other, 1), (task, 1), (task, 2))]
    record.append(path, lines)
    for clean, counts in ((True, [2, 1]), (False, [3, 1])):
        names = record.split_workload(path, clean=clean)
        assert names == [f"{path}.000.wkl", f"{path}.001.wkl"]
        assert [len(list(record.load_from_file(name))) for name in names] == counts


def test_keys(task):
    one, other = pair(task, 1)[0], pair(task, 2)[0]
    again, _ = record.decode(record.encode(*pair(task, 1)))
    assert record.measure_str_key(one) == record.measure_str_key(again)
    assert record.measure_str_key(one) != record.measure_str_key(other)
    same_task = [record.measure_str_key(m, include_config=False) for m in (one, other)]
    assert same_task[0] == same_task[1]
    elsewhere = one._replace(target=tvm.target.Target("llvm"))
    assert record.measure_str_key(elsewhere) != record.measure_str_key(one)
