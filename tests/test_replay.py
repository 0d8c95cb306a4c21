"""Replay finds what a change of the compiler changes, and nothing where nothing changed."""

import shutil

import pytest
from tools.replay import command
from tools.replay.collection import Pair, collection, select
from tools.replay.program import STAGES, TARGETS, Program
from tools.replay.record import texts_of
from tools.replay.report import changed_lines, difference
from tools.requirements import ROOT

CHANGED, OTHERS = "operator/asinh", ("script/collatz", "random/graph 3")


@pytest.fixture
def replay(tmp_path, capsys):
    """Compares with a folder; gives the exit status and what is printed."""

    def run(base, *options):
        with pytest.raises(SystemExit) as stop:
            command.main(["--base", str(base), "--build", str(tmp_path / "build"), *options])
        return stop.value.code, capsys.readouterr().out

    return run


def test_a_changed_operator_is_found(replay, tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src")
    with (tmp_path / "src" / "tilewright" / "topi" / "__init__.py").open("a") as file:
        file.write("asinh = acosh\n")
    status, text = replay(tmp_path, "--only", CHANGED, *OTHERS, "--target", "aarch64", "c")
    assert status == 1, text
    assert "5 programs and targets, 2 differ" in text
    assert "schedule, lowered, LLVM IR" in text
    assert "schedule, lowered, C" in text
    assert f"{CHANGED}, aarch64: schedule\n@@ from line" in text
    assert "\n-" in text
    assert "\n+" in text
    assert not any(other in text for other in OTHERS)


def test_nothing_differs_where_nothing_changed(replay):
    status, text = replay(ROOT, "--only", OTHERS[0], "--target", "avx2", "c")
    assert status == 0, text
    assert "2 programs and targets, 0 differ" in text


def test_an_error_is_a_text():
    def fails(target, texts):
        texts["schedule.py"] = "before"
        raise ValueError("no")

    texts = texts_of(Program("family/failing", fails), "c")
    assert texts == {"schedule.py": "before", "error.txt": "ValueError: no\n"}
    pair = Pair("family/failing", "c")
    found = difference(pair, {"schedule.py": "before", "code.c": "int x;"}, texts)
    assert found is not None
    assert found.stages == ("error.txt", "code.c")
    assert difference(pair, texts, dict(texts)) is None


def test_lines_that_changed():
    before = [f"line {n}" for n in range(100)]
    after = [*before[:50], "new", *before[51:]]
    assert changed_lines("\n".join(before), "\n".join(after)) == [
        "@@ from line 48 @@",
        *(f" line {n}" for n in (47, 48, 49)),
        "-line 50",
        "+new",
        *(f" line {n}" for n in (51, 52, 53)),
    ]
    assert changed_lines(None, "a\nb") == ["+a", "+b"]
    assert changed_lines("a", None) == ["-a"]


def test_programs_are_chosen_by_name_and_target():
    programs = collection()
    assert {target for p in programs.values() for target in p.targets} == set(TARGETS)
    assert select(programs, ["COLLATZ"], ["c"]) == [Pair("script/collatz", "c")]
    chosen = {pair.program for pair in select(programs, ["graph/*"], [])}
    assert chosen == {name for name in programs if name.startswith("graph/")}
    with pytest.raises(ValueError, match="no program matches 'nothing'; --list shows all"):
        select(programs, ["nothing"], [])
    with pytest.raises(ValueError, match="there is no target 'avx'; there are avx2, avx512"):
        select(programs, [], ["avx"])


def test_what_cannot_be_compared_with(capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(["--base", "no-such-commit"])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "'no-such-commit' is neither a commit nor a folder with `src`" in error


def test_the_help_names_stages_and_targets(capsys):
    with pytest.raises(SystemExit):
        command.main(["--help"])
    text = capsys.readouterr().out
    assert all(name in text for name in (*STAGES.values(), *TARGETS))
