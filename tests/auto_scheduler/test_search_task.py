"""Tasks: computations with a target."""

import pytest
from tests.auto_scheduler.programs import TARGET, matmul_task, small_matmul

import tilewright as tvm
from tilewright import auto_scheduler
from tilewright.auto_scheduler import ComputeDAG, HardwareParams, SearchTask
from tilewright.error import ArgumentError, ArgumentValueError, TargetError, UnknownNameError


def test_of_a_function():
    task = SearchTask(func=small_matmul, args=(4, 5, 6), target=TARGET)
    assert task.workload_key == task.desc == '["small_matmul", 4, 5, 6]'
    assert task.target == tvm.target.Target(TARGET)
    assert task.compute_dag.flop_ct == 240
    named = SearchTask(func="small_matmul", args=(4, 5, 6), target=TARGET, desc="product")
    assert (named.workload_key, named.desc) == (task.workload_key, "product")


def test_of_a_key_or_a_computation():
    dag = ComputeDAG(small_matmul(4, 5, 6))
    task = SearchTask(compute_dag=dag, target=TARGET)
    assert task.workload_key == dag.workload_key()
    again = SearchTask(workload_key=task.workload_key, target=TARGET)
    assert again.compute_dag.hash_key() == dag.hash_key()
    assert SearchTask(workload_key="mine", compute_dag=dag, target=TARGET).workload_key == "mine"


def test_the_target_of_a_scope():
    with tvm.target.Target("llvm -num-cores=3"):
        assert SearchTask(small_matmul, (4, 5, 6)).target.num_cores == 3
    with pytest.raises(TargetError, match="give a `target`"):
        SearchTask(small_matmul, (4, 5, 6))


def test_descriptions_of_machines_become_targets():
    params = HardwareParams(num_cores=3, vector_unit_bytes=32, cache_line_bytes=64, warp_size=32)
    target = matmul_task(target="llvm", hardware_params=params).target
    assert (target.num_cores, target.vector_bits) == (3, 256)
    assert target.kind.name == "llvm"
    assert matmul_task(target="llvm -num-cores=2").hardware_params.num_cores == 2
    gpu = HardwareParams(warp_size=64, max_threads_per_block=256)
    found = gpu.applied_to(tvm.target.Target("opencl"))
    assert (found.attrs["thread_warp_size"], found.attrs["max_threads_per_block"]) == (64, 256)
    assert HardwareParams(target=found).warp_size == 64
    assert "warp_size=64" in repr(gpu)


def test_descriptions_that_mean_nothing():
    with pytest.raises(ArgumentValueError, match="num_cores is at least 1, got 0"):
        HardwareParams(num_cores=0)
    with pytest.raises(ArgumentValueError, match="64 bytes on all machines"):
        HardwareParams(cache_line_bytes=32)


def test_mistakes():
    dag = ComputeDAG(small_matmul(4, 5, 6))
    with pytest.raises(ArgumentError, match="give `func` and `args`, or `workload_key`"):
        SearchTask(target=TARGET)
    with pytest.raises(ArgumentError, match="`func` is given with"):
        SearchTask(small_matmul, (4, 5, 6), compute_dag=dag, target=TARGET)
    with pytest.raises(UnknownNameError, match="'unheard of' is not registered"):
        SearchTask(workload_key='["unheard of"]', target=TARGET)
    with pytest.raises(ArgumentValueError, match="measured with random inputs"):
        SearchTask(small_matmul, (4, 5, 6), target=TARGET, task_inputs=["A"])
    with pytest.raises(ArgumentValueError, match="measured with random inputs"):
        auto_scheduler.register_task_input_buffer("key", "A", None)
    with pytest.raises(ArgumentValueError, match="keep their layout"):
        matmul_task(layout_rewrite_option=2)
