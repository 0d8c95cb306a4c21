"""The commands: what they print, and their exit codes."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright import cli, meta_schedule
from tilewright.error import TuningError
from tilewright.meta_schedule import tir_integration
from tilewright.runtime import load_module
from tilewright.runtime.linking import find_compiler
from tilewright.tune.database import JSONDatabase

ROOT = Path(__file__).parents[2]
ONE = "llvm -num-cores=1"


def test_help(run):
    for arguments in ([], ["tune"], ["replay"], ["report"], ["records"], ["records", "merge"]):
        with pytest.raises(SystemExit) as stop:
            run(*arguments, "--help")
        assert stop.value.code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["tuen"],
        ["tune"],
        ["tune", "x.py", "--trials", "0"],
        ["records", "list", "d", "--since", "x"],
    ],
)
def test_a_wrong_command_line(run, arguments):
    code, output, errors = run(*arguments)
    assert (code, output) == (2, "")
    assert errors.count("\n") == 1
    assert "--help" in errors


@pytest.mark.filterwarnings("default")
def test_warnings_are_lines_of_the_program(run, tmp_path):
    odd = tmp_path / "odd.py"
    odd.write_text("import warnings\nwarnings.warn('this is odd')\n")
    _, output, errors = run("tune", odd)
    assert output == ""
    assert errors.splitlines()[0] == "tilewright: this is odd"


def test_replay_prints_the_best_schedule(run, program, tuned):
    code, output, errors = run("replay", program, "--work-dir", tuned, "--target", ONE)
    assert (code, errors) == (0, "tilewright: 1 of 1 tasks matched\n")
    assert "for i_0, i_1, j, k in T.grid(4, 4, 16, 16):" in output
    code, output, _ = run("replay", program, "--work-dir", tuned, "--target", ONE, "--trace")
    assert "decision=[4, 4]" in output


def test_replay_builds(run, program, tuned, tmp_path):
    if find_compiler() is None:
        pytest.skip("there is no C compiler")
    library = tmp_path / "matmul.so"
    arguments = ("--work-dir", tuned, "--target", ONE, "--export", library)
    assert run("replay", program, *arguments)[0] == 0
    assert load_module(str(library))["main"] is not None
    assert ctypes.CDLL(str(library))


def test_replay_of_what_was_not_tuned(run, program, tuned):
    code, output, errors = run("replay", f"{program}:doubled", "--work-dir", tuned)
    assert (code, output) == (1, "")
    assert "0 of 1 tasks matched (nothing for main)" in errors


def test_report(run, tuned, tmp_path):
    path = tmp_path / "report.html"
    code, output, _ = run("report", tuned, "-o", path, "--title", "A <title>")
    assert (code, output) == (0, f"{path}\n")
    assert "<h1>A &lt;title&gt;</h1>" in path.read_text()


def test_list(run, tuned):
    code, output, _ = run("records", "list", tuned)
    assert code == 0
    lines = output.splitlines()
    assert lines[0].split() == ["Date", "Task", "Workload", "Time", "Target", "Machine"]
    assert len(lines) == 4
    assert "failed: crash" in lines[2]
    assert "1.00 \u00b5s" in lines[3]


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        (["--failed"], [None]),
        (["--valid"], [2e-6, 1e-6]),
        (["--since", "2025-01-01"], [1e-6]),
        (["--until", "2025-01-01", "--valid"], [2e-6]),
        (["--task", "den"], [2e-6, None, 1e-6]),
        (["--task", "conv"], []),
        (["--machine", "no such cpu"], []),
        (["--target", ONE], [2e-6, None, 1e-6]),
        (["--target", "llvm -num-cores=5"], []),
        (["--workload", "FFFF0000"], []),
    ],
)
def test_tests_of_records(run, tuned, tests, expected):
    code, output, _ = run("records", "list", tuned, "--json", *tests)
    assert code == 0
    times = [json.loads(line).get("run_secs") for line in output.splitlines()]
    assert times == [None if seconds is None else [seconds] for seconds in expected]


def test_best_and_stats(run, tuned):
    _, output, _ = run("records", "best", tuned, "--json")
    assert [json.loads(line)["run_secs"] for line in output.splitlines()] == [[1e-6]]
    _, output, _ = run("records", "stats", tuned)
    assert output.splitlines()[1].split()[2:] == ["3", "1", "crash", "1.00", "\u00b5s"]


def test_merge_adds_nothing_twice(run, tuned, tmp_path):
    for name in ("both", "both.sqlite"):
        place = tmp_path / name
        code, output, _ = run("records", "merge", tuned, tuned, "-o", place)
        assert (code, output) == (0, f"3 records added to {place}, which has 3\n")
        _, output, _ = run("records", "merge", tuned, "-o", place)
        assert output == f"0 records added to {place}, which has 3\n"
        _, output, _ = run("records", "best", place, "--json")
        assert json.loads(output)["run_secs"] == [1e-6]


def test_filter(run, tuned, tmp_path):
    place = tmp_path / "failed"
    assert run("records", "filter", tuned, "-o", place, "--failed")[0] == 0
    assert [r.error_kind for r in JSONDatabase(work_dir=place).get_all_tuning_records()] == [
        "crash"
    ]
    code, _, errors = run("records", "filter", tuned, "-o", place, "--task", "conv")
    assert (code, errors) == (1, "tilewright: no record passes the tests\n")


@pytest.mark.parametrize("command", [["records", "list"], ["report"]])
@pytest.mark.parametrize("name", ["nowhere", "nowhere.sqlite"])
def test_records_that_do_not_exist(run, tmp_path, command, name):
    code, output, errors = run(*command, tmp_path / name)
    assert (code, output) == (1, "")
    assert errors.startswith("tilewright: there is no record file")
    assert errors.count("\n") == 1
    assert not (tmp_path / name).exists()


def committing(tuned):
    """Stands in for the search: what it finds is there already."""

    def tune_tir(mod, target, work_dir, max_trials_global, **options):
        committing.called = (max_trials_global, options)
        database = JSONDatabase(work_dir=work_dir)
        database.commit_tuning_records(JSONDatabase(work_dir=tuned).get_all_tuning_records())
        return database

    return tune_tir


def test_tune(run, program, tuned, tmp_path, monkeypatch):
    monkeypatch.setattr(meta_schedule, "tune_tir", committing(tuned))
    options = ("--trials", 5, "--seconds", 9, "--seed", 3, "--target", ONE, "--report")
    code, output, _ = run("tune", program, "--work-dir", tmp_path / "new", *options)
    assert code == 0
    trials, given = committing.called
    assert (trials, given) == (5, {"max_seconds": 9.0, "seed": 3})
    lines = output.splitlines()
    assert lines[0] == "main: 1.00 \u00b5s"
    assert lines[1].startswith("1 of 1 tasks matched; 3 trials in")
    assert lines[1].endswith("(3 new), and 0 measurements of finalists")
    assert (tmp_path / "new" / "report.html").exists()


@pytest.mark.parametrize(("wanted", "trials"), [(8, 5), (3, None)])
def test_tune_up_to_a_number_of_trials(run, program, tuned, monkeypatch, wanted, trials):
    committing.called = (None, {})
    monkeypatch.setattr(meta_schedule, "tune_tir", committing(tuned))
    options = ("--work-dir", tuned, "--target", ONE, "--up-to", wanted)
    code, _, _ = run("tune", program, *options)
    assert (code, committing.called[0]) == (0, trials)
    assert run("tune", program, *options, "--trials", 4)[0] == 2


@pytest.mark.parametrize("arguments", [("-v", "records", "stats"), ("records", "stats", "-v")])
def test_what_happens_is_logged_wherever_the_option_is(run, tuned, monkeypatch, arguments):
    seen = []
    monkeypatch.setattr(cli, "_show_log", seen.append)
    assert run(*arguments, tuned)[0] == 0
    assert seen == [True]


def test_tune_that_fails(run, program, tmp_path, monkeypatch):
    def tune_tir(*_, **__):
        raise TuningError("no candidate ran: 3 crash\nthe first one said ...")

    monkeypatch.setattr(meta_schedule, "tune_tir", tune_tir)
    code, output, errors = run("tune", program, "--work-dir", tmp_path)
    assert (code, output, errors) == (1, "", "tilewright: no candidate ran: 3 crash\n")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(meta_schedule, "tune_tir", interrupted)
    assert run("tune", program, "--work-dir", tmp_path)[0] == 130


def test_what_tune_calls_exists():
    """The stand-ins of these tests take what `tune_tir` takes."""
    names = tir_integration.tune_tir.__annotations__
    assert {"mod", "target", "work_dir", "max_trials_global", "max_seconds", "seed"} <= {*names}


def test_a_bad_target(run, program):
    code, _, errors = run("tune", program, "--target", "vax")
    assert code == 1
    assert errors.startswith("tilewright: ")
    assert errors.count("\n") == 1


def test_as_a_program(tuned):
    result = subprocess.run(
        [sys.executable, "-m", "tilewright", "records", "list", str(tuned)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == 4
