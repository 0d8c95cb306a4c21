"""Each tuner tunes a small template for real; what it logs builds a program that is right."""

import numpy as np
import pytest
from tests.autotvm.templates import matmul

import tilewright as tvm
from tilewright import autotvm
from tilewright.autotvm.callback import Monitor, log_to_file, progress_bar
from tilewright.autotvm.tuner import DropletTuner, GATuner, GridSearchTuner, RandomTuner, XGBTuner

TARGET = "llvm -num-cores=1"
SIZES = [16, 32, 8]


@pytest.fixture(scope="module")
def option():
    builder = autotvm.LocalBuilder(n_parallel=1)
    runner = autotvm.LocalRunner(number=1, repeat=2, min_repeat_ms=1, cooldown_interval=0)
    yield autotvm.measure_option(builder=builder, runner=runner)
    builder.close()
    runner.close()


def check(log):
    """Build the best config of a log, and compare the result with numpy."""
    rows, columns, depth = SIZES
    with autotvm.apply_history_best(log), tvm.target.Target(TARGET):
        schedule, args = matmul(*SIZES)
        module = tvm.build(schedule, args)
    rng = np.random.default_rng(0)
    a, b = (rng.random(shape, "float32") for shape in ((rows, depth), (depth, columns)))
    c = tvm.nd.array(np.zeros((rows, columns), "float32"))
    module(tvm.nd.array(a), tvm.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (RandomTuner, {}),
        (GridSearchTuner, {}),
        (GATuner, {"pop_size": 4, "elite_num": 2}),
        (XGBTuner, {"plan_size": 3, "feature_type": "knob"}),
        (DropletTuner, {"start_position": [2, 3, 0]}),
    ],
)
def test_a_tuner(kind, options, option, tmp_path, capsys):
    task = autotvm.task.create("tests/matmul", SIZES, TARGET)
    log, monitor = str(tmp_path / "matmul.log"), Monitor()
    tuner = kind(task, **options, seed=1)
    callbacks = [progress_bar(5, prefix=kind.__name__), log_to_file(log), monitor]
    tuner.tune(n_trial=5, measure_option=option, callbacks=callbacks)
    assert len(monitor.trial_scores()) == 5
    assert min(monitor.trial_scores()) > 0
    assert f"{kind.__name__} Current/Best" in capsys.readouterr().out
    with autotvm.apply_history_best(log):
        best = autotvm.DispatchContext.current.query(task.target, task.workload)
    assert best == tuner.best_config
    check(log)
    resumed = kind(task, **options, seed=2)
    resumed.load_history(log)
    resumed.tune(n_trial=2, measure_option=option, callbacks=[log_to_file(log)])
    known = list(autotvm.record.load_from_file(log))
    assert len({measured.config for measured, _ in known}) == 7
    check(log)
