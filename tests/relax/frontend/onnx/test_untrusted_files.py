"""Files from anywhere: what is wrong is refused with an error, and nothing outside is read."""

import os

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.relax.frontend.onnx.models import FLOAT, INT64, model, node, run, tensor, value

from tilewright.error import ArgumentValueError, TVMError, UnsupportedOperatorError
from tilewright.relax.frontend.onnx import from_onnx, graph

X = value("x", [4])
Y = value("y", [4])


def refused(proto, message, error=ArgumentValueError):
    with pytest.raises(error, match=message):
        from_onnx(proto)


def test_no_model():
    refused(b"not a model", "it is not a model of ONNX")
    refused(b"", "has no graph")
    no_opset = model([node("Neg", "x", "y")], [X], [Y])
    del no_opset.opset_import[:]
    refused(no_opset, "does not say which opset")
    refused(
        model([node("Neg", "x", "y")], [X], [Y], opset=10**6), "the installed package onnx knows"
    )


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("Neg", "b", "a"), node("Neg", "a", "b"), node("Neg", "x", "y")], "form a cycle"),
        ([node("Neg", "y", "y")], "form a cycle"),
        ([node("Neg", "x", "y"), node("Abs", "x", "y")], "defines 'y' twice"),
        ([node("Neg", "x", "x")], "defines 'x' twice"),
        ([node("Neg", "x", "a")], "returns 'y', which nothing defines"),
        ([node("Neg", "q", "y")], "takes 'q', which nothing before it"),
        ([node("Add", "x", "y")], "has 2 to 2 operands, not 1"),
        ([node("Neg", "x", "y z")], "has 1 to 1 results, not 2"),
        ([node("Neg", "x", "y", alpha=1.0)], "has no attribute 'alpha'"),
        ([node("Concat", "x x", "y")], "needs the attribute 'axis'"),
        ([node("Concat", "x x", "y", axis=[0])], "'axis' has another type"),
        ([node("Neg", "x", "n" * 5000), node("Neg", "x", "y")], "too long"),
    ],
)  # fmt: skip
def test_graphs_that_are_not_well_formed(nodes, message):
    refused(model(nodes, [X], [Y]), message)


def test_attributes_without_their_values():
    proto = model([node("Elu", "x", "y", alpha=1.0)], [X], [Y])
    proto.graph.node[0].attribute[0].ClearField("f")
    refused(proto, "has no value of its type")
    twice = model([node("Elu", "x", "y", alpha=1.0)], [X], [Y])
    twice.graph.node[0].attribute.append(twice.graph.node[0].attribute[0])
    refused(twice, "has the attribute 'alpha' twice")


@pytest.mark.parametrize(
    ("nodes", "shapes"),
    [
        ([node("Transpose", "x", "y", perm=[0, 0])], [[2, 2]]),
        ([node("Transpose", "x", "y", perm=[7, -9])], [[2, 2]]),
        ([node("Concat", "x x", "y", axis=5)], [[2, 2]]),
        ([node("MatMul", "x w", "y")], [[2, 3], [2, 3]]),
        ([node("Add", "x w", "y")], [[2, 3], [4]]),
        ([node("Conv", "x w", "y", strides=[0, 0])], [[1, 1, 4, 4], [1, 1, 3, 3]]),
        ([node("Conv", "x w", "y", pads=[1])], [[1, 1, 4, 4], [1, 1, 3, 3]]),
        ([node("Conv", "x w", "y", group=0)], [[1, 1, 4, 4], [1, 1, 3, 3]]),
        ([node("Conv", "x w", "y", dilations=[-1, -1])], [[1, 1, 4, 4], [1, 1, 3, 3]]),
        ([node("MaxPool", "x", "y", kernel_shape=[0, 0])], [[1, 1, 4, 4]]),
        ([node("MaxPool", "x", "y", kernel_shape=[2**40] * 2)], [[1, 1, 4, 4]]),
        ([node("DepthToSpace", "x", "y", blocksize=0)], [[1, 4, 2, 2]]),
        ([node("Softmax", "x", "y", axis=9)], [[2, 2]]),
        ([node("Flatten", "x", "y", axis=9)], [[2, 2]]),
        ([node("Einsum", "x x", "y", equation="ij,jk->zz")], [[2, 2]]),
        ([node("Einsum", "x x", "y", equation="(" * 1000)], [[2, 2]]),
        ([node("Cast", "x", "y", to=99)], [[2, 2]]),
        ([node("LSTM", "x w w", "y", hidden_size=-1)], [[1, 1, 1], [1, 1, 1]]),
        ([node("Split", "x", "y z", axis=-7)], [[2, 2]]),
        ([node("RoiAlign", "x x x", "y")], [[2, 2]]),
    ],
)  # fmt: skip
def test_operators_with_impossible_arguments(nodes, shapes):
    inputs = [value(name, shape) for name, shape in zip("xw", shapes, strict=False)]
    proto = model(nodes, inputs, [helper.make_empty_tensor_value_info("y")])
    refused(proto, f"{nodes[0].op_type}", TVMError)


