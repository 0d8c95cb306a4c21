"""The tool that drops requirements finds them, and the tests that need them."""

import subprocess
import sys

from tools.mutate_requirements import HEADING, page, tables
from tools.requirements import PACKAGE, ROOT, find, requirements_of


def test_requirements_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.requirements.PACKAGE", tmp_path)
    path = tmp_path / "primitive.py"
    path.write_text(
        "class Nest:\n"
        "    def check(self, loop):\n"
        "        if loop is None or self.loops:\n"
        "            raise ScheduleError(f'{{0}} is {loop}, ' 'which is | none', at=[loop])\n"
        "        raise ValueError('no requirement')\n"
        "@primitive\n"
        "def act(tree, loop):\n"
        "    _require_plain(loop)\n"
        "    loop = require_loop(loop)\n"
    )
    found = requirements_of(path)
    assert [(item.line, item.text, item.function) for item in found] == [
        (4, "… is …, which is | none", ("check", 2)),
        (4, "… is …, which is | none (`loop is None`)", ("check", 2)),
        (4, "… is …, which is | none (`self.loops`)", ("check", 2)),
        (8, "_require_plain(loop)", ("act", 6)),
    ]
    table = tables(found, {0: "tests/test_act.py::test_none[1]"})["primitive"]
    assert table.splitlines() == [
        "",
        "| requirement | test |",
        "|---|---|",
        "| … is …, which is \\| none | `test_act.py::test_none` |",
        "| … is …, which is \\| none (`loop is None`) | **SURVIVED** |",
        "| … is …, which is \\| none (`self.loops`) | **SURVIVED** |",
        "| `_require_plain(loop)` | **SURVIVED** |",
    ]


def test_a_new_table_takes_the_place_of_the_old_one():
    old = page("", {"b": "\nold b\n", "a": "\nold a\n"}, ["a", "b"])
    assert old == f"{HEADING}\n## a\n\nold a\n\n## b\n\nold b\n"
    assert page(old, {"b": "\nnew\n"}, ["a", "b"]) == old.replace("old b", "new")
    assert page(old, {}, ["b"]) == f"{HEADING}\n## b\n\nold b\n"


def test_every_primitive_that_refuses_is_looked_at():
    modules = {item.module for item in find([])}
    refusing = [path for path in PACKAGE.rglob("*.py") if "raise ScheduleError" in path.read_text()]
    assert {path.stem for path in refusing} <= {name.rpartition(".")[2] for name in modules}


def test_a_dropped_requirement_is_noticed():
    command = [sys.executable, "-m", "tools.mutate_requirements", "scope"]
    run = subprocess.run(
        [*command, "--tests", "tests/tir/schedule/test_set_scope.py"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "`test_set_scope.py::test_" in run.stdout
    assert run.stdout.endswith("1 requirements, 0 survive, 0 unexplained\n")
