"""Models as a whole: inputs, weights, sizes with names, functions, and what is not supported."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.relax.frontend.onnx.models import (
    BOOL,
    INT64,
    model,
    node,
    run,
    run_module,
    tensor,
    value,
)

from tilewright import relax
from tilewright.error import ArgumentError, ArgumentValueError, UnsupportedOperatorError
from tilewright.relax.frontend import detach_params
from tilewright.relax.frontend.onnx import from_onnx

WEIGHT = np.arange(8, dtype="float32").reshape(4, 2)


def perceptron(**options):
    nodes = [node("MatMul", "x w", "y"), node("Relu", "y", "z")]
    outputs = [value("z", ["batch", 2])]
    return model(nodes, [value("x", ["batch", 4])], outputs, [tensor("w", WEIGHT)], **options)


def test_sizes_keep_their_names():
    module = from_onnx(perceptron())
    assert 'x: R.Tensor(("batch", 4), dtype="float32")' in module.script()
    x = np.ones((3, 4), "float32")
    np.testing.assert_allclose(run_module(module, x), x @ WEIGHT)


def test_a_file_and_its_bytes(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(perceptron().SerializeToString())
    for source in (path, str(path), path.read_bytes(), perceptron().graph):
        opset = 17 if not isinstance(source, bytes) else None
        assert "R.matmul" in from_onnx(source, opset=opset).script()
    with pytest.raises(ArgumentValueError, match="cannot read"):
        from_onnx(tmp_path / "nothing.onnx")
    with pytest.raises(ArgumentError, match="takes a model of ONNX"):
        from_onnx(7)


def test_weights_as_parameters():
    module, params = detach_params(from_onnx(perceptron(), keep_params_in_input=True))
    assert module["main"].attrs["num_input"] == 1
    x = np.ones((2, 4), "float32")
    np.testing.assert_allclose(run_module(module, x, *params["main"]), x @ WEIGHT)


def test_shapes_and_dtypes_in_place_of_those_of_the_model():
    module = from_onnx(perceptron(), shape_dict={"x": (5, 4)})
    assert 'x: R.Tensor((5, 4), dtype="float32")' in module.script()
    nodes, x = [node("Neg", "x", "y")], value("x", ["n"])
    proto = model(nodes, [x], [helper.make_empty_tensor_value_info("y")])
    module = from_onnx(proto, shape_dict={"x": ["rows"]}, dtype_dict={"x": "float64"})
    assert 'x: R.Tensor(("rows",), dtype="float64")' in module.script()
    for options in ({"shape_dict": {"q": [1]}}, {"dtype_dict": {"q": "int8"}}):
        with pytest.raises(ArgumentValueError, match="names 'q', which is not an input"):
            from_onnx(proto, **options)


def test_names_of_inputs():
    nodes = [node("Add", "a.1 a/1", "y")]
    proto = model(nodes, [value("a.1", [1]), value("a/1", [1])], [value("y", [1])])
    names = [param.name_hint for param in from_onnx(proto)["main"].params]
    assert names == ["a_1", "a_1_"]
    module = from_onnx(proto, sanitize_input_names=False)
    assert [param.name_hint for param in module["main"].params] == ["a.1", "a/1"]


def test_a_size_that_is_an_expression():
    inputs = [value("x", ["n"]), value("y", ["n + 1"])]
    proto = model([node("Concat", "x y", "z", axis=0)], inputs, [value("z", ["m"])])
    assert "n * 2 + 1" in from_onnx(proto).script()
    x, y = np.ones(2, "float32"), np.zeros(3, "float32")
    np.testing.assert_array_equal(run(proto, x, y), [1, 1, 0, 0, 0])


def test_what_is_not_supported_is_listed_at_once():
    nodes = [
        helper.make_node("Multinomial", ["x"], ["a"], name="first"),
        helper.make_node("Fancy", ["a"], ["b"], name="second", domain="own"),
        node("Det", "x", "c"),
    ]
    proto = model(nodes, [value("x", [5, 5])], [value("b", []), value("c", [])])
    with pytest.raises(UnsupportedOperatorError) as raised:
        from_onnx(proto)
    text = str(raised.value)
    assert "3 kinds of operations" in text
    assert "Multinomial: there is no conversion" in text
    assert "node 'first'" in text
    assert "own.Fancy" in text
    assert "node 'second'" in text
    assert "Det: the determinant of 5 by 5 is not supported" in text
    assert "the node of 'c'" in text


def test_functions_of_the_model():
    body = [helper.make_node("Add", ["p", "p"], ["q"]),
            helper.make_node("Elu", ["q"], ["r"])]  # fmt: skip
    body[1].attribute.add(name="alpha", ref_attr_name="slope", type=1)
    opsets = [helper.make_opsetid("", 17)]
    function = helper.make_function("own", "Twice", ["p"], ["r"], body, opsets, ["slope"])
    call = helper.make_node("Twice", ["x"], ["y"], domain="own", slope=2.0)
    proto = model([call], [value("x", [2])], [value("y", [2])], functions=[function])
    x = np.array([-0.5, 1], "float32")
    np.testing.assert_allclose(run(proto, x), [2 * np.expm1(-1), 2], rtol=1e-6)


def test_a_shape_that_is_computed_from_shapes():
    # The last two dimensions become one, by operators on the shape.
    nodes = [
        node("Shape", "x", "shape"), node("Gather", "shape first", "n", axis=0),
        node("Mul", "rows columns", "area"), node("Gather", "shape second", "rows"),
        node("Gather", "shape third", "columns"),
    ]  # fmt: skip
    nodes = [*nodes[:2], *nodes[3:], nodes[2], node("Concat", "n area", "wanted", axis=0),
             node("Reshape", "x wanted", "y")]  # fmt: skip
    places = [tensor(name, [k], "int64") for k, name in enumerate(("first", "second", "third"))]
    proto = model(nodes, [value("x", ["n", "h", "w"])], [value("y", ["n", "hw"])], places)
    module = from_onnx(proto)
    assert "tensor_to_shape" not in module.script()
    x = np.random.default_rng(0).random((2, 3, 4), np.float32)
    np.testing.assert_array_equal(run_module(module, x), x.reshape(2, 12))


def test_a_shape_that_is_an_input():
    inputs = [value("x", [2, 6]), value("shape", [3], INT64)]
    proto = model([node("Reshape", "x shape", "y")], inputs, [value("y", ["a", "b", "c"])])
    x = np.arange(12, dtype="float32").reshape(2, 6)
    module = from_onnx(proto)
    for shape in ([3, 2, 2], [-1, 2, 3], [0, 3, -1]):
        wanted = [2 if extent == 0 else extent for extent in shape]
        found = run_module(module, x, np.array(shape, "int64"))
        np.testing.assert_array_equal(found, x.reshape(wanted))


@pytest.mark.parametrize("truth", [True, False])
def test_a_branch_of_what_is_computed(truth):
    shape = value("o", ["m"])
    branches = {
        "then_branch": helper.make_graph([node("Mul", "x x", "o")], "then", [], [shape]),
        "else_branch": helper.make_graph([node("Concat", "x x", "o", axis=0)], "else", [], [shape]),
    }
    nodes = [node("If", "c", "y", **branches)]
    proto = model(nodes, [value("x", ["n"]), value("c", [], BOOL)], [value("y", ["m"])])
    x = np.array([1, 2, 3], "float32")
    wanted = x * x if truth else np.concatenate([x, x])
    np.testing.assert_array_equal(run(proto, x, np.array(truth)), wanted)


def test_results_that_the_model_declares_otherwise():
    for declared, message in (
        (value("y", ["n", 3]), r"declared with shape \[None, 3\], but it has \[batch, 2\]"),
        (value("y", ["n"]), "declared with shape"),
        (value("y", ["n", 2], TensorProto.DOUBLE), "declared as float64, but it is float32"),
    ):
        proto = perceptron()
        declared.name = "z"
        proto.graph.output[0].CopyFrom(declared)
        with pytest.raises(ArgumentValueError, match=message):
            from_onnx(proto)


def test_quantised_products_are_integer_kernels():
    inputs = [value("x", [2, 8], TensorProto.UINT8)]
    parts = [tensor("s", 0.1), tensor("z", 3, "uint8"), tensor("w", np.ones((8, 4)), "int8"),
             tensor("ws", 0.2), tensor("wz", 0, "int8"), tensor("t", 0.5)]  # fmt: skip
    nodes = [node("QLinearMatMul", "x s z w ws wz t z", "y")]
    proto = model(nodes, inputs, [value("y", [2, 4], TensorProto.UINT8)], parts)
    module = from_onnx(proto)
    assert 'R.matmul(x, metadata["relax.expr.Constant"][0], out_dtype="int32")' in module.script()
    x = np.arange(16, dtype="uint8").reshape(2, 8)
    exact = (x.astype("int32") - 3) @ np.ones((8, 4), "int32") * (0.1 * 0.2 / 0.5)
    np.testing.assert_array_equal(run_module(module, x), np.clip(np.rint(exact) + 3, 0, 255))


def test_the_virtual_machine_says_the_names():
    with pytest.raises(ValueError, match=r"argument 1 \(x\)"):
        relax.VirtualMachine(relax.build(from_onnx(perceptron())))["main"](np.ones(4, "float32"))
