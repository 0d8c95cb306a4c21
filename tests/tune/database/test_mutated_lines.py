"""Lines of record files that are JSON, but say what no tuner has written: they are skipped."""

import base64
import contextlib
import json
import logging
import random

import pytest
from tests.tune.database.mutations import mutated, places
from tests.tune.database.programs import matmul, record_of

from tilewright.error import ArgumentError, TVMError, VerifyError
from tilewright.ir import IntImm, IRModule, Range, load_json, save_json, structural_equal
from tilewright.tir import BlockRealize, BufferRegion, Schedule
from tilewright.tune.database import JSONDatabase
from tilewright.tune.database.json_database import RECORD_FILE, WORKLOAD_FILE
from tilewright.tune.database.tvm_lines import write_records
from tilewright.tune.workload import normalized


def decoded(line):
    """The graph of nodes in a line of a workload of Apache TVM."""
    return json.loads(base64.b64decode(line[1])[8:])


def encoded(graph):
    program = json.dumps(graph).encode()
    text = len(program).to_bytes(8, "little") + program
    return ["1", base64.b64encode(text).decode()]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A workload and a record as lines, in our own form and in that of Apache TVM."""
    directory = tmp_path_factory.mktemp("sound")
    database = JSONDatabase(work_dir=directory / "own")
    database.commit_tuning_record(record_of(database.commit_workload(matmul())))
    write_records(database.get_all_tuning_records(), directory / "tvm")
    return {
        form: [json.loads((directory / form / n).read_text()) for n in (WORKLOAD_FILE, RECORD_FILE)]
        for form in ("own", "tvm")
    }


def read(directory, workload, record):
    """Read two lines, and ask for all that they say."""
    for name, line in ((WORKLOAD_FILE, workload), (RECORD_FILE, record)):
        (directory / name).write_text(json.dumps(line) + "\n")
    database = JSONDatabase(work_dir=directory)
    for found in database.get_all_tuning_records():
        assert found.target is None or found.target.kind
        for ask in (lambda: found.args_info, lambda: found.trace, found.as_json):  # noqa: B023
            with contextlib.suppress(TVMError):
                ask()
    database.query_tuning_record(matmul(), "llvm -num-cores=1")
    own = database.commit_workload(matmul())
    assert structural_equal(own.mod, normalized(matmul()))
    return database


@pytest.mark.parametrize("form", ["own", "tvm"])
def test_random_changes(form, sound, tmp_path, caplog, budget):
    caplog.set_level(logging.CRITICAL, "tilewright")
    rng = random.Random(1)
    workload, record = sound[form]
    assert not read(tmp_path, workload, record).skipped
    skipped = 0
    for _ in budget.examples(150):
        where = rng.choice(("program", "program", "workload", "record"))
        if where == "program" and form == "tvm":
            lines = encoded(mutated(decoded(workload), rng)), record
        elif where == "record":
            lines = workload, mutated(record, rng)
        else:
            lines = mutated(workload, rng), record
        skipped += bool(read(tmp_path, *lines).skipped)
    assert skipped > 20


@pytest.mark.parametrize(
    ("key", "value"),
    [("value", None), ("value", "16"), ("value", 1.5), ("name", None), ("name", 16), ("name", [])],
)
def test_numbers_and_names_are_of_their_class(key, value):
    program = save_json(normalized(matmul()))
    form = json.loads(program)
    container, _ = next(p for p in places(form) if p[1] == key and type(p[0][key]) in (int, str))
    container[key] = value
    with pytest.raises(ArgumentError, match=f"{key} is of class"):
        load_json(json.dumps(form))


def test_accesses_with_too_few_indices():
    func = matmul()
    realize = func.body
    while not (isinstance(realize, BlockRealize) and realize.block.iter_vars):
        realize = realize.block.body if isinstance(realize, BlockRealize) else realize.body
    block = realize.block
    region = BufferRegion(block.writes[0].buffer, [Range.from_min_extent(0, IntImm("int32", 16))])
    broken = realize.replace(block=block.replace(writes=(region,)))
    with pytest.raises(VerifyError, match="has rank 1, the buffer 2"):
        Schedule(IRModule({"main": func.with_body(broken)}))
