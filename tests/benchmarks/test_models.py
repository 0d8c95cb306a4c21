"""How whole models are measured, on a small one."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from benchmarks.harness.pairs import ROOT, environment
from benchmarks.harness.record import Record
from benchmarks.models import child
from benchmarks.models.child import Request, distance, listed
from benchmarks.models.costs import MODELS, WORKERS

MLP = next(model for model in MODELS if model.name.startswith("MLP"))
pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
REQUEST = Request(model=MLP.name, peer="torch", threads=1, rounds=3, batch_seconds=0.001, limit=5.0)


def test_a_model_beside_a_peer(tmp_path):
    request = replace(REQUEST, output=str(tmp_path / "record.json"))
    command = [sys.executable, "-m", "benchmarks.models.child", request.to_json()]
    subprocess.run(command, env=environment(1), cwd=ROOT, check=True)
    record = Record.from_dictionary(json.loads((tmp_path / "record.json").read_text()))
    assert not record.problem
    assert record.error < 1e-4
    assert 3 <= len(record.ours) == len(record.theirs) <= 9


def test_a_wrong_result_is_not_timed(monkeypatch):
    monkeypatch.setattr(child, "compile_model", lambda *_: lambda: [np.zeros((1, 10), "float32")])
    record = child.empty_record(MLP, REQUEST)
    child.measure(MLP, REQUEST, record)
    assert record.problem.startswith("WRONG RESULT")
    assert not record.ours


def test_a_model_of_any_size():
    import torch

    def any_number_of_rows(module, inputs):
        rows = {0: torch.export.Dim("rows")}
        return torch.export.export(module, (torch.zeros(3, 784),), dynamic_shapes=(rows,))

    model = replace(MLP, export=any_number_of_rows)
    module, inputs = model.make()
    (scores,) = listed(child.compile_model(model, module, inputs)())
    assert scores.shape == (1, 10)


def test_outputs_of_other_shapes_do_not_compare():
    with pytest.raises(ValueError, match="shapes"):
        distance([np.zeros(3)], [np.zeros(4)])


def test_the_costs_of_a_model():
    assert WORKERS["compile"](MLP, "")["seconds"] > 0
    assert 10 < WORKERS["torch"](MLP, "")["mebibytes"] < 1e5


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
def test_the_memory_of_libraries(tmp_path):
    path = str(tmp_path / "model")
    weights = 784 * 128 * 4 / 2**20
    assert weights < WORKERS["export"](MLP, path)["mebibytes"] < 10
    assert weights < WORKERS["export to onnx"](MLP, path)["mebibytes"] < 10
    for what in ("run", "onnxruntime"):
        assert 10 < WORKERS[what](MLP, path)["mebibytes"] < 1e5