# --- sizes ------------------------------------------------------------------------------------


def test_enormous_arrays_are_not_made():
    huge = tensor("s", [2**62, 2**62], "int64")
    for nodes in (
        [node("ConstantOfShape", "s", "y")],
        [node("ConstantOfShape", "s", "a"), node("NonZero", "a", "y")],
        [node("Expand", "x s", "y")],
        [node("Tile", "x s", "y")],
    ):
        proto = model(
            nodes, [value("x", [1, 1])], [helper.make_empty_tensor_value_info("y")], [huge]
        )
        with pytest.raises((TVMError, MemoryError, OverflowError)):
            run(proto, np.ones((1, 1), "float32"))


def test_a_range_without_end():
    parts = [tensor("a", 0, "int64"), tensor("b", 2**62, "int64"), tensor("c", 0, "int64")]
    refused(model([node("Range", "a b c", "y")], [X], [value("y", ["n"], INT64)], parts), "Range",
            UnsupportedOperatorError)  # fmt: skip


@pytest.mark.parametrize("extent", [-1, 2**50])
def test_inputs_with_impossible_extents(extent):
    proto = model([node("Neg", "x", "y")], [value("x", [extent])], [value("y", ["n"])])
    refused(proto, "the input 'x' has an extent of")


def test_inputs_that_are_no_tensors():
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, [2])
    refused(model([node("SequenceLength", "x", "y")], [sequence], [Y]), "is a sequence_type",
            UnsupportedOperatorError)  # fmt: skip
    text = value("x", [2], TensorProto.STRING)
    refused(model([node("Identity", "x", "y")], [text], [Y]), "tensors of STRING",
            UnsupportedOperatorError)  # fmt: skip


# --- tensors ----------------------------------------------------------------------------------


def with_weight(weight):
    return model([node("Add", "x w", "y")], [X], [Y], [weight])


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"dims": [4], "data_type": FLOAT, "raw_data": b"123"}, "needs 16 bytes, it has 3"),
        ({"dims": [2**40, 2**20], "data_type": FLOAT, "raw_data": b""}, "bytes, it has 0"),
        ({"dims": [4], "data_type": FLOAT, "float_data": [1.0]}, "needs 4 elements in float_data"),
        ({"dims": [4], "data_type": FLOAT, "int32_data": [1] * 4}, "needs 4 elements in float"),
        ({"dims": [-4], "data_type": FLOAT, "raw_data": b""}, "negative extent"),
        ({"dims": [4], "data_type": 0, "raw_data": b""}, "tensors of UNDEFINED"),
        ({"dims": [4], "data_type": 77, "raw_data": b""}, "tensors of 77"),
        ({"dims": [4], "data_type": TensorProto.STRING, "string_data": [b"a"] * 4}, "of STRING"),
    ],
)  # fmt: skip
def test_tensors_that_contradict_themselves(form, message):
    refused(with_weight(TensorProto(name="w", **form)), message, TVMError)


def external(**entries):
    weight = TensorProto(name="w", dims=[4], data_type=FLOAT, data_location=TensorProto.EXTERNAL)
    for key, text in entries.items():
        weight.external_data.add(key=key, value=text)
    return with_weight(weight)


def saved(proto, folder):
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


@pytest.fixture
def folder(tmp_path):
    """A folder for a model, with a file of weights; beside it lies a secret."""
    inner = tmp_path / "model"
    inner.mkdir()
    np.arange(8, dtype="float32").tofile(inner / "weights.bin")
    np.full(8, 42, "float32").tofile(tmp_path / "secret.bin")
    (inner / "link.bin").symlink_to(tmp_path / "secret.bin")
    (inner / "up").symlink_to(tmp_path)
    (inner / "loop").symlink_to(inner / "loop")
    return inner


