"""How the tuners are compared, by times that are made up."""

import math

import pytest
from benchmarks.tuners import command, template

from tilewright import autotvm
from tilewright.autotvm.measure import MeasureInput, MeasureResult
from tilewright.autotvm.record import append, encode


@pytest.fixture
def task():
    return autotvm.task.create(template.NAME, [8], "llvm -num-cores=1")


@pytest.fixture
def log(task, tmp_path):
    """Records of all configs, of which larger indices are faster."""
    path = tmp_path / "matmul-8.log"
    count = len(task.config_space)
    append(path, [
        encode(
            MeasureInput(task.target, task, task.config_space.get(n)),
            MeasureResult((1e-3 * (1 + count - n),), 0, 0.0, 17e8),
        )
        for n in range(count)
    ])  # fmt: skip
    return path


def test_the_table(task, log, capsys):
    options = ["--size", "8", "--trials", "5", "--seeds", "2", "--only", "Random", "Grid"]
    command.main([*options, "--output", str(log.parent)])
    text = capsys.readouterr().out
    assert "64 configs" in text
    assert "RandomTuner" in text
    assert "never" in text  # in order, the fast ones come last
    with pytest.raises(SystemExit):
        command.main(["--only", "nothing like that"])


def test_a_run(task, log):
    times = command.measured(task, log)
    best = task.flop / min(min(seconds) for seconds in times.values())
    found = command.run(command.TUNERS["GridSearchTuner"](task, seed=1), 1000, times, best)
    assert found.trials == len(times)
    assert found.share == pytest.approx(1.0)
    assert math.isfinite(found.needed)
    short = command.run(command.TUNERS["GridSearchTuner"](task, seed=1), 3, times, best)
    assert (short.trials, short.needed) == (3, math.inf)
    assert short.share < found.share


@pytest.mark.parametrize("name", command.TUNERS)
def test_all_tuners_run(task, log, name):
    times = command.measured(task, log)
    found = command.run(command.TUNERS[name](task, seed=1), 6, times, 1.0)
    assert found.trials == 6
