"""Record files of Apache TVM's auto-scheduler."""

import json

import numpy as np
import pytest
from tests.auto_scheduler.programs import matmul_task, quick_options, small_conv2d
from tests.te.schedule.checking import random_array

import tilewright as tvm
from tilewright import auto_scheduler
from tilewright.auto_scheduler import PreloadMeasuredStates, SearchTask, SketchPolicy
from tilewright.auto_scheduler.tvm_lines import record_of
from tilewright.error import DatabaseError, RecordError
from tilewright.tune.database import JSONDatabase

TARGET = "llvm -keys=cpu -link-params=0 -num-cores=1"
MATMUL_KEY = '["small_matmul", 32, 32, 32]'
MATMUL = [
    ["SP", 2, 0, 32, [2, 4], 1],
    ["SP", 2, 3, 32, [1, 16], 1],
    ["SP", 2, 6, 32, [8], 1],
    ["RE", 2, [0, 3, 1, 4, 6, 7, 2, 5]],
    ["FU", 2, [0, 1]],
    ["AN", 2, 6, 2],
    ["AN", 2, 5, 1],
    ["PR", 2, 0, "auto_unroll_max_step$16"],
]
CONV_KEY = '["small_conv2d", 8, 6, [1, 1], [1, 1]]'
CONV = [
    ["CI", 5],
    ["SP", 3, 1, 8, [4], 1],
    ["SP", 3, 3, 6, [3], 1],
    ["RE", 3, [0, 1, 3, 5, 6, 7, 8, 2, 4]],
    ["FSP", 6, 1, 1, 1],
    ["FSP", 6, 3, 2, 1],
    ["RE", 6, [0, 1, 3, 2, 4, 5]],
    ["CA", 3, 6, 2],
    ["CA", 1, 6, 0],
    ["FU", 6, [0, 1]],
    ["AN", 6, 4, 2],
]


def line(key=MATMUL_KEY, steps=MATMUL, costs=(2e-5,), number=0, target=TARGET, **others):
    task = [key, target, [1, 64, 64, 0, 0, 0, 0, 0], "", 0, []]
    form = {"i": [task, [[], steps]], "r": [list(costs), number, 0.5, 1.6e9], "v": "v0.6"}
    return form | others


@pytest.fixture
def log(tmp_path):
    """Writes lines to a file."""

    def write(*lines):
        path = tmp_path / "old.json"
        texts = [item if isinstance(item, str) else json.dumps(item) for item in lines]
        path.write_text("".join(f"{text}\n" for text in texts))
        return path

    return write


def test_candidates_and_what_came_of_them(log):
    path = log(line(), line(CONV_KEY, CONV, [1e-4, 2e-4]), line(costs=[1e10], number=4))
    pairs = list(auto_scheduler.load_records(path))
    assert [inp.task.workload_key for inp, _ in pairs] == [MATMUL_KEY, CONV_KEY, MATMUL_KEY]
    assert [result.costs for _, result in pairs] == [(2e-5,), (1e-4, 2e-4), (1e10,)]
    assert [int(result.error_no) for _, result in pairs] == [0, 0, 4]
    assert pairs[0][0].task.target == tvm.target.Target("llvm -keys=cpu -num-cores=1")
    assert pairs[0][1].timestamp == 1.6e9
    assert "T.vectorized(16)" in pairs[0][0].state.sch.mod.script()
    _, result = auto_scheduler.load_best_record(path, MATMUL_KEY)
    assert result.costs == (2e-5,)


def test_the_best_one_is_applied(log):
    path = log(line(CONV_KEY, CONV, [1e-4]))
    task = SearchTask(small_conv2d, (8, 6, (1, 1), (1, 1)), target="llvm -num-cores=1")
    sch, args = task.apply_best(path)
    function = tvm.build(sch, args, task.target)
    data, kernel = random_array((1, 8, 6, 6)), random_array((8, 8, 3, 3), seed=1)
    bias = random_array((1, 8, 1, 1), seed=2)
    result, expected = np.empty_like(data), np.empty_like(data)
    function(data, kernel, bias, result)
    tvm.build(task.compute_dag.func, target="llvm")(data, kernel, bias, expected)
    np.testing.assert_array_equal(result, expected)
    assert len(np.unique(result)) > 10
    assert "auto_unroll" not in task.print_best(path)


def test_a_search_goes_on(log, tmp_path):
    path, out = log(line(costs=[1e-9])), tmp_path / "new.json"
    task = matmul_task()
    policy = SketchPolicy(task, seed=1, init_search_callbacks=[PreloadMeasuredStates(path)])
    (known,) = policy.known.get_all_tuning_records()
    assert known.run_secs == [1e-9]
    assert known.machine, "taken to be of this machine"
    task.tune(quick_options(out, 4), policy)
    traces = [str(inp.record.trace_json) for inp, _ in auto_scheduler.load_records(out)]
    assert len(traces) >= 4


