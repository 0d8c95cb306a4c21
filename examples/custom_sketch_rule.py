"""Add a sketch of your own to those among which the auto-scheduler searches.

A rule looks at a stage of the computation and says how it is scheduled: here a matrix product whose
tiles are summed up in memory of their own. How large the tiles are is left to the search, which
also tries the sketches of the tuner, among them the default schedule.

    python examples/custom_sketch_rule.py [--size N] [--trials N]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import tilewright as tvm
from tilewright import auto_scheduler, te
from tilewright.auto_scheduler import PreloadCustomSketchRule
from tilewright.auto_scheduler.loop_state import State

TARGET = "llvm -num-cores=1"


@auto_scheduler.register_workload
def product(n: int) -> list[te.Tensor]:
    """A product of two matrices."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return [A, B, C]


def is_product(policy: auto_scheduler.SketchPolicy, state: State, stage_id: int) -> int:
    """Whether the rule is for a stage."""
    if state.stages[stage_id].op.name == "C":
        return PreloadCustomSketchRule.APPLY_AND_SKIP_REST
    return PreloadCustomSketchRule.PASS


def sum_up_tiles(
    policy: auto_scheduler.SketchPolicy, state: State, stage_id: int
) -> list[tuple[State, int]]:
    """Sums of a tile in memory of their own, which are copied when they are complete."""
    sums = state.cache_write(stage_id, "local")
    C = state.stage_ops[stage_id + 1]

    i, j = state[C].iters
    i0, i1 = state.split(C, i, [None])  # None: the search decides
    j0, j1 = state.split(C, j, [None])
    state.reorder(C, [i0, j0, i1, j1])
    state.compute_at(sums, C, j0)

    i, j, k = state[sums].iters
    state.reorder(sums, [k, i, j])
    print(state)
    return [(state, stage_id - 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--trials", type=int, default=8)
    options = parser.parse_args()

    task = auto_scheduler.SearchTask(product, (options.size,), target=TARGET)
    rule = PreloadCustomSketchRule(is_product, sum_up_tiles, "sum_up_tiles")
    policy = auto_scheduler.SketchPolicy(
        task, auto_scheduler.XGBModel(), seed=1, init_search_callbacks=[rule]
    )
    with tempfile.TemporaryDirectory() as folder:
        log = str(Path(folder) / "product.json")
        task.tune(
            auto_scheduler.TuningOptions(
                options.trials,
                num_measures_per_round=4,
                measure_callbacks=[auto_scheduler.RecordToFile(log)],
            ),
            policy,
        )
        times: dict[bool, list[float]] = {True: [], False: []}
        for measured, result in auto_scheduler.load_records(log):
            times["te.Schedule" in str(measured.state.sch.trace)].append(min(result.costs))
        for is_own, costs in times.items():
            what = "of the rule" if is_own else "of the tuner"
            fastest = f", the fastest took {min(costs) * 1e6:.0f} us" if costs else ""
            print(f"{len(costs)} candidates {what}{fastest}")
        sch, args = task.apply_best(log)

    function = tvm.build(sch, args, task.target)
    a, b = np.random.default_rng(0).random((2, options.size, options.size), dtype="float32")
    c = np.empty_like(a)
    function(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)
    print("the best one is correct")


if __name__ == "__main__":
    main()
