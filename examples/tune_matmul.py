"""Search for the fastest schedule of a matrix product by measuring.

Rules make sketches of schedules, a search chooses decisions such as tile sizes, candidates are
built and timed in processes of their own, and a model learns from them which ones to try next. What
was found stays in a directory, so that the program can be built with it at any time.

    python examples/tune_matmul.py [--size N] [--trials N] [--work-dir DIR]
"""

from __future__ import annotations

import argparse
import tempfile

import numpy as np

import tilewright as tvm
from tilewright import meta_schedule as ms
from tilewright import te

TARGET = "llvm -num-cores=1"


def matmul_relu(n: int) -> tvm.tir.PrimFunc:
    """max(A @ B, 0), as a tensor program."""
    A = te.placeholder((n, n), name="A")
    B = te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((n, n), lambda i, j: te.max(C[i, j], 0.0), name="D")
    return te.create_prim_func([A, B, D])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--work-dir", help="where records and logs go (default: nowhere)")
    options = parser.parse_args()
    func = matmul_relu(options.size)

    with tempfile.TemporaryDirectory() as temporary:
        database = ms.tune_tir(
            func,
            TARGET,
            work_dir=options.work_dir or temporary,
            max_trials_global=options.trials,
            seed=1,
        )
        sch = ms.tir_integration.compile_tir(database, func, TARGET)
    records = [r for r in database.get_all_tuning_records() if not r.supersedes]
    print(f"{sum(record.is_valid for record in records)} of {len(records)} candidates ran")
    print(sch.trace.simplified())

    module = tvm.build(sch.mod, target=TARGET)
    rng = np.random.default_rng(0)
    a, b = (rng.random((options.size, options.size), dtype="float32") - 0.5 for _ in range(2))
    d = np.empty_like(a)
    module["main"](a, b, d)
    np.testing.assert_allclose(d, np.maximum(a @ b, 0), rtol=1e-3, atol=1e-3)
    seconds = module.time_evaluator("main", tvm.cpu(), min_repeat_ms=20)(a, b, d).mean
    print(f"{2 * options.size**3 / seconds / 1e9:.1f} GFLOP/s, correct")


if __name__ == "__main__":
    main()
