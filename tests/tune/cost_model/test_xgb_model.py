import importlib
import logging
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from tests.tune.feature import programs

from tilewright import tir
from tilewright.error import ArgumentValueError
from tilewright.target import Target
from tilewright.tune.cost_model import AnalyticalModel, CostModel, XGBConfig, XGBModel
from tilewright.tune.feature import FeatureExtractor, PerStoreFeature


class Context(NamedTuple):
    mod: object
    target: Target = Target("llvm -mcpu=skylake-avx512 -num-cores=1")


class Candidate(NamedTuple):
    sch: tir.Schedule


class Result(NamedTuple):
    run_secs: list | None
    error_kind: str | None = None


CONTEXT = Context(programs.matmul(24, 64, 8))


@pytest.fixture(scope="module")
def candidates():
    return [
        Candidate(programs.tiled_matmul(24, 64, 8, rows, 4, vectors, panels, packs=False))
        for rows in (1, 2, 3, 4, 6)
        for vectors in (1, 2, 4)
        for panels in (1, 2, 4)
    ]


@pytest.fixture(scope="module")
def seconds(candidates):
    """Times that differ from what the analytical model expects by what it does not know: long
    unrolled loops are slow on this imaginary machine."""
    (expected,) = [np.exp(-AnalyticalModel().predict(CONTEXT, candidates))]
    features = PerStoreFeature().extract_from(CONTEXT, candidates)
    unrolled = np.array([2.0 ** table[-1][28] for table in features])
    assert len(set(unrolled)) > 3
    return expected * 1e-9 * unrolled**1.5


def correlation(scores, seconds):
    """Of the ranks (Spearman)."""
    ranks = [np.argsort(np.argsort(values)) for values in (scores, -np.asarray(seconds))]
    return np.corrcoef(*ranks)[0, 1]


def train(model, candidates, seconds, context=CONTEXT):
    model.update(context, candidates, [Result([s]) for s in seconds])


def divided(items):
    return items[::2], items[1::2]


def test_it_ranks_as_the_analytical_model_before_it_learns(candidates):
    model = CostModel.create("xgb")
    assert isinstance(model, XGBModel)
    expected = AnalyticalModel().predict(CONTEXT, candidates)
    assert np.array_equal(model.predict(CONTEXT, candidates), expected)
    assert model.predict(CONTEXT, []).shape == (0,)


def test_learning_makes_the_ranks_of_others_better(candidates, seconds):
    (known, unknown), (times, wanted) = divided(candidates), divided(seconds)
    model = XGBModel()
    before = correlation(model.predict(CONTEXT, unknown), wanted)
    train(model, known, times)
    after = correlation(model.predict(CONTEXT, unknown), wanted)
    assert after > before + 0.1
    assert 0 < model.confidence < 0.6


def test_what_is_pure_chance_is_not_believed(candidates):
    (known, unknown), generator = divided(candidates), np.random.default_rng(5)
    expected = np.exp(-AnalyticalModel().predict(CONTEXT, known))
    model = XGBModel()
    train(model, known, expected * np.exp(generator.normal(0, 0.3, len(known))))
    scores = model.predict(CONTEXT, unknown)
    assert model.confidence < 0.2
    assert correlation(scores, -AnalyticalModel().predict(CONTEXT, unknown)) > 0.95


def test_failures_are_slow_and_cancellations_nothing(candidates, seconds):
    model = XGBModel()
    results = [Result([s]) for s in seconds]
    results[3] = Result(None, "timeout")
    results[4] = Result(None, "cancelled")
    model.update(CONTEXT, candidates, results)
    assert len(model.samples) == len(candidates) - 1
    (workload,) = model.samples.workloads.values()
    speeds = workload.speeds
    assert np.argmin(speeds) == 3
    assert np.max(speeds) == 0
    train(XGBModel(), [], [])


def test_nothing_but_failures(candidates):
    model = XGBModel()
    model.update(CONTEXT, candidates, [Result(None, "crash")] * len(candidates))
    assert np.isfinite(model.predict(CONTEXT, candidates)).all()


def test_a_saved_model_goes_on(candidates, seconds, tmp_path):
    path = str(tmp_path / "model.xgb")
    (known, unknown), (times, later) = divided(candidates), divided(seconds)
    model = XGBModel()
    train(model, known, times)
    model.save(path)
    loaded = XGBModel()
    loaded.load(path)
    assert loaded.predict(CONTEXT, unknown) == pytest.approx(model.predict(CONTEXT, unknown))
    for each in (model, loaded):
        train(each, unknown, later)
    assert loaded.predict(CONTEXT, known) == pytest.approx(model.predict(CONTEXT, known))
    assert len(loaded.samples) == len(candidates)


