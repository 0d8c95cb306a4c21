"""What all tuners do: counting, callbacks, going on, and errors. Nothing is built or run."""

import logging

import pytest
from tests.autotvm.templates import matmul, scale  # noqa: F401, registers them
from tests.tune.made_up_times import paper_option, seconds_of

from tilewright import autotvm
from tilewright.autotvm import record
from tilewright.autotvm.template_step import template_trace
from tilewright.autotvm.tuner import (
    DropletTuner,
    GATuner,
    GridSearchTuner,
    RandomTuner,
    Tuner,
    XGBTuner,
)
from tilewright.error import ArgumentError, ArgumentValueError, TargetError, TuningError
from tilewright.tune.replay import replayed

TUNERS = [RandomTuner, GridSearchTuner, GATuner, XGBTuner, DropletTuner]


@pytest.fixture
def task():
    return autotvm.task.create("tests/matmul", [8, 12, 4], "llvm -num-cores=1")


def seconds_of_config(task, config):
    return seconds_of(replayed(template_trace(task, config).as_json(), task.mod).mod)


class Batches:
    """A callback that keeps what it gets."""

    def __init__(self):
        self.sizes, self.pairs, self.best = [], [], []

    def __call__(self, tuner, inputs, results):
        self.sizes.append(len(inputs))
        self.pairs += zip(inputs, results, strict=True)
        self.best.append(tuner.best_flops)


@pytest.mark.parametrize("kind", TUNERS)
def test_what_a_tuner_finds(task, kind, tmp_path):
    tuner, batches = kind(task, seed=1), Batches()
    assert tuner.has_next()
    tuner.tune(n_trial=10, measure_option=paper_option(tmp_path), callbacks=[batches])
    assert sum(batches.sizes) == 10
    indices = [measured.config.index for measured, _ in batches.pairs]
    assert len(set(indices)) == 10
    for measured, result in batches.pairs:
        assert measured.task is task
        seconds = seconds_of_config(task, measured.config)
        assert result.costs == (seconds, seconds)
        assert result.all_cost == 0.75
    best = min(result.mean for _, result in batches.pairs)
    assert tuner.best_flops == task.flop / best
    assert seconds_of_config(task, tuner.best_config) == best
    assert tuner.get_best_config() is tuner.best_config
    assert batches.pairs[tuner.best_iter - 1][0].config == tuner.best_config
    assert tuner.best_measure_pair[1].mean == best
    assert batches.best == sorted(batches.best)


def test_all_configs(task, tmp_path):
    tuner, batches = GridSearchTuner(task), Batches()
    tuner.tune(1000, paper_option(tmp_path), callbacks=[batches])
    assert sum(batches.sizes) <= len(task.config_space) == 48
    # With some configs the program is the same as with others, which are not measured.
    assert len({result.costs for _, result in batches.pairs}) == sum(batches.sizes)


def test_a_second_call_goes_on(task, tmp_path):
    tuner, first, second = RandomTuner(task, seed=1), Batches(), Batches()
    tuner.tune(6, paper_option(tmp_path), callbacks=[first])
    tuner.tune(6, paper_option(tmp_path), callbacks=[second])
    found = [{m.config.index for m, _ in batches.pairs} for batches in (first, second)]
    assert len(found[0] | found[1]) == 12
    tuner.reset()
    assert (tuner.best_config, tuner.best_flops, tuner.best_iter) == (None, 0.0, 0)
    third = Batches()
    tuner.tune(6, paper_option(tmp_path), callbacks=[third])
    assert {m.config.index for m, _ in third.pairs} == found[0]


def test_it_stops_early(task, tmp_path):
    batches = Batches()
    RandomTuner(task, seed=1).tune(
        40, paper_option(tmp_path), early_stopping=3, callbacks=[batches]
    )
    assert sum(batches.sizes) < 40


