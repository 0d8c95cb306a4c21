"""Loops that end by what they compute, against onnxruntime."""

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from tests.relax.frontend.onnx.models import BOOL, INT64, model, node, run, tensor, value

from tilewright.error import UnsupportedOperatorError
from tilewright.relax.frontend.onnx import from_onnx


def looping(operands, steps, carried, rows=(), inputs=(), outputs=(), parts=()):
    """A model of one loop; the bodies' conditions are called ``k`` before and ``k2`` after."""
    before = [value("i", [], INT64), value("k", [], BOOL), value(f"{carried[0]}", carried[1])]
    after = [value("k2", [], BOOL), value(f"{carried[0]}2", carried[1]), *rows]
    body = helper.make_graph(steps, "body", before, after)
    names = " ".join(output.name for output in outputs)
    return model([node("Loop", operands, names, body=body)], inputs, outputs, parts)


def assert_same(proto, *arrays):
    """Both compute the same."""
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [parameter.name for parameter in session.get_inputs()]
    expected = session.run(None, dict(zip(names, arrays, strict=True)))
    results = run(proto, *arrays)
    results = results if isinstance(results, list) else [results]
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-6, strict=True)


def test_a_loop_until_a_condition_holds_no_more():
    steps = [
        node("Mul", "v half", "v2"), node("ReduceSum", "v2", "s", keepdims=0),
        node("Greater", "s limit", "k2"), node("Add", "v2 offset", "row"),
    ]  # fmt: skip
    proto = looping(
        "_ true x", steps, ("v", ["n"]), [value("row", ["n"])],
        [value("x", ["n"]), value("limit", []), value("offset", ["n"])],
        [value("y", ["n"]), value("rows", ["t", "n"])],
        [tensor("half", 0.5), tensor("true", True, "bool")],
    )  # fmt: skip
    assert_same(
        proto, np.arange(5, dtype="float32"), np.array(0.1, "float32"), np.ones(5, "float32")
    )


@pytest.mark.parametrize("count", [0, 5])
def test_an_array_that_grows_by_the_step(count):
    proto = looping(
        "m _ e", [node("Concat", "v x", "v2", axis=0), node("Identity", "k", "k2")], ("v", ["n"]),
        [], [value("m", [], INT64), value("x", [2])], [value("y", ["t"])],
        [tensor("e", np.zeros(1))],
    )  # fmt: skip
    assert_same(proto, np.array(count), np.ones(2, "float32"))


def test_an_array_whose_extent_depends_on_the_step():
    steps = [
        node("Add", "i one", "end"), node("Unsqueeze", "i axis", "first"),
        node("Unsqueeze", "end axis", "last"), node("Slice", "x first last", "part"),
        node("Add", "v part", "v2"), node("Identity", "v2", "row"), node("Identity", "k", "k2"),
    ]  # fmt: skip
    proto = looping(
        "m _ e", steps, ("v", [1]), [value("row", [1])], [value("m", [], INT64), value("x", [4])],
        [value("y", [1]), value("rows", ["t", 1])],
        [tensor("e", np.zeros(1)), tensor("one", 1, "int64"), tensor("axis", [0], "int64")],
    )  # fmt: skip
    assert_same(proto, np.array(3), np.arange(4, dtype="float32"))


def test_many_steps():
    proto = looping(
        "m _ e", [node("Add", "v x", "v2"), node("Identity", "k", "k2")], ("v", [2]), [],
        [value("x", [2])], [value("y", [2])],
        [tensor("m", 100_000, "int64"), tensor("e", np.zeros(2))],
    )  # fmt: skip
    x = np.ones(2, "float32")
    np.testing.assert_array_equal(run(proto, x), 100_000 * x)


def test_a_scan_over_any_number_of_elements():
    first = [value("s", [2]), value("a", [2]), value("b", [2])]
    second = [value("s2", [2]), value("r", [2]), value("q", [2])]
    steps = [node("Add", "s a", "s2"), node("Mul", "s2 b", "r"), node("Sub", "a b", "q")]
    body = helper.make_graph(steps, "body", first, second)
    scan = node(
        "Scan", "s0 x y", "last rows others", body=body, num_scan_inputs=2, scan_input_axes=[1, 0],
        scan_input_directions=[1, 0], scan_output_axes=[1, 0], scan_output_directions=[0, 1],
    )  # fmt: skip
    inputs = [value("s0", [2]), value("x", [2, "n"]), value("y", ["n", 2])]
    outputs = [value("last", [2]), value("rows", [2, "n"]), value("others", ["n", 2])]
    proto = model([scan], inputs, outputs)
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape).astype("float32") for shape in (2, (2, 5), (5, 2))]
    assert_same(proto, *arrays)


def test_what_changes_its_rank_is_refused():
    steps = [node("Unsqueeze", "v axis", "v2"), node("Identity", "k", "k2")]
    proto = looping(
        "m _ x", steps, ("v", None), [], [value("m", [], INT64), value("x", [2])],
        [value("y", None)], [tensor("axis", [0], "int64")],
    )  # fmt: skip
    with pytest.raises(UnsupportedOperatorError, match="changes the dtype or rank"):
        from_onnx(proto)
