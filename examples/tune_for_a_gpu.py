"""Tune a convolution with a bias and a relu for GPUs, with one and without.

The same computation and the same search are for both. On an OpenCL device (a CPU with PoCL is one)
candidates are measured. For an NVIDIA GPU that is not here they are compiled for its architecture,
and an analytical model ranks them; the log says that its times are estimates.

    python examples/tune_for_a_gpu.py [--size N] [--channels N] [--trials N]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import tilewright as tvm
from tilewright import auto_scheduler, te, topi
from tilewright.topi.testing import conv2d_nchw_python


@auto_scheduler.register_workload
def conv2d_on_a_gpu(channels: int, size: int) -> list[te.Tensor]:
    """relu(conv2d(data, kernel) + bias), one image, filters of 3 by 3 with padding."""
    data = te.placeholder((1, channels, size, size), name="data")
    kernel = te.placeholder((channels, channels, 3, 3), name="kernel")
    bias = te.placeholder((1, channels, 1, 1), name="bias")
    conv = topi.nn.conv2d_nchw(data, kernel, stride=1, padding=1, dilation=1)
    return [data, kernel, bias, topi.nn.relu(conv + bias)]


def tune(args: tuple[int, int], target: str, trials: int, log: Path) -> auto_scheduler.SearchTask:
    """Search, and write each candidate to a log."""
    task = auto_scheduler.SearchTask(func=conv2d_on_a_gpu, args=args, target=target)
    context = auto_scheduler.LocalRPCMeasureContext(number=1, min_repeat_ms=1)
    options = auto_scheduler.TuningOptions(
        num_measure_trials=trials,
        runner=context.runner,
        measure_callbacks=[auto_scheduler.RecordToFile(log)],
        verbose=0,
    )
    task.tune(options)
    _, best = auto_scheduler.load_best_record(log, target=task.target)
    how = "estimated" if best.is_estimate else "measured"
    print(f"{target}: the best of {trials} takes {1e6 * np.mean(best.costs):.1f} us, {how}")
    return task


def check(task: auto_scheduler.SearchTask, log: Path) -> None:
    """Run the best candidate on the device, and compare it with numpy."""
    sch, tensors = task.apply_best(log)
    device = tvm.device(task.target.kind.name)
    rng = np.random.default_rng(0)
    shapes = [tuple(int(extent) for extent in tensor.shape) for tensor in tensors]
    data, kernel, bias = (rng.random(shape, "float32") - 0.5 for shape in shapes[:3])
    result = tvm.nd.empty(shapes[3], "float32", device)
    function = tvm.build(sch, tensors, task.target)
    function(*(tvm.nd.array(value, device) for value in (data, kernel, bias)), result)
    expected = np.maximum(conv2d_nchw_python(data, kernel, 1, 1) + bias, 0)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-3, atol=1e-3)
    print("It computes what numpy does. Its kernel:")
    source = task.print_best(log, print_mode="cuda")
    print(*source[source.index("__kernel") :].splitlines()[:5], "  ...", sep="\n")


def main() -> None:
    """Tune for a device that is here, and for one that is not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=8)
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--trials", type=int, default=2)
    given = parser.parse_args()
    computation = given.channels, given.size
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "opencl.json"
        check(tune(computation, "opencl", given.trials, log), log)
        log = Path(directory) / "h100.json"
        task = tune(computation, "nvidia/nvidia-h100", given.trials, log)
        kernels = tvm.build(*task.apply_best(log), task.target).imported_modules[0]
        assembly = kernels.get_source("ptx").splitlines()
        print(*(line for line in assembly if line.startswith(".target")))


if __name__ == "__main__":
    main()
