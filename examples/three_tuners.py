"""One matrix product by each of the three front doors of the tuner, with as many trials each.

MetaSchedule is given a tensor program, the auto-scheduler a tensor expression, and AutoTVM a
template, which says what there is to choose. Behind all of them is one tuner, so that they differ
in the spaces that they search: what the rules of the tuner make, the same, and the knobs of the
template. Beside them is the default schedule, which needs no trials.

    python examples/three_tuners.py [--size N] [--trials N] [--target TARGET]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import tilewright as tvm
from tilewright import auto_scheduler, autotvm, te
from tilewright import meta_schedule as ms


@auto_scheduler.register_workload
def product(n: int) -> list[te.Tensor]:
    """C = A @ B, matrices of n rows and columns."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return [A, B, C]


@autotvm.template("three_tuners/product")
def tiled_product(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """The product in tiles of registers, whose sizes are knobs."""
    A, B, C = product(n)
    s = te.create_schedule(C.op)
    tile = s.cache_write(C, "local")
    cfg = autotvm.get_config()
    cfg.define_split("rows", C.op.axis[0], num_outputs=3, filter=lambda f: f.size[-1] <= 12)
    cfg.define_split("columns", C.op.axis[1], num_outputs=2, filter=lambda f: f.size[-1] <= 64)
    cfg.define_split("sum", s[tile].op.reduce_axis[0], num_outputs=2)
    cfg.add_flop(2 * n**3)

    y0, y1, y2 = cfg["rows"].apply(s, C, C.op.axis[0])
    x0, x1 = cfg["columns"].apply(s, C, C.op.axis[1])
    s[C].reorder(y0, x0, y1, y2, x1)
    s[C].parallel(y0)
    s[C].vectorize(x1)
    s[tile].compute_at(s[C], y1)
    y, x = s[tile].op.axis
    k0, k1 = cfg["sum"].apply(s, tile, s[tile].op.reduce_axis[0])
    s[tile].reorder(k0, k1, y, x)
    s[tile].unroll(y)
    s[tile].vectorize(x)
    return s, [A, B, C]


def by_meta_schedule(n: int, target: str, trials: int, folder: str) -> tvm.runtime.Module:
    """What MetaSchedule finds for the tensor program."""
    func = te.create_prim_func(product(n))
    database = ms.tune_tir(func, target, work_dir=folder, max_trials_global=trials, seed=1)
    return tvm.build(ms.tir_integration.compile_tir(database, func, target).mod, target=target)


def by_auto_scheduler(n: int, target: str, trials: int, folder: str) -> tvm.runtime.Module:
    """What the auto-scheduler finds for the tensor expression."""
    task = auto_scheduler.SearchTask(product, (n,), target=target)
    log = str(Path(folder, "auto_scheduler.json"))
    policy = auto_scheduler.SketchPolicy(task, auto_scheduler.XGBModel(), seed=1)
    callbacks = [auto_scheduler.RecordToFile(log)]
    task.tune(auto_scheduler.TuningOptions(trials, measure_callbacks=callbacks), policy)
    return tvm.build(*task.apply_best(log), target)


def by_template(n: int, target: str, trials: int, folder: str) -> tvm.runtime.Module:
    """What AutoTVM finds for the template."""
    del folder  # the best config is in the tuner
    task = autotvm.task.create("three_tuners/product", [n], target)
    tuner = autotvm.tuner.XGBTuner(task, seed=1)
    tuner.tune(trials, autotvm.measure_option(builder="local", runner="local"))
    return tvm.build(*task.instantiate(tuner.get_best_config()), target)


def without_tuning(n: int, target: str, trials: int, folder: str) -> tvm.runtime.Module:
    """The default schedule."""
    del trials, folder
    return tvm.build(te.create_prim_func(product(n)), target=target)


TUNERS = {
    "default schedule": without_tuning,
    "MetaSchedule": by_meta_schedule,
    "auto-scheduler": by_auto_scheduler,
    "AutoTVM": by_template,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--target", default="llvm -num-cores=1")
    options = parser.parse_args()
    n = options.size
    a, b = np.random.default_rng(0).random((2, n, n), dtype="float32") - 0.5
    c = np.empty_like(a)

    modules: dict[str, tvm.runtime.Module] = {}
    for name, tune in TUNERS.items():
        with tempfile.TemporaryDirectory() as folder:
            modules[name] = tune(n, options.target, options.trials, folder)
        c[:] = 0
        modules[name](a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-3, atol=1e-3)

    # In turns, so that a machine that is busy for a while is so for all of them.
    times: dict[str, list[float]] = {name: [] for name in modules}
    for _ in range(5):
        for name, module in modules.items():
            timer = module.time_evaluator(module.entry_name, tvm.cpu(), min_repeat_ms=20)
            times[name].append(timer(a, b, c).mean)

    print(f"{n} x {n}, {options.trials} trials each, for {options.target}; all are correct")
    for name, seconds in times.items():
        best = min(seconds)
        print(f"{name:16} {best * 1e6:8.1f} us {2 * n**3 / best / 1e9:7.1f} GFLOP/s")


if __name__ == "__main__":
    main()
