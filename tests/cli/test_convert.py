"""Records of other forms become records of the tuner."""

import json

import pytest

from tilewright import auto_scheduler, autotvm
from tilewright.autotvm.task.template import _TEMPLATES
from tilewright.tune.database import JSONDatabase
from tilewright.tune.database.selection import records_of

TEMPLATES = """
from tilewright import autotvm, te

@autotvm.template("tests/convert")
def double(n):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    cfg = autotvm.get_config()
    cfg.define_split("tile", B.op.axis[0], num_outputs=2)
    _, inner = cfg["tile"].apply(s, B, B.op.axis[0])
    s[B].vectorize(inner)
    return s, [A, B]
"""


def line(size, costs, number=0, name="tests/convert", knob="tile"):
    config = {"index": 0, "code_hash": None, "entity": [[knob, "sp", [-1, size]]]}
    return json.dumps({
        "input": ["llvm -keys=cpu -link-params=0", name, [8], {}], "config": config,
        "result": [costs, number, 0.5, 1.6e9], "version": 0.2, "tvm_version": "0.8.0",
    })  # fmt: skip


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "old.log"
    good = [line(4, [2e-6]), line(2, [3e-6]), line(1, [1e9], 4)]
    bad = [line(3, [1e-6]), line(4, [1e-6], knob="other"), line(4, [1e-6], name="nobody"), "{"]
    path.write_text("\n".join([*good, *bad]))
    return path


@pytest.fixture
def templates(tmp_path, monkeypatch):
    monkeypatch.delitem(_TEMPLATES, "tests/convert", raising=False)
    path = tmp_path / "templates.py"
    path.write_text(TEMPLATES)
    return path


def test_lines_of_autotvm(run, log, templates, tmp_path, caplog):
    out = tmp_path / "tuned"
    code, output, _ = run("records", "convert", log, "--programs", templates, "-o", out)
    assert (code, output) == (0, f"3 records added to {out}, which has 3\n")
    assert "skipped 4 lines" in caplog.text
    for number, reason in (
        (4, "[-1, 3] is not a value of the knob 'tile'"), (5, "it has the knobs ['other']"),
        (6, "there is no template 'nobody'"), (7, "the end of the line is missing"),
    ):  # fmt: skip
        assert f"old.log:{number}: " in caplog.text
        assert reason in caplog.text
    task = autotvm.task.create("tests/convert", [8], "llvm")
    database = JSONDatabase(work_dir=out)
    assert database.query_tuning_record(task.mod, task.target).run_secs == [2e-6]
    assert "T.vectorized(4)" in str(database.query_schedule(task.mod, task.target).mod)
    kinds = [record.error_kind for record in database.get_all_tuning_records()]
    assert kinds == [None, None, "run"]
    # It is not known where they were measured.
    assert records_of(database, task.mod, task.target) == []


def test_records_of_this_machine(run, log, templates, tmp_path):
    arguments = ("records", "convert", log, "--programs", templates, "--valid", "--here")
    assert run(*arguments, "-o", tmp_path / "here")[0] == 0
    task = autotvm.task.create("tests/convert", [8], "llvm")
    database = JSONDatabase(work_dir=tmp_path / "here")
    assert len(records_of(database, task.mod, task.target)) == 2


def test_templates_are_needed(run, log, templates, tmp_path):
    code, output, errors = run("records", "convert", log, "-o", tmp_path / "tuned")
    assert (code, output) == (1, "")
    assert "no line of" in errors
    assert "there is no template 'tests/convert' in this process" in errors
    assert not (tmp_path / "tuned").exists()


def test_files_that_cannot_be_converted(run, tmp_path, templates):
    (tmp_path / "text").write_text("hello\n[1]\n")
    (tmp_path / "bad.py").write_text("1 / 0")
    for arguments, message in (
        ([tmp_path / "none"], "cannot read"),
        (
            [tmp_path / "text"],
            "has no line of a form that is known, which are autotvm, auto-scheduler",
        ),
        ([tmp_path / "text", "--from", "autotvm"], "the first reason: this is not JSON"),
        ([tmp_path / "text", "--programs", tmp_path / "none.py"], "there is no file"),
        ([tmp_path / "text", "--programs", tmp_path / "bad.py"], "ZeroDivisionError"),
    ):
        code, _, errors = run("records", "convert", *arguments, "-o", tmp_path / "tuned")
        assert code == 1
        assert message in errors


WORKLOADS = """
from tilewright import auto_scheduler, te

@auto_scheduler.register_workload("tests/convert", override=True)
def double(n):
    A = te.placeholder((n,), name="A")
    return [A, te.compute((n,), lambda i: A[i] * 2.0, name="B")]
"""


def steps_line(steps, costs, number=0, name="tests/convert"):
    task = [json.dumps([name, 8]), "llvm -keys=cpu -link-params=0", [4, 64, 64], "", 0, []]
    form = {"i": [task, [[], steps]], "r": [costs, number, 0.5, 1.6e9], "v": "v0.6"}
    return json.dumps(form)


def test_lines_of_the_auto_scheduler(run, tmp_path, caplog):
    path, programs, out = tmp_path / "old.json", tmp_path / "workloads.py", tmp_path / "tuned"
    programs.write_text(WORKLOADS)
    tiled = [["SP", 1, 0, 8, [4], 1], ["AN", 1, 1, 2]]
    bad = [steps_line([["SP", 1, 0, 9, [3], 1]], [1e-6]), steps_line(tiled, [1e-6], name="nobody")]
    racing = steps_line([["CHR", 0, "local", [1]], ["CA", 1, 2, 0], ["CHW", 2, "local"]], [1e-6])
    good = [steps_line(tiled, [2e-6]), steps_line([], [3e-6]), steps_line(tiled, [1e10], 7)]
    path.write_text("\n".join([*good, *bad, racing, ""]))
    code, output, errors = run("records", "convert", path, "--programs", programs, "-o", out)
    assert (code, output) == (0, f"3 records added to {out}, which has 3\n"), errors
    assert "skipped 3 lines" in caplog.text
    for number, reason in (
        (4, "has extent 8, but 9 in the record"),
        (5, "the workload 'nobody' is not registered"),
        (6, "it is computed in loop i of stage B"),
    ):
        assert f"old.json:{number}: " in caplog.text
        assert reason in caplog.text
    task = auto_scheduler.SearchTask("tests/convert", (8,), target="llvm")
    database = JSONDatabase(work_dir=out)
    assert database.query_tuning_record(task.compute_dag.func, task.target).run_secs == [2e-6]
    best = database.query_schedule(task.compute_dag.func, task.target)
    assert "T.vectorized(4)" in str(best.mod)
    kinds = [record.error_kind for record in database.get_all_tuning_records()]
    assert kinds == [None, None, "timeout"]
