"""Tune a convolution with a bias and a relu, without a template.

The computation is written as a tensor expression, and registered by its name. A task searches for
its fastest schedule by measuring, and writes each candidate to a log. From the log comes the best
schedule, as one of the tensors or as Python that repeats it, and a search that goes on.

    python examples/auto_scheduler_conv2d.py [--size N] [--channels N] [--trials N] [--log FILE]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import tilewright as tvm
from tilewright import auto_scheduler, te, topi
from tilewright.topi.testing import conv2d_nchw_python

TARGET = tvm.target.Target("llvm -num-cores=1")


@auto_scheduler.register_workload
def conv2d_bias_relu(channels: int, size: int) -> list[te.Tensor]:
    """relu(conv2d(image, weight) + bias), one image, filters of 3 by 3 with padding."""
    image = te.placeholder((1, channels, size, size), name="image")
    weight = te.placeholder((channels, channels, 3, 3), name="weight")
    bias = te.placeholder((1, channels, 1, 1), name="bias")
    conv = topi.nn.conv2d_nchw(image, weight, stride=1, padding=1, dilation=1)
    return [image, weight, bias, topi.nn.relu(conv + bias)]


def tune(task: auto_scheduler.SearchTask, trials: int, log: Path) -> None:
    """Search from the beginning."""
    options = auto_scheduler.TuningOptions(
        num_measure_trials=trials,
        runner=auto_scheduler.LocalRunner(number=1, min_repeat_ms=20),
        measure_callbacks=[auto_scheduler.RecordToFile(log)],
    )
    task.tune(options)


def go_on(task: auto_scheduler.SearchTask, trials: int, log: Path) -> None:
    """Go on where the log ends: what it has is known, to the search and to the cost model."""
    model = auto_scheduler.XGBModel()
    model.update_from_file(log)
    policy = auto_scheduler.SketchPolicy(
        task, model, init_search_callbacks=[auto_scheduler.PreloadMeasuredStates(log)]
    )
    context = auto_scheduler.LocalRPCMeasureContext(number=1, min_repeat_ms=20)
    options = auto_scheduler.TuningOptions(
        num_measure_trials=trials,
        runner=context.runner,
        measure_callbacks=[auto_scheduler.RecordToFile(log)],
    )
    task.tune(options, search_policy=policy)
    del context  # and the process in which it measured


def check(module: tvm.runtime.Module, tensors: list[te.Tensor]) -> float:
    """Compare with numpy; returns the seconds of a run."""
    rng = np.random.default_rng(0)
    shapes = [tuple(int(n) for n in tensor.shape) for tensor in tensors]
    image, weight, bias = (rng.random(shape, "float32") - 0.5 for shape in shapes[:3])
    result = np.empty(shapes[3], "float32")
    module(image, weight, bias, result)
    expected = np.maximum(conv2d_nchw_python(image, weight, 1, 1) + bias, 0)
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)
    timer = module.time_evaluator(module.entry_name, tvm.cpu(), number=5, repeat=3)
    return timer(*map(tvm.nd.array, (image, weight, bias, result))).median


def measured(log: Path) -> int:
    """Number of candidates of a log."""
    return len({str(inp.record.trace_json) for inp, _ in auto_scheduler.load_records(log)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=7, help="rows and columns of the image")
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--log", type=Path, help="where records go (default: nowhere)")
    options = parser.parse_args()
    task = auto_scheduler.SearchTask(
        func=conv2d_bias_relu, args=(options.channels, options.size), target=TARGET
    )
    print(task.compute_dag)

    with tempfile.TemporaryDirectory() as temporary:
        log = options.log or Path(temporary) / "conv2d.json"
        tune(task, options.trials, log)
        print(f"{measured(log)} candidates in the log")

        sch, args = task.apply_best(log)
        print(tvm.lower(sch, args, simple_mode=True).script()[:600], "...")
        seconds = check(tvm.build(sch, args, TARGET), args)
        plain = check(tvm.build(te.create_schedule(args[-1].op), args, TARGET), args)
        print(f"tuned: {seconds * 1e6:.0f} us, correct; default schedule: {plain * 1e6:.0f} us")
        print(task.print_best(log, print_mode="schedule"))

        go_on(task, max(options.trials // 2, 1), log)
        print(f"{measured(log)} candidates after going on")


if __name__ == "__main__":
    main()
