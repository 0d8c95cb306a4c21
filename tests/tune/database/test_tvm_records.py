"""Record files in the form of Apache TVM."""

import base64
import json
import logging

import pytest
from tests.tune.database.programs import matmul, record_of, relu

from tilewright.cli import main
from tilewright.error import DatabaseError
from tilewright.ir import save_json, structural_equal
from tilewright.tune.database import JSONDatabase
from tilewright.tune.database.tvm_lines import RECORD_FILE, WORKLOAD_FILE, write_records
from tilewright.tune.integration import compile_tir
from tilewright.tune.workload import Workload

TARGET = "llvm -num-cores=1"

TRACE = [
    [
        ["GetBlock", [], ["C", "main"], ["b0"]],
        ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
        ["SamplePerfectTile", ["l1"], [2, 16], ["v4", "v5"]],
        ["Split", ["l1", "v4", "v5"], [1, 0], ["l6", "l7"]],
        ["EnterPostproc", [], [], []],
        ["Parallel", ["l6"], [], []],
    ],
    [[2, [4, 4]]],
]


def lines(path, items):
    path.write_text("".join(json.dumps(item) + "\n" for item in items))


def workload(mod):
    program = save_json(Workload(mod).mod, "tvm").encode()
    return ["123456", base64.b64encode(len(program).to_bytes(8, "little") + program).decode()]


def record(position, seconds, trace=TRACE):
    target = {"kind": "llvm", "keys": ["cpu"], "tag": "", "num-cores": 1}
    return [position, [trace, seconds, target, [["TENSOR", "float32", [16, 16]]] * 3]]


@pytest.fixture
def directory(tmp_path):
    lines(tmp_path / WORKLOAD_FILE, [workload(relu()), workload(matmul())])
    lines(tmp_path / RECORD_FILE, [record(1, [2e-3]), record(1, [1e-3, 3e-3]), record(1, [1e10])])
    return tmp_path


def test_records_are_found_for_an_equal_program(directory):
    database = JSONDatabase(work_dir=directory)
    assert not database.skipped
    assert [r.is_valid for r in database.get_all_tuning_records()] == [True, True, False]
    best = database.query_tuning_record(matmul(), TARGET)
    assert best.mean_secs == 2e-3
    text = compile_tir(database, matmul(), TARGET).mod.script()
    assert "T.parallel(4)" in text
    assert database.query_tuning_record(relu(), TARGET) is None


def test_tuning_goes_on_in_the_same_files(directory):
    database = JSONDatabase(work_dir=directory)
    database.commit_tuning_record(record_of(database.commit_workload(matmul()), [1e-4]))
    again = JSONDatabase(work_dir=directory)
    assert not again.skipped
    assert len(again) == 4
    assert again.query_tuning_record(matmul(), TARGET).mean_secs == 1e-4


def test_lines_that_cannot_be_used_are_skipped(directory, caplog):
    other = base64.b64encode(bytes(8) + b"{}").decode()
    programs = [["1", other], workload(matmul()), ["2"], ["3", "not base64"]]
    lines(directory / WORKLOAD_FILE, programs)
    damaged = [record(0, [1.0]), record(-1, [1.0]), record(9, [1.0]), [1, 2], [1, [TRACE, "x"]]]
    lines(directory / RECORD_FILE, [record(1, [5e-3]), *damaged])
    with caplog.at_level(logging.WARNING):
        database = JSONDatabase(work_dir=directory)
    assert len(database.skipped) == 8
    assert database.query_tuning_record(matmul(), TARGET).mean_secs == 5e-3


def test_what_is_written_is_read_again(tmp_path):
    database = JSONDatabase(work_dir=tmp_path / "own")
    for mod, seconds in ((matmul(), [1e-3]), (relu(), [2e-3]), (matmul(), None)):
        failed = {} if seconds else {"error": "no", "error_kind": "timeout"}
        database.commit_tuning_record(
            record_of(database.commit_workload(mod), seconds, tile=4, **failed)
        )
    own = database.get_all_tuning_records()
    write_records(own, tmp_path / "tvm")
    again = JSONDatabase(work_dir=tmp_path / "tvm")
    assert not again.skipped
    for before, after in zip(own, again.get_all_tuning_records(), strict=True):
        assert (after.is_valid, after.run_secs) == (before.is_valid, before.run_secs)
        assert after.target == before.target
        assert after.args_info == before.args_info
        assert structural_equal(after.schedule().mod, before.schedule().mod)
    with pytest.raises(DatabaseError, match="File exists"):
        write_records(own, tmp_path / "tvm")


def test_the_command_line_converts_in_both_directions(directory, tmp_path, capsys):
    own, there = str(tmp_path / "own"), str(tmp_path / "there")
    assert main(["records", "filter", str(directory), "--valid", "-o", own]) == 0
    assert main(["records", "filter", own, "--tvm", "-o", there]) == 0
    assert "2 records written" in capsys.readouterr().out
    form = json.loads((tmp_path / "there" / RECORD_FILE).read_text().splitlines()[0])
    assert form[1][0] == TRACE
    assert len(JSONDatabase(work_dir=there)) == 2
