"""Tune the functions of a module on the machines of a cluster of Ray.

Without an address, Ray starts a cluster of this machine alone, with two workers that measure: what
is printed is the same as on many machines, the times are better where workers do not share one.
Needs ``pip install tilewright[ray]``.

    python examples/tune_on_a_fleet.py [--address ADDRESS] [--workers N] [--trials N]
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter

import numpy as np

import tilewright as tvm
from tilewright import meta_schedule as ms
from tilewright import te

TARGET = "llvm -num-cores=1"
SHAPES = {"tall": (64, 16, 32), "wide": (16, 64, 32)}


def product(n: int, m: int, depth: int) -> tvm.tir.PrimFunc:
    """A @ B, as a tensor program."""
    A = te.placeholder((n, depth), name="A")
    B = te.placeholder((depth, m), name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_prim_func([A, B, C])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", help="of the cluster, such as auto (default: a new one here)")
    parser.add_argument("--workers", type=int, help="that measure (default: 2 here)")
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--work-dir", help="where records and logs go (default: nowhere)")
    options = parser.parse_args()
    workers = options.workers or (None if options.address else 2)
    functions = {name: product(*shape) for name, shape in SHAPES.items()}
    mod = tvm.IRModule(
        {name: function.with_attr("global_symbol", name) for name, function in functions.items()}
    )

    builder = ms.builder.RayBuilder(options.address)
    runner = ms.runner.RayRunner(options.address, num_workers=workers)
    with tempfile.TemporaryDirectory() as temporary:
        database = ms.tune_tir(
            mod,
            TARGET,
            work_dir=options.work_dir or temporary,
            max_trials_global=options.trials,
            builder=builder,
            runner=runner,
            seed=1,
        )
        schedules = {
            name: ms.tir_integration.compile_tir(database, function, TARGET)
            for name, function in functions.items()
        }
    runner.close()
    builder.close()
    records = [record for record in database.get_all_tuning_records() if not record.supersedes]
    for (task, cpu), count in Counter((r.task_name, r.machine["cpu"]) for r in records).items():
        print(f"{task}: {count} candidates measured on {cpu}")

    for name, (n, m, depth) in SHAPES.items():
        module = tvm.build(schedules[name].mod, target=TARGET)
        rng = np.random.default_rng(0)
        a, b = rng.random((n, depth), dtype="float32"), rng.random((depth, m), dtype="float32")
        c = np.empty((n, m), "float32")
        module["main"](a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4)
    print("all of them are correct")


if __name__ == "__main__":
    main()
