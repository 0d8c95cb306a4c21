"""Models with random mistakes are imported or refused; nothing outside of the folder is read."""

import os
import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.relax.frontend.onnx.models import BOOL, FLOAT, INT64, model, node, tensor, value
from tests.relax.frontend.onnx.mutations import mutated
from tests.time_limit import time_limit

from tilewright.error import TVMError
from tilewright.relax.frontend.onnx import from_onnx


def _network():
    """Convolutions, products, and a shape that is computed."""
    nodes = [
        node("Conv", "x w", "a", pads=[1, 1, 1, 1], strides=[2, 2]), node("Relu", "a", "b"),
        node("MaxPool", "b", "c", kernel_shape=[2, 2]), node("Shape", "c", "s"),
        node("Gather", "s zero", "n"), node("Concat", "n rest", "t", axis=0),
        node("Reshape", "c t", "d"), node("Gemm", "d m bias", "e", transB=1),
        node("Softmax", "e", "y"),
    ]  # fmt: skip
    parts = [
        tensor("w", np.ones((2, 3, 3, 3))), tensor("zero", [0], "int64"),
        tensor("m", np.ones((5, 18))), tensor("rest", [-1], "int64"), tensor("bias", np.zeros(5)),
    ]  # fmt: skip
    return model(nodes, [value("x", ["n", 3, 8, 8])], [value("y", ["n", 5])], parts)


def _control():
    """A branch, a loop and a function."""
    opsets = [helper.make_opsetid("", 17)]
    function = helper.make_function("own", "F", ["a"], ["b"], [node("Celu", "a", "b")], opsets)
    branches = {
        name: helper.make_graph([node(operator, "x", "o")], name, [], [value("o", [4])])
        for name, operator in (("then_branch", "Neg"), ("else_branch", "Exp"))
    }
    inputs = [value("i", [], INT64), value("k", [], BOOL), value("v", [4])]
    results = [value("k2", [], BOOL), value("v2", [4]), value("scan", [4])]
    steps = [node("Identity", "k", "k2"), node("Add", "v x", "v2"), node("Mul", "v v", "scan")]
    body = helper.make_graph(steps, "body", inputs, results)
    nodes = [
        node("If", "c", "a", **branches), node("Loop", "m t a", "b y", body=body),
        helper.make_node("F", ["b"], ["z"], domain="own"),
    ]  # fmt: skip
    parts = [tensor("m", 3, "int64"), tensor("t", True, "bool")]
    outputs = [value("y", [3, 4]), value("z", [4])]
    return model(
        nodes, [value("x", [4]), value("c", [], BOOL)], outputs, parts, functions=[function]
    )


def _stored():
    """Weights in a file, quantised numbers, a recurrent layer and places of elements."""
    weight = TensorProto(name="w", dims=[4], data_type=FLOAT, data_location=TensorProto.EXTERNAL)
    for key, text in (("location", "w.bin"), ("offset", "0"), ("length", "16")):
        weight.external_data.add(key=key, value=text)
    nodes = [
        node("Add", "x w", "a"), node("QuantizeLinear", "a s z", "q"),
        node("DequantizeLinear", "q s z", "d"), node("Resize", "d _ f", "r", mode="linear"),
        node("TopK", "r k", "v p"), node("GatherElements", "r p", "y"),
        node("Unsqueeze", "y axes", "u"), node("RNN", "u i h", "o", hidden_size=1),
        node("Slice", "o one three one", "sl"), node("Pad", "sl pads", "out"),
    ]  # fmt: skip
    parts = [
        weight, tensor("s", 0.5), tensor("z", 3, "uint8"), tensor("f", [2.0]),
        tensor("k", [4], "int64"), tensor("axes", [1, 2], "int64"),
        tensor("i", np.ones((1, 1, 1))), tensor("h", np.ones((1, 1, 1))),
        tensor("one", [0], "int64"), tensor("three", [3], "int64"),
        tensor("pads", [0, 0, 0, 0, 1, 0, 0, 0], "int64"),
    ]  # fmt: skip
    return model(nodes, [value("x", [4])], [value("out", ["a", 1, 1, 1])], parts)


BASES = (_network, _control, _stored)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of weights, outside of which no file of weights is opened."""
    (tmp_path / "w.bin").write_bytes(np.ones(4, "float32").tobytes())
    (tmp_path / "link.bin").symlink_to("/etc/passwd")
    original = os.open

    def checked(path, *args, **options):
        assert Path(path).resolve().is_relative_to(tmp_path.resolve()), path
        return original(path, *args, **options)

    monkeypatch.setattr("tilewright.relax.frontend.onnx.tensors.os.open", checked)
    return tmp_path


@pytest.mark.parametrize("base", BASES)
def test_the_models_are_imported(base, folder):
    path = folder / "model.onnx"
    path.write_bytes(base().SerializeToString())
    from_onnx(path)


def test_mutated_models(budget, folder):
    protos = [base() for base in BASES]
    path = folder / "model.onnx"
    for seed in budget.examples(150):
        draw = random.Random(seed)
        path.write_bytes(mutated(draw.choice(protos), draw))
        with time_limit(), suppress(TVMError):
            from_onnx(path)