def test_what_is_measured_again_takes_the_place_of_what_was_measured(task, tmp_path):
    log, batches = tmp_path / "log", Batches()
    tuner = RandomTuner(task, seed=1)
    option = paper_option(tmp_path, again=3.0)
    tuner.tune(12, option, callbacks=[batches, autotvm.callback.log_to_file(log)])
    lines = [record.parsed(line) for line in log.read_text().splitlines()]
    again = [line for line in lines if line.supersedes]
    assert sum(batches.sizes) == 12 == len(lines) - len(again)
    assert again
    lucky, seconds = min(((m.config, r.mean) for m, r in batches.pairs), key=lambda item: item[1])
    standing = {m.config: r.mean for m, r in record.load_from_file(log)}
    assert standing[lucky] == pytest.approx(3 * seconds)
    assert tuner.best_config == min(standing, key=standing.get)
    with autotvm.apply_history_best(log):
        config = autotvm.DispatchContext.current.query(task.target, task.workload)
    assert config == tuner.best_config


def test_a_history_is_known(task, tmp_path, caplog):
    log = tmp_path / "log"
    first = RandomTuner(task, seed=1)
    first.tune(8, paper_option(tmp_path), callbacks=[autotvm.callback.log_to_file(log)])
    other = autotvm.task.create("tests/matmul", [4, 4, 4], "llvm -num-cores=1")
    GridSearchTuner(other).tune(
        2, paper_option(tmp_path), callbacks=[autotvm.callback.log_to_file(log)]
    )
    known = {m.config for m, _ in record.load_from_file(log) if m.task.workload == task.workload}
    for history in (str(log), list(record.load_from_file(log))):
        second, batches = XGBTuner(task, seed=1), Batches()
        second.load_history(history)
        assert (second.best_config, second.best_iter) == (first.best_config, 0)
        second.tune(4, paper_option(tmp_path), callbacks=[batches])
        assert sum(batches.sizes) == 4
        assert known.isdisjoint({measured.config for measured, _ in batches.pairs})
        assert second.best_flops >= first.best_flops
    stranger = RandomTuner(autotvm.task.create("tests/matmul", [2, 2, 2], "llvm -num-cores=1"))
    with caplog.at_level(logging.WARNING, "autotvm"):
        stranger.load_history(log)
    assert "0 of " in caplog.text
    assert stranger.best_config is None


def test_droplet_starts_where_it_is_told(task, tmp_path):
    batches = Batches()
    tuner = DropletTuner(task, start_position=[3, 5, 1])
    tuner.tune(5, paper_option(tmp_path), callbacks=[batches])
    assert task.config_space.positions(batches.pairs[0][0].config) == [3, 5, 1]
    near = [task.config_space.positions(m.config) for m, _ in batches.pairs[1:]]
    assert near == [[2, 5, 1], [3, 4, 1], [3, 5, 0], [1, 5, 1]]


def test_configs_that_are_refused_cost_no_trial(tmp_path):
    task, batches = autotvm.task.create("tests/scale", [4], "llvm -num-cores=1"), Batches()
    GridSearchTuner(task, seed=1).tune(99, paper_option(tmp_path), callbacks=[batches])
    assert {measured.config["kind"].val for measured, _ in batches.pairs} == {"good"}


def test_when_all_configs_fail(task, tmp_path, caplog):
    tuner, batches = RandomTuner(task), Batches()
    tuner.set_error_threshold(3)
    with (
        caplog.at_level(logging.WARNING, "autotvm"),
        pytest.raises(TuningError, match=r"(?s)all .* failed.* build.*there is no compiler"),
    ):
        tuner.tune(4, paper_option(tmp_path, fails=True), callbacks=[batches])
    assert "3 configs of 'tests/matmul' in a row failed" in caplog.text
    assert "COMPILE_HOST: there is no compiler" in caplog.text
    assert {result.error_no for _, result in batches.pairs} == {2}
    assert tuner.best_config is None
    with pytest.raises(TuningError, match="no config of 'tests/matmul' was measured; call Random"):
        tuner.get_best_config()


