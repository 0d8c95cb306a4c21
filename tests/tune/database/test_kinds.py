"""Unions, databases of functions, databases of users, relations of modules."""

import numpy as np
import pytest
from tests.tune.database.programs import matmul, record_of, relu

from tilewright import te, tir
from tilewright.error import ArgumentValueError, DatabaseError
from tilewright.ir import IRModule, structural_equal
from tilewright.schedule_rules.eligible import marked_as_scheduled
from tilewright.script import tir as T
from tilewright.tune.database import (
    Database,
    MemoryDatabase,
    OrderedUnionDatabase,
    TuningRecord,
    UnionDatabase,
)

ONE = "llvm -num-cores=1"


def database_with(mod, seconds):
    database = MemoryDatabase()
    database.commit_tuning_record(record_of(database.commit_workload(mod), [seconds]))
    return database


def test_a_union_gives_the_best_and_an_ordered_one_the_first():
    slow, fast, other = (
        database_with(matmul(), 2.0),
        database_with(matmul(), 1.0),
        database_with(relu(), 3.0),
    )
    union = Database.create("union", slow, fast, other)
    ordered = Database.create("ordered_union", other, slow, fast)
    assert union.query_tuning_record(matmul(), ONE).mean_secs == 1.0
    assert ordered.query_tuning_record(matmul(), ONE).mean_secs == 2.0
    for database in (union, ordered):
        assert isinstance(database, UnionDatabase)
        assert database.query(relu(), ONE, kind="record").mean_secs == 3.0
        assert database.query_schedule(relu(8), ONE) is None
        assert len(database) == 3
        assert database.has_workload(relu())
        workload = slow.commit_workload(matmul())
        assert [r.mean_secs for r in database.get_top_k(workload, 5)] == [1.0, 2.0]
        with pytest.raises(DatabaseError, match="commit to one"):
            database.commit_workload(matmul())
        with pytest.raises(DatabaseError, match="commit to one"):
            database.commit_tuning_record(slow.get_all_tuning_records()[0])
    assert isinstance(ordered, OrderedUnionDatabase)


def test_a_function_schedules():
    def parallel(sch):
        if "exp" in sch.mod.script():
            return False
        sch.parallel(sch.get_loops("C")[0])
        return True

    database = Database.create(parallel)
    assert "T.parallel" in database.query_ir_module(matmul(), ONE).script()
    assert len(database) == 0
    A = te.placeholder((4,), name="A")
    func = te.create_prim_func([A, te.compute((4,), lambda i: te.exp(A[i]), name="C")])
    assert database.query_schedule(func, ONE) is None


def test_a_database_of_a_user():
    class Plain(Database):
        def __init__(self):
            super().__init__()
            self.inner = MemoryDatabase()

        def has_workload(self, mod):
            return self.inner.has_workload(mod)

        def commit_workload(self, mod):
            return self.inner.commit_workload(mod)

        def commit_tuning_record(self, record):
            self.inner.commit_tuning_record(record)

        def get_top_k(self, workload, top_k):
            return self.inner.get_top_k(workload, top_k)

        def get_all_tuning_records(self):
            return self.inner.get_all_tuning_records()

        def __len__(self):
            return len(self.inner)

    database = Plain()
    database.commit_tuning_records([record_of(database.commit_workload(matmul()), [1.0])])
    assert isinstance(database.query_schedule(matmul(), ONE), tir.Schedule)
    assert Database.create(database) is database


def with_constant(values):
    data = np.array(values, "float32")

    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        weights = T.allocate_const(data, "float32", [4])
        W = T.Buffer((4,), "float32", data=weights)
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = A[vi] * W[vi]

    return main


def test_values_of_constants_may_be_ignored():
    strict, loose = MemoryDatabase(), MemoryDatabase("ignore-ndarray")
    for database in (strict, loose):
        database.commit_workload(with_constant([1, 2, 3, 4]))
        assert database.has_workload(with_constant([1, 2, 3, 4]))
    assert not strict.has_workload(with_constant([5, 6, 7, 8]))
    assert loose.has_workload(with_constant([5, 6, 7, 8]))
    assert not loose.has_workload(relu(4))


def test_a_schedule_is_one_of_the_module_that_was_asked_for():
    database = MemoryDatabase("ignore-ndarray")
    first, second = with_constant([1, 2, 3, 4]), with_constant([5, 6, 7, 8])
    database.commit_tuning_record(record_of(database.commit_workload(first), [1.0]))
    (record,) = database.get_all_tuning_records()
    assert structural_equal(database.query_ir_module(second, ONE), record.schedule(second).mod)
    assert not structural_equal(database.query_ir_module(second, ONE), record.schedule().mod)


def matmul_then(function):
    A, B = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((16, 16), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((16, 16), lambda i, j: function(C[i, j]), name="D")
    return te.create_prim_func([A, B, D])


def test_the_main_block_may_decide():
    database = MemoryDatabase("anchor-block")
    workload = database.commit_workload(matmul_then(te.exp))
    sch = tir.Schedule(marked_as_scheduled(workload.mod))
    sch.parallel(sch.get_loops("D")[0])
    sch.split(sch.get_loops("C")[0], [None, 4])
    database.commit_tuning_record(record_of(workload, [1.0], trace=sch.trace))
    assert database.has_workload(matmul_then(te.sqrt))
    assert database.has_workload(matmul())
    assert not database.has_workload(matmul(8))
    assert not database.has_workload(relu())
    same = database.query_schedule(matmul_then(te.exp), ONE)
    assert structural_equal(same.mod, sch.mod)
    alone = database.query_schedule(matmul(), ONE)
    assert len(alone.get_loops("C")) == 4  # the split; there is no D to run in parallel


def test_without_a_main_block_the_whole_module_decides():
    database = MemoryDatabase("anchor-block")
    database.commit_workload(relu())
    assert database.has_workload(relu())
    assert not database.has_workload(relu(8))


def test_an_unknown_relation():
    with pytest.raises(ArgumentValueError, match="module_equality is 'structural', "):
        MemoryDatabase("similar")


def test_a_module_of_several_functions():
    mod = IRModule({"first": matmul(), "second": relu()})
    database = MemoryDatabase()
    workload = database.commit_workload(mod)
    sch = tir.Schedule(marked_as_scheduled(workload.mod))
    sch.parallel(sch.get_loops(sch.get_block("C", "second"))[0])
    database.commit_tuning_record(TuningRecord(sch.trace, workload, [1.0], ONE))
    assert structural_equal(database.query_ir_module(mod, ONE), sch.mod)