def test_lines_of_old_versions_and_comments(log, caplog):
    old = {**line(), "i": [[MATMUL_KEY, TARGET], [[], MATMUL]], "v": "v0.2"}
    path = log("# what this is", old, line(v="v0.3"), '{"i": 0, "r": 0, "v": 0.1}')
    assert len(list(auto_scheduler.load_records(path))) == 2
    assert "skipped 1 line" in caplog.text
    assert "old.json:4: this is not a line of a record file" in caplog.text


def test_new_lines_may_follow_old_ones(log):
    path = log(line())
    task = matmul_task()
    task.tune(quick_options(path, 2), SketchPolicy(task, seed=1))
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    assert "i" in lines[0]
    assert len(lines) >= 4
    assert len(list(auto_scheduler.load_records(path))) == len(lines) - 1, "one is a program"


def test_lines_of_equal_steps_are_one_candidate():
    first, second = record_of(line()), record_of(line(costs=[3e-5]))
    assert first.candidate_key == second.candidate_key
    assert first.workload is second.workload


def test_a_workload_that_is_registered_anew_is_another_one(monkeypatch):
    registered = auto_scheduler.workload_registry._FUNCTIONS
    before = record_of(line())
    new = lambda *sizes: small_conv2d(8, 6, (1, 1), (1, 1))  # noqa: E731
    monkeypatch.setitem(registered, "small_matmul", new)
    with pytest.raises(RecordError, match="stage kernel has no iterator 0"):
        record_of(line())
    monkeypatch.undo()
    assert record_of(line()).workload is before.workload


FAULTS = {
    "not registered": (line('["nobody", 3]'), "the workload 'nobody' is not registered"),
    "another number of arguments": (line('["small_matmul", 3]'), "fails: TypeError"),
    "no workload key": (line("small_matmul"), "a workload key is a list in JSON"),
    "a number for a key": (line(3), "a workload key is a text"),
    "another target": (line(target="quantum"), "its target 'quantum' cannot be used"),
    "no target": (line(target=None), "its target None cannot be used"),
    "another version": (line(v="v1.0"), "version v1.0 is not one that is read, such as v0.6"),
    "a line of AutoTVM": (line(v=0.1), "version 0.1 is one of AutoTVM before 0.7"),
    "no times": (line(costs=[]), "are not times in seconds"),
    "times that are none": (line(costs=[-1.0]), "are not times in seconds"),
    "texts for times": (line(costs=["a"]), "could not convert string to float"),
    "an unknown error": (line(number=12), "12 is not a valid MeasureErrorNo"),
    "a part of a result": (line(r=[[1e-3], 0]), "not enough values to unpack"),
    "no steps": (line(i=[[MATMUL_KEY, TARGET], []]), "not enough values to unpack"),
    "a text for steps": (line(steps="SP"), "steps are a list"),
    "another computation": (
        line('["small_matmul", 16, 32, 32]'),
        "iterator i of stage C has extent 16, but 32 in the record",
    ),
    "an unknown step": (line(steps=[["XX", 1]]), "step 0 .* no kind of steps 'XX'"),
    "a stage that does not exist": (line(steps=[["CI", 8]]), "there is no stage 8"),
    "an iterator that does not exist": (line(steps=[["AN", 2, 9, 2]]), "has no iterator 9"),
    "lengths that are not decided": (
        line(steps=[["SP", 2, 0, 32, [None], 1]]),
        "the lengths of a split are not decided",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_line_that_cannot_be_read_says_why(fault):
    form, message = FAULTS[fault]
    with pytest.raises(RecordError, match=message):
        record_of(form)


def test_lines_that_cannot_be_read_are_named(log, caplog):
    torn = json.dumps(line())[:-9]
    faults = [FAULTS[name][0] for name in ("not registered", "an unknown step")]
    path = log(*faults, "{]", line(), torn)
    database = JSONDatabase(path, path)
    assert len(database) == 1
    assert [(item.number, item.reason.split(":")[0]) for item in database.skipped] == [
        (1, "the workload 'nobody' is not registered; decorate the function that makes its "
            "tensors with @auto_scheduler.register_workload"),
        (2, 'step 0 ["XX", 1]'),
        (3, "this is not JSON"),
        (5, "this is not JSON"),
    ]  # fmt: skip
    assert "old.json:1: the workload 'nobody'" in caplog.text
    with pytest.raises(DatabaseError, match="there is no record file"):
        auto_scheduler.load_records(path.with_name("none.json"))


def test_steps_that_are_illegal_are_refused_when_they_are_used(log, caplog):
    # The copy of A is computed in a loop of C, but it is a cache of C that reads it then.
    misplaced = [["CHR", 0, "global", [2]], ["CA", 1, 3, 0], ["CHW", 3, "global"]]
    path = log(line(steps=MATMUL[:1]), line(steps=misplaced, costs=[1e-9]))
    sch, _ = matmul_task().apply_best(path)
    assert "split" in str(sch.trace)
    assert "cache_write" not in str(sch.trace)
    assert "it is computed in loop i of stage C, but stage C_global" in caplog.text
