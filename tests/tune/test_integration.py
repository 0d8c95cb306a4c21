"""The best schedules of a database, in a program."""

import logging

import numpy as np
from tests.tune.database.programs import matmul, record_of, relu

from tilewright import tir
from tilewright.ir import IRModule, structural_equal
from tilewright.schedule_rules.eligible import marked_as_scheduled
from tilewright.tir.interpreter import interpret
from tilewright.tune.database import MemoryDatabase, TuningRecord
from tilewright.tune.integration import compile_tir, find_schedules

ONE = "llvm -num-cores=1"


def database_with(*programs):
    database = MemoryDatabase()
    for program in programs:
        workload = database.commit_workload(program)
        for seconds, tile in ((2.0, 2), (1.0, 4)):
            database.commit_tuning_record(record_of(workload, [seconds], tile=tile))
    return database


def test_the_best_schedule_of_a_function(caplog):
    caplog.set_level(logging.INFO)
    sch = compile_tir(database_with(matmul()), matmul(), ONE)
    assert isinstance(sch, tir.Schedule)
    assert [sch.get(loop).extent.value for loop in sch.get_loops("C")] == [4, 4, 16, 16]
    assert "1 of 1 tasks matched" in caplog.text


def test_nothing_is_found(caplog):
    assert compile_tir(database_with(matmul()), relu(), ONE) is None
    assert "0 of 1 tasks matched (nothing for main)" in caplog.text
    assert compile_tir(database_with(matmul()), matmul(), "llvm -num-cores=7") is None


def test_a_function_is_main_and_keeps_its_symbol():
    func = matmul().with_attr("global_symbol", "dense_7")
    sch = compile_tir(database_with(matmul()), func, ONE)
    assert [var.name_hint for var in sch.mod.functions] == ["main"]
    assert sch.mod["main"].global_symbol == "dense_7"
    assert len(sch.get_loops(sch.get_block("C", "main"))) == 4


def test_several_functions(caplog):
    mod = IRModule(
        {
            "first": matmul().with_attr("global_symbol", "first"),
            "second": relu().with_attr("global_symbol", "second"),
            "third": matmul(8).with_attr("global_symbol", "third"),
        }
    )
    matches = find_schedules(database_with(matmul(), relu()), mod, ONE)
    assert (matches.matched, matches.missed) == (["first", "second"], ["third"])
    assert str(matches) == "2 of 3 tasks matched (nothing for third)"
    sch = matches.schedule
    depths = [len(sch.get_loops(sch.get_block("C", name))) for name in matches.matched]
    assert depths == [4, 2]
    assert structural_equal(sch.mod["third"], mod["third"])
    A, B = np.random.default_rng(0).random((2, 16, 16), "float32")
    C = np.zeros((16, 16), "float32")
    interpret(sch.mod["first"], A, B, C)
    np.testing.assert_allclose(C, A @ B, rtol=1e-5)


def test_a_module_that_was_tuned_as_a_whole():
    mod = IRModule({"first": matmul(), "second": relu()})
    database = MemoryDatabase()
    workload = database.commit_workload(mod)
    sch = tir.Schedule(marked_as_scheduled(workload.mod))
    sch.parallel(sch.get_loops(sch.get_block("C", "second"))[0])
    database.commit_tuning_record(TuningRecord(sch.trace, workload, [1.0], ONE))
    assert structural_equal(compile_tir(database, mod, ONE).mod, sch.mod)
