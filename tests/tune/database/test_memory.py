"""Records in memory: what every database does."""

import math

import pytest
from tests.tune.database.programs import matmul, record_of, relu

from tilewright import te, tir
from tilewright.error import ArgumentValueError
from tilewright.ir import structural_equal
from tilewright.target import Target
from tilewright.tune.database import Database, MemoryDatabase, TuningRecord


def test_a_workload_is_found_by_an_equal_module():
    database = MemoryDatabase()
    assert not database.has_workload(matmul())
    workload = database.commit_workload(matmul())
    assert database.has_workload(matmul())
    assert database.commit_workload(matmul()) is workload
    assert not database.has_workload(matmul(8))


def test_the_name_of_a_function_does_not_matter():
    database = MemoryDatabase()
    workload = database.commit_workload(matmul())
    assert database.commit_workload(matmul().with_attr("global_symbol", "linear0")) is workload


def test_the_best_comes_first_and_failures_never():
    database = MemoryDatabase()
    workload = database.commit_workload(matmul())
    for seconds in ([3e-3], [1e-3, 1e-3], None, [2e-3], [math.inf], []):
        database.commit_tuning_record(record_of(workload, run_secs=seconds))
    database.commit_tuning_record(
        record_of(workload, run_secs=[1e-9], error="segmentation fault", error_kind="crash")
    )
    assert [r.mean_secs for r in database.get_top_k(workload, 10)] == [1e-3, 2e-3, 3e-3]
    assert len(database.get_top_k(workload, 2)) == 2
    assert len(database) == len(database.get_all_tuning_records()) == 7


def test_queries_give_the_best_for_the_target():
    database = MemoryDatabase()
    workload = database.commit_workload(matmul())
    one, four = "llvm -num-cores=1", "llvm -num-cores=4"
    database.commit_tuning_record(record_of(workload, run_secs=[4e-3], tile=2, target=one))
    database.commit_tuning_record(record_of(workload, run_secs=[1e-3], tile=4, target=four))
    assert database.query_tuning_record(matmul(), one).mean_secs == 4e-3
    assert database.query(matmul(), Target(four), "main", kind="record").mean_secs == 1e-3
    assert database.query_schedule(matmul(), "llvm -num-cores=2") is None
    assert database.query_tuning_record(relu(), one) is None
    sch = database.query_schedule(matmul(), one)
    assert isinstance(sch, tir.Schedule)
    assert structural_equal(sch.mod, database.query_ir_module(matmul(), one))
    with pytest.raises(ArgumentValueError, match="kind is 'schedule', "):
        database.query(matmul(), one, kind="magic")


def test_a_record_for_the_reader_s_own_machine_counts_on_that_machine_only():
    database = MemoryDatabase()
    workload = database.commit_workload(matmul())
    elsewhere = {"cpu": "another", "llvm_cpu": "another", "cores": 64}
    database.commit_tuning_record(record_of(workload, target="llvm", machine=elsewhere))
    assert database.query_tuning_record(matmul(), "llvm") is None
    database.commit_tuning_record(record_of(workload, target="llvm"))
    assert database.query_tuning_record(matmul(), "llvm") is not None


def test_replaying_a_record_gives_the_same_module():
    database = MemoryDatabase()
    workload = database.commit_workload(matmul())
    record = record_of(workload, tile=4)
    again = TuningRecord.from_json(record.as_json(), workload)
    assert structural_equal(again.schedule().mod, record.schedule().mod)
    assert str(again.trace) == str(record.trace)
    assert again.as_json() == record.as_json()
    candidate = again.as_measure_candidate()
    assert [arg.shape for arg in candidate.args_info] == [(16, 16)] * 3


def test_only_the_best_are_dumped():
    database, pruned = MemoryDatabase(), MemoryDatabase()
    for mod, times in ((matmul(), (3.0, 1.0, 2.0)), (relu(), (None, 5.0))):
        workload = database.commit_workload(mod)
        for seconds in times:
            database.commit_tuning_record(
                record_of(workload, run_secs=None if seconds is None else [seconds])
            )
    database.dump_pruned(pruned)
    assert sorted(r.mean_secs for r in pruned.get_all_tuning_records()) == [1.0, 5.0]


def test_the_database_of_a_scope():
    database = MemoryDatabase()
    assert Database.current() is None
    with database, MemoryDatabase() as inner:
        assert Database.current() is inner
    assert Database.current() is None


def test_a_scalar_parameter_cannot_be_measured():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    func = te.create_prim_func([A, te.compute((n,), lambda i: A[i] * 2.0, name="B")])
    database = MemoryDatabase()
    workload = database.commit_workload(func)
    with pytest.raises(ArgumentValueError, match="specialize"):
        TuningRecord([[], []], workload).as_measure_candidate()


def test_an_incomplete_database_says_what_it_lacks():
    class Half(Database):
        pass

    with pytest.raises(NotImplementedError, match="Half does not define has_workload"):
        Half().query_schedule(matmul())


def test_kinds():
    assert isinstance(Database.create("memory"), MemoryDatabase)
    with pytest.raises(ArgumentValueError, match="a database is one of"):
        Database.create("punched cards")


def test_a_better_measurement_takes_the_place_of_earlier_ones():
    database = MemoryDatabase()
    workload = database.commit_workload(matmul())
    for seconds, supersedes in (([1.0], False), ([3.0], True), ([2.0], False)):
        database.commit_tuning_record(record_of(workload, run_secs=seconds, supersedes=supersedes))
    assert [r.mean_secs for r in database.get_top_k(workload, 9)] == [2.0, 3.0]
    database.commit_tuning_record(
        record_of(workload, error="C[0] differs", error_kind="wrong-result", supersedes=True)
    )
    assert database.get_top_k(workload, 9) == []
    assert len(database) == 4
    form = database.get_all_tuning_records()[1].as_json()
    assert form["supersedes"]
    assert TuningRecord.from_json(form, workload).supersedes