def test_weights_in_a_file(folder):
    path = saved(external(location="weights.bin", offset="16", length="16"), folder)
    np.testing.assert_array_equal(run(path, np.zeros(4, "float32")), [4, 5, 6, 7])
    refused(path.read_bytes(), "give from_onnx the path of the model")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"location": "../secret.bin"}, "not in the folder of the model"),
        ({"location": "a/../../secret.bin"}, "not in the folder of the model"),
        ({"location": "{outside}/secret.bin"}, "not in the folder of the model"),
        ({"location": "link.bin"}, "not in the folder of the model"),
        ({"location": "up/secret.bin"}, "not in the folder of the model"),
        ({"location": "loop"}, "there is no file"),
        ({"location": "nothing.bin"}, "there is no file"),
        ({"location": "n" * 9999}, "there is no file"),
        ({"location": "weights.bin\0.txt"}, "not in the folder of the model"),
        ({"location": ""}, "not in the folder of the model"),
        ({}, "not in the folder of the model"),
        ({"location": "."}, "not a file of data|cannot read"),
        ({"location": "pipe"}, "not a file of data"),
        ({"location": "weights.bin", "offset": "24"}, "ends at byte 40 of 'weights.bin'"),
        ({"location": "weights.bin", "offset": str(10**18)}, "ends at byte"),
        ({"location": "weights.bin", "offset": "-4"}, "offset of its file is '-4'"),
        ({"location": "weights.bin", "offset": "0x10"}, "offset of its file is '0x10'"),
        ({"location": "weights.bin", "offset": "9" * 5000}, "offset of its file"),
        ({"location": "weights.bin", "length": "32"}, "needs 16 bytes, its entry has 32"),
    ],
)
def test_weights_that_are_elsewhere(folder, entries, message):
    os.mkfifo(folder / "pipe")
    outside = str(folder.parent)
    entries = {key: text.replace("{outside}", outside) for key, text in entries.items()}
    refused(saved(external(**entries), folder), message)


# --- programs that grow -----------------------------------------------------------------------


def test_functions_that_call_themselves():
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    inner = helper.make_node("F", ["a"], ["b"], domain="own")
    function = helper.make_function("own", "F", ["a"], ["b"], [inner], opsets)
    call = helper.make_node("F", ["x"], ["y"], domain="own")
    refused(model([call], [X], [Y], functions=[function]), "calls itself", UnsupportedOperatorError)


def test_functions_that_call_each_other_more_and_more(monkeypatch):
    monkeypatch.setattr(graph, "MOST_NODES", 1000)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    functions = [helper.make_function("own", "F0", ["a"], ["b"], [node("Neg", "a", "b")], opsets)]
    for level in range(1, 40):
        body = [helper.make_node(f"F{level - 1}", [before], [after], domain="own")
                for before, after in (("a", "m"), ("m", "b"))]  # fmt: skip
        functions.append(helper.make_function("own", f"F{level}", ["a"], ["b"], body, opsets))
    call = helper.make_node("F39", ["x"], ["y"], domain="own")
    refused(model([call], [X], [Y], functions=functions), "more than 1000 nodes")


def test_loops_without_end():
    inputs = [value("i", [], INT64), value("c", [], TensorProto.BOOL), value("v", [4])]
    outputs = [value("c2", [], TensorProto.BOOL), value("v2", [4])]
    nodes = [node("Identity", "c", "c2"), node("Neg", "v", "v2")]
    body = helper.make_graph(nodes, "body", inputs, outputs)
    loop = node("Loop", "m t x", "y", body=body)
    parts = [tensor("m", 2**62, "int64"), tensor("t", True, "bool")]
    endless = node("Loop", "_ t x", "y", body=body)
    for proto in (model([loop], [X], [Y], parts), model([endless], [X], [Y], parts)):
        assert len(from_onnx(proto).functions) < 50


def test_a_loop_with_more_names_than_results():
    inputs = [value("i", [], INT64), value("c", [], TensorProto.BOOL)]
    outputs = [value("c2", [], TensorProto.BOOL)]
    body = helper.make_graph([node("Identity", "c", "c2")], "body", inputs, outputs)
    loop = node("Loop", "m t", "y", body=body)
    parts = [tensor("m", 1, "int64"), tensor("t", True, "bool")]
    refused(model([loop], [X], [Y], parts), "'y' is not an array", UnsupportedOperatorError)


def test_graphs_inside_of_graphs():
    plain = branch = helper.make_graph([node("Neg", "x", "o")], "inner", [], [value("o", [4])])
    for _ in range(20):
        inner = node("If", "c", "o", then_branch=branch, else_branch=plain)
        branch = helper.make_graph([inner], "outer", [], [value("o", [4])])
    nodes = [node("If", "c", "y", then_branch=branch, else_branch=plain)]
    proto = model(nodes, [X, value("c", [], TensorProto.BOOL)], [Y])
    refused(proto, "more than 16 graphs are inside of one another")
