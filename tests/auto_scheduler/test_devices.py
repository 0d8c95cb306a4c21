"""Tasks for devices."""

import numpy as np

import tilewright as tvm
from tilewright import auto_scheduler, te


def test_a_task_for_a_device_from_search_to_source(tmp_path):
    @auto_scheduler.register_workload("doubled", override=True)
    def doubled(n):
        a = te.placeholder((n,), name="A")
        return [a, te.compute((n,), lambda i: a[i] * 2.0, name="B")]

    log = tmp_path / "log.json"
    task = auto_scheduler.SearchTask(func=doubled, args=(64,), target="opencl")
    context = auto_scheduler.LocalRPCMeasureContext(number=1, repeat=1, min_repeat_ms=0)
    options = auto_scheduler.TuningOptions(
        num_measure_trials=2,
        runner=context.runner,
        measure_callbacks=[auto_scheduler.RecordToFile(str(log))],
        verbose=0,
    )
    task.tune(options)
    sch, args = task.apply_best(str(log))
    del context
    assert "threadIdx.x" in tvm.lower(sch, args, simple_mode=True).script()
    values = np.arange(64, dtype="float32")
    result = tvm.nd.empty((64,), "float32", tvm.opencl(0))
    tvm.build(sch, args, task.target)(tvm.nd.array(values, tvm.opencl(0)), result)
    np.testing.assert_array_equal(result.numpy(), values * 2)
    assert "__kernel" in task.print_best(str(log), print_mode="cuda")
