"""Tune a matrix product for x86 processors by a template with knobs.

The template makes the schedule: tiles of the result that stay in registers, vectors, unrolled and
parallel loops, and, if a knob says so, panels of one operand packed one after the other. A tuner
measures configs, which are values of the knobs, and writes a line for each to a file. With the best
one the program is built as any te schedule is.

    python examples/autotvm_matmul.py [--size N] [--trials N] [--target TARGET] [--log FILE]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tvm
from tilewright import autotvm, te


@autotvm.template("example/matmul")
def matmul(n: int, m: int, k: int, dtype: str) -> tuple[te.Schedule, list[te.Tensor]]:
    """A of n rows and k columns, times B of k rows and m columns."""
    A = te.placeholder((n, k), name="A", dtype=dtype)
    B = te.placeholder((k, m), name="B", dtype=dtype)

    cfg = autotvm.get_config()
    # Rows of the result: for a thread, for a panel of B, and for the registers.
    cfg.define_split("rows", n, num_outputs=3, filter=lambda tile: tile.size[-1] <= 16)
    cfg.define_split("columns", m, num_outputs=2, filter=lambda tile: 8 <= tile.size[-1] <= 64)
    cfg.define_split("sum", k, num_outputs=2, filter=lambda tile: tile.size[-1] <= 256)
    cfg.define_knob("pack", [False, True])
    # What does not fit into the registers is slow; it need not be measured.
    cfg.multi_filter(lambda knobs: knobs["rows"].size[-1] * knobs["columns"].size[-1] <= 512)
    cfg.add_flop(2 * n * m * k)

    width = cfg["columns"].size[-1]
    panels = te.compute((m // width, k, width), lambda p, q, j: B[q, p * width + j], name="panels")

    def operand(q: Any, j: Any) -> Any:
        return panels[j // width, q, j % width] if cfg["pack"].val else B[q, j]

    r = te.reduce_axis((0, k), name="r")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, r] * operand(r, j), axis=r), name="C")

    s = te.create_schedule(C.op)
    tile = s.cache_write(C, "global")
    y, x = C.op.axis
    yo, ym, yi = cfg["rows"].apply(s, C, y)
    xo, xi = cfg["columns"].apply(s, C, x)
    s[C].reorder(yo, xo, ym, yi, xi)
    s[C].parallel(yo)
    s[C].vectorize(xi)

    s[tile].compute_at(s[C], ym)
    yt, xt = s[tile].op.axis
    ro, ri = cfg["sum"].apply(s, tile, s[tile].op.reduce_axis[0])
    s[tile].reorder(ro, ri, yt, xt)
    s[tile].unroll(yt)
    s[tile].vectorize(xt)

    if cfg["pack"].val:
        panel, _, column = panels.op.axis
        s[panels].parallel(panel)
        s[panels].vectorize(column)
    return s, [A, B, C]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--target", default="llvm")
    parser.add_argument("--log", help="the file of records (default: none that stays)")
    options = parser.parse_args()
    n = options.size

    task = autotvm.task.create("example/matmul", [n, n, n, "float32"], options.target)
    print(task.config_space)
    with tempfile.TemporaryDirectory() as temporary:
        log = options.log or str(Path(temporary, "matmul.log"))
        tuner = autotvm.tuner.XGBTuner(task, seed=1)
        tuner.tune(
            n_trial=options.trials,
            measure_option=autotvm.measure_option(builder="local", runner="local"),
            callbacks=[autotvm.callback.log_to_file(log)],
        )
        print("best config:", tuner.get_best_config())
        with autotvm.apply_history_best(log), tvm.target.Target(options.target):
            s, args = matmul(n, n, n, "float32")
            module = tvm.build(s, args)

    rng = np.random.default_rng(0)
    a, b = (rng.random((n, n), dtype="float32") - 0.5 for _ in range(2))
    c = np.empty_like(a)
    module(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-3, atol=1e-3)
    seconds = module.time_evaluator(module.entry_name, tvm.cpu(), min_repeat_ms=20)(a, b, c).mean
    print(f"{task.flop / seconds / 1e9:.1f} GFLOP/s, correct")


if __name__ == "__main__":
    main()