def test_a_line_for_each_config_is_logged(task, tmp_path, caplog):
    with caplog.at_level(logging.DEBUG, "autotvm"):
        RandomTuner(task, seed=1).tune(3, paper_option(tmp_path), si_prefix="K")
    lines = [r.getMessage() for r in caplog.records if r.name == "autotvm"]
    assert [line.split("\t")[0] for line in lines] == ["No: 1", "No: 2", "No: 3"]
    assert "KFLOPS: 0." in lines[0]


def test_spaces_without_a_config_that_works(tmp_path):
    task = autotvm.task.create("tests/scale", [4, ["always"]], "llvm -num-cores=1")
    with pytest.raises(TuningError, match=r"refused all of many random configs; .*the kind is bad"):
        RandomTuner(task).tune(4, paper_option(tmp_path))
    task = autotvm.task.create("tests/scale", [4, ["no knobs"]], "llvm -num-cores=1")
    with pytest.raises(TuningError, match="'tests/scale' defines no knobs"):
        RandomTuner(task).tune(4, paper_option(tmp_path))


def test_wrong_calls_are_explained(task, tmp_path):
    tuner = GATuner(task)
    with pytest.raises(ArgumentError, match=r"GATuner\.tune.*n_trial is the number of configs"):
        tuner.tune()
    with pytest.raises(ArgumentError, match=r"measure_option is what autotvm\.measure_option"):
        tuner.tune(n_trial=1000)
    with pytest.raises(ArgumentError, match="measure_option is what"):
        tuner.tune(1000, {"builder": "local"})
    with pytest.raises(ArgumentValueError, match="n_trial is at least 1, got 0"):
        tuner.tune(0, paper_option(tmp_path))
    with pytest.raises(ArgumentValueError, match="early_stopping is at least 1, or None; got 0"):
        tuner.tune(4, paper_option(tmp_path), early_stopping=0)
    with pytest.raises(ArgumentValueError, match="si_prefix is '', "):
        tuner.tune(4, paper_option(tmp_path), si_prefix="Z")
    with pytest.raises(AttributeError, match=r"GATuner\(task, pop_size=100\)"):
        _ = autotvm.tuner.GA99Tuner
    with pytest.raises(AttributeError, match=r"has no attribute 'Nothing'$"):
        _ = autotvm.tuner.Nothing
    with pytest.raises(ArgumentError, match=r"RandomTuner: expected what autotvm\.task\.create"):
        RandomTuner("tests/matmul")
    with pytest.raises(NotImplementedError, match="Tuner does not define make_strategy"):
        Tuner(task).tune(4, paper_option(tmp_path))


def test_wrong_parameters_are_explained(task):
    for arguments, message in (
        ({"feature_type": "soul"}, "feature_type is 'itervar', 'curve' or 'knob', got 'soul'"),
        ({"loss_type": "hinge"}, "loss_type is 'reg', 'rank' or 'rank-binary'"),
        ({"optimizer": "bfgs"}, "optimizer is 'sa'"),
        ({"plan_size": 0}, "plan_size is at least 1"),
    ):
        with pytest.raises(ArgumentValueError, match=message):
            XGBTuner(task, **arguments)
    with pytest.raises(ArgumentValueError, match="population_size is at least 1"):
        GATuner(task, pop_size=0)
    with pytest.raises(ArgumentValueError, match="pvalue is between 0 and 1"):
        DropletTuner(task, pvalue=0)
    for start in ([1, 1], [0, 0, 9]):
        with pytest.raises(ArgumentError, match=r"numbers of values are \[4, 6, 2\]"):
            DropletTuner(task, start_position=start)


def test_targets_that_do_not_run_here():
    task = autotvm.task.create("tests/matmul", [8, 12, 4], "vulkan")
    with pytest.raises(TargetError, match="'vulkan' cannot be measured on this machine"):
        RandomTuner(task).tune(4, autotvm.measure_option(builder="local", runner="local"))
