"""The figures of models of ONNX beside onnxruntime."""

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("torch")

from benchmarks.onnx_models import child
from benchmarks.onnx_models.command import as_table, cells
from benchmarks.onnx_models.files import Model, steps_of, write


def small():
    """Two layers and a batch of images."""
    import torch

    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(144, 5)
    return torch.nn.Sequential(*layers).eval(), (torch.randn(1, 3, 8, 8),)


@pytest.mark.parametrize(
    ("form", "products"), [("float32", "floats"), ("QDQ", "integers"), ("QOperator", "floats")]
)
def test_a_model_beside_onnxruntime(tmp_path, form, products):
    path = write(Model("small", small), form, tmp_path)
    figures = child.measuring(path, "2", "1", products)
    assert 2 <= len(figures["ours"]) == len(figures["theirs"]) <= 6
    assert path.with_suffix(".so").is_file()
    if form == "QDQ":
        assert steps_of(path)[0] > 0
        assert max(figures["steps"]) <= 1.001
    elif form == "float32":
        assert figures["apart"] < 1e-4


def test_the_table():
    row = {
        "model": "small", "form": "QDQ", "right": False, "apart": 0.5, "steps": [3.0],
        "ours": [2e-3, 2e-3], "theirs": [1e-3, 3e-3], "compiling": 1.0, "memory": 10.0,
        "their memory": 20.0,
    }  # fmt: skip
    assert cells(row)[2:6] == ["wrong: 3 steps", "2 ms", "2 ms", "1.00"]
    failed = {"model": "small", "form": "QDQ", "right": False, "problem": "it crashed"}
    assert as_table([row, failed]).row_count == 2