def test_a_model_without_measurements_can_be_saved(tmp_path, candidates):
    path = str(tmp_path / "model")
    XGBModel().save(path)
    model = XGBModel()
    model.load(path)
    assert model.confidence == 0


def test_files_hold_no_code(tmp_path):
    path = tmp_path / "model"
    with path.open("wb") as file:
        np.save(file, np.array([object()], dtype=object), allow_pickle=True)
    with pytest.raises(ArgumentValueError, match="was not written by XGBModel"):
        XGBModel().load(str(path))
    path.write_text("no model")
    with pytest.raises(ArgumentValueError, match="was not written by XGBModel"):
        XGBModel().load(str(path))


def test_rounds_are_logged(candidates, seconds, caplog):
    model = XGBModel(num_warmup_samples=10, early_stopping_rounds=5, average_peak_n=3)
    with caplog.at_level(logging.DEBUG):
        train(model, candidates, seconds)
    lines = [record.getMessage().replace("\t", " ") for record in caplog.records]
    assert lines[0].startswith("XGB iter   0: tr-p-rmse: 0.")
    assert " tr-a-peak@3: " in lines[0]
    assert lines[1].startswith("XGB iter  25: ")
    assert lines[-1].startswith("XGB stopped. Best iteration: [")
    caplog.clear()
    with caplog.at_level(logging.DEBUG):
        train(XGBModel(verbose_eval=0), candidates, seconds)
    assert not caplog.records


def test_each_batch_is_learned_until_there_are_many(candidates, seconds):
    model = XGBModel(num_warmup_samples=40, early_stopping_rounds=3)
    train(model, candidates[:40], seconds[:40])
    before = model.predict(CONTEXT, candidates)
    train(model, candidates[40:42], seconds[40:42])
    assert np.array_equal(model.predict(CONTEXT, candidates), before)
    train(model, candidates, seconds)
    assert not np.array_equal(model.predict(CONTEXT, candidates), before)


def test_a_few_measurements_are_learned_together(candidates, seconds):
    adaptive, eager = XGBModel(), XGBModel(adaptive_training=False)
    for model in (adaptive, eager):
        train(model, candidates[:12], seconds[:12])
    before = adaptive.predict(CONTEXT, candidates)
    assert np.array_equal(before, eager.predict(CONTEXT, candidates))
    for model in (adaptive, eager):
        train(model, candidates[12:14], seconds[12:14])
    assert np.array_equal(before, adaptive.predict(CONTEXT, candidates))
    assert not np.array_equal(before, eager.predict(CONTEXT, candidates))
    train(adaptive, candidates[14:16], seconds[14:16])
    assert not np.array_equal(before, adaptive.predict(CONTEXT, candidates))


def test_programs_are_told_apart(candidates, seconds):
    model = XGBModel()
    train(model, candidates, seconds)
    train(model, candidates, seconds * 1e3, Context(programs.matmul(24, 64, 9)))
    train(model, candidates, seconds * 1e3, Context(programs.matmul(24, 64, 8)))
    assert [len(w.rows) for w in model.samples.workloads.values()] == [90, 45]


def test_users_choose_features_and_trees(candidates, seconds):
    class Unrolled(FeatureExtractor):
        def extract_from(self, context, candidates):
            return [t[-1:, 28:30] for t in PerStoreFeature().extract_from(context, candidates)]

    model = XGBModel(extractor=Unrolled(), config=XGBConfig(max_depth=2, eta=0.3))
    (known, unknown), (times, wanted) = divided(candidates), divided(seconds)
    before = correlation(model.predict(CONTEXT, unknown), wanted)
    train(model, known, times)
    assert correlation(model.predict(CONTEXT, unknown), wanted) > before


def test_without_xgboost_the_analytical_model_is_used(candidates, seconds, monkeypatch):
    def missing(name, *args):
        if name == "xgboost":
            raise ImportError(name)
        return imported(name, *args)

    imported = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", missing)
    model = XGBModel()
    with pytest.warns(RuntimeWarning, match=r"pip install \"tilewright\[tune\]\"") as caught:
        train(model, candidates, seconds)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(model, candidates, seconds)
    expected = AnalyticalModel().predict(CONTEXT, candidates)
    assert np.array_equal(model.predict(CONTEXT, candidates), expected)
