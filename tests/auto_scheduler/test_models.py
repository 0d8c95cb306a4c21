"""Tasks of models, and building with what logs say."""

import logging

import numpy as np
import pytest
from tests.auto_scheduler.programs import TARGET, matmul_task, quick_options

import tilewright as tvm
from tilewright import auto_scheduler, relax, te
from tilewright.auto_scheduler import (
    ApplyHistoryBest,
    ApplyHistoryBestOrSample,
    ComputeDAG,
    HardwareParams,
    SearchTask,
    TaskScheduler,
)
from tilewright.error import ArgumentError, DatabaseError, TEScheduleError
from tilewright.ir.structural import assert_structural_equal
from tilewright.script import from_source


def model():
    """A product with weights that are constants, and what follows it, each under a name."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((16, 24), "float32"))
    w = relax.const(np.random.default_rng(1).random((24, 32), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.matmul(x, w))
            y = builder.emit(relax.op.add(y, relax.const(np.ones(32, "float32"))))
            y = builder.emit(relax.op.nn.relu(y))
            z = builder.emit(relax.op.permute_dims(y))
            out = builder.emit_output(z)
        builder.emit_func_output(out)
    return builder.get()


def test_the_tasks_of_a_model():
    tasks, weights = auto_scheduler.extract_tasks(model(), None, TARGET)
    assert weights == [1]
    (task,) = tasks
    assert "matmul" in task.desc
    assert "+=" in str(task.compute_dag)
    every, _ = auto_scheduler.extract_tasks(model(), None, TARGET, include_simple_tasks=True)
    assert len(every) == 2
    params = HardwareParams(num_cores=3)
    ((other,), _) = auto_scheduler.extract_tasks(model(), None, "llvm", hardware_params=params)
    assert other.target.num_cores == 3


def test_a_model_is_built_with_a_log(tmp_path, caplog):
    log = tmp_path / "log.json"
    tasks, weights = auto_scheduler.extract_tasks(model(), None, TARGET)
    TaskScheduler(tasks, weights).tune(quick_options(log, 2))
    with caplog.at_level(logging.INFO), ApplyHistoryBest(log):
        executable = relax.build(model(), TARGET)
    assert "1 of 2 tasks matched" in caplog.text
    x = np.random.default_rng(0).random((16, 24), "float32")
    w = np.random.default_rng(1).random((24, 32), "float32")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    found = machine["main"](tvm.nd.array(x)).numpy()
    np.testing.assert_allclose(found, np.maximum(x @ w + 1, 0).T, rtol=1e-5)
    # The same program, as a task of its own.
    sch, args = tasks[0].apply_best(log)
    assert len(args) == 4
    assert tvm.build(sch, args, TARGET)
    text = tasks[0].print_best(log)
    names = {}
    exec(text, names)
    program = te.schedule.schedule_to_prim_func(sch, args)
    assert_structural_equal(program, names["sch"].mod["main"])
    again = SearchTask(workload_key=tasks[0].workload_key, target=TARGET)
    assert again.compute_dag.hash_key() == tasks[0].compute_dag.hash_key()


def test_a_program_that_is_not_one_of_tensors():
    program = from_source(
        """
        @T.prim_func
        def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
            for i in range(4):
                with T.block("B"):
                    v = T.axis.spatial(4, i)
                    B[v] = A[v]
            for i in range(4):
                with T.block("rest"):
                    v = T.axis.spatial(4, i)
                    B[v + 4] = A[v]
        """
    )
    dag = ComputeDAG(program)
    assert_structural_equal(dag.func, program)
    assert "T.block" in str(dag)
    assert "A, B" in repr(dag)
    with pytest.raises(TEScheduleError):
        dag.apply_steps_from_state([[], []])


def test_queries(tuned):
    task, log = tuned
    history = ApplyHistoryBest(log)
    found = history.query(task.target, task.workload_key)
    best, _ = auto_scheduler.load_best_record(log)
    assert str(found.sch.trace) == str(best.state.sch.trace)
    assert history.query(task.target, "another") is None
    assert history.query("llvm -num-cores=9", task.workload_key) is None
    compatible = ApplyHistoryBest(log, include_compatible=True)
    assert compatible.query("llvm -num-cores=9", task.workload_key) is not None
    assert len(ApplyHistoryBest(log, n_lines=2).database) == 2
    pairs = ApplyHistoryBest(auto_scheduler.load_records(log))
    assert str(pairs.query(task.target, task.workload_key).sch.trace) == str(found.sch.trace)
    assert ApplyHistoryBest(None).query(task.target, task.workload_key) is None
    with pytest.raises(DatabaseError, match="there is no record file"):
        ApplyHistoryBest("none.json")
    with pytest.raises(ArgumentError, match="records are a log, or pairs"):
        ApplyHistoryBest([3])


def test_workloads_without_a_record_are_searched_for():
    task = matmul_task(24)
    history = ApplyHistoryBestOrSample(None)
    assert history.query(task.target, task.workload_key) is None
    found = history.query(task.target, task.workload_key, has_complex_op=True)
    sch, args = task.compute_dag.apply_steps_from_state(found)
    assert tvm.lower(sch, args)
    measured = ApplyHistoryBestOrSample(None, sample_simple_workloads=True, num_measure=1)
    assert measured.query(task.target, task.workload_key, dag=task.compute_dag) is not None
    assert len(measured.database) >= 1
