"""The first steps with AutoTVM: a template, a task, a tuner, the best config, and a library.

An operator of topi gets a template: a function that makes its schedule, and leaves the sizes of the
tiles open. A genetic tuner measures sizes. The best ones are built into a library, which is loaded
as another program would load it.

    python examples/autotvm_first_steps.py [--size N] [--trials N]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import tilewright as tvm
from tilewright import autotvm, te, topi

TARGET = "llvm -num-cores=1"


@autotvm.template("first_steps/matmul")
def matmul(m: int, n: int, k: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A of m rows and k columns, times B of k rows and n columns."""
    # What is computed:
    A = te.placeholder((m, k), name="A")
    B = te.placeholder((k, n), name="B")
    C = topi.nn.matmul(A, B)

    # What there is to choose:
    s = te.create_schedule(C.op)
    y, x = s[C].op.axis
    (r,) = s[C].op.reduce_axis
    cfg = autotvm.get_config()
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", x, num_outputs=2)
    cfg.define_knob("vectorize", [False, True])

    # What the choice does:
    yo, yi = cfg["tile_y"].apply(s, C, y)
    xo, xi = cfg["tile_x"].apply(s, C, x)
    s[C].reorder(yo, xo, r, yi, xi)
    if cfg["vectorize"].val:
        s[C].vectorize(xi)
    return s, [A, B, C]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--trials", type=int, default=8)
    options = parser.parse_args()
    m = n = k = options.size

    task = autotvm.task.create("first_steps/matmul", args=[m, n, k], target=TARGET)
    print(task.config_space)

    tuner = autotvm.tuner.GATuner(task, pop_size=4, elite_num=2, seed=1)
    measure_option = autotvm.measure_option(builder="local", runner="local")
    tuner.tune(n_trial=options.trials, measure_option=measure_option)
    best_config = tuner.get_best_config()
    print(f"best of {options.trials}: {best_config}")

    s, args = task.instantiate(best_config)
    compiled = tvm.build(s, args, TARGET, name="matmul")
    with tempfile.TemporaryDirectory() as directory:
        library = str(Path(directory, "matmul.so"))
        compiled.export_library(library)
        module = tvm.runtime.load_module(library)

    rng = np.random.default_rng(0)
    a, b = rng.random((m, k), dtype="float32"), rng.random((k, n), dtype="float32")
    c = np.zeros((m, n), dtype="float32")
    module["matmul"](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)
    print("the library computes what numpy does")


if __name__ == "__main__":
    main()
