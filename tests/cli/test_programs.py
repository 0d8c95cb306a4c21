"""How the command line names programs."""

import json

import pytest
from tests.tune.database.programs import matmul

from tilewright.cli.program_file import load_program
from tilewright.error import ArgumentValueError, RecordError
from tilewright.ir import structural_equal
from tilewright.tune.database import JSONDatabase
from tilewright.tune.workload import normalized


def test_the_only_program_of_a_file(program):
    assert structural_equal(normalized(load_program(str(program))), normalized(matmul()))


def test_one_by_name(program):
    assert load_program(f"{program}:Matmul") is not None
    assert load_program(f"{program}:doubled").params[0].name == "var_A"


def test_a_file_may_import_its_neighbours(tmp_path, program):
    (tmp_path / "user.py").write_text("from program import Matmul as Product\n")
    assert load_program(str(tmp_path / "user.py"))["main"] is not None


def test_a_file_of_workloads(tuned, program):
    database = JSONDatabase(work_dir=tuned)
    path = tuned / "database_workload.json"
    assert structural_equal(load_program(str(path)), normalized(matmul()))
    other = database.commit_workload(load_program(f"{program}:doubled"))
    with pytest.raises(ArgumentValueError, match="expected one workload"):
        load_program(str(path))
    assert structural_equal(load_program(f"{path}:{other.key[:6].upper()}"), other.mod)
    with path.open("a") as stream:
        stream.write(json.dumps({"version": 1}) + "\n")
    with pytest.raises(RecordError, match=r"database_workload.json:3: malformed workload"):
        load_program(str(path))


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("x = 1", "", "no tensor program among its global names"),
        ("x = 1", ":x", "x is not a tensor program, but a int"),
        ("x = 1", ":y", "has no 'y'"),
        ("def f(): return 1", ":f", r"f\(\) returns a int"),
        ("def f(): return 1 / 0", ":f", "ZeroDivisionError: division by zero"),
        ("def f(n): return 1", ":f", "TypeError"),
        ("1 +", "", "SyntaxError"),
        ("import nowhere", "", "ModuleNotFoundError: No module named 'nowhere'"),
        ("raise SystemExit(3)", "", "SystemExit: 3"),
    ],
)
def test_files_without_a_program(tmp_path, text, name, message):
    path = tmp_path / "program.py"
    path.write_text(text)
    with pytest.raises(ArgumentValueError, match=message):
        load_program(f"{path}{name}")


def test_several_programs(tmp_path, program):
    program.write_text(program.read_text() + "\nOther = doubled()\nSame = Matmul\n")
    with pytest.raises(ArgumentValueError, match=r"pick one, as in .*program.py:Matmul"):
        load_program(str(program))


def test_files_that_are_none(tmp_path):
    with pytest.raises(ArgumentValueError, match="there is no file"):
        load_program(str(tmp_path / "missing.py"))
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ArgumentValueError, match="neither a Python file"):
        load_program(str(tmp_path / "notes.txt"))
