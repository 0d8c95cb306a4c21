"""Calls and statements without a meaning are refused; functions and names of other systems."""

import pickle

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax
from tilewright.error import ArgumentError, ScriptError, StructInfoError
from tilewright.relax import op
from tilewright.relax.interpreter import evaluate
from tilewright.script import relax as R

X = relax.Var("x", relax.TensorStructInfo((2, 3, 4), "float32"))
C = relax.Var("c", relax.TensorStructInfo((3,), "float32"))


def inferred(call):
    return relax.BlockBuilder().normalize(call).struct_info


def test_void_is_the_dtype_of_the_operands():
    y = relax.Var("y", relax.TensorStructInfo((4, 5), "float32"))
    images = relax.Var("i", relax.TensorStructInfo((1, 3, 8, 8), "float16"))
    weights = relax.Var("w", relax.TensorStructInfo((2, 3, 3, 3), "float16"))
    for call, dtype in (
        (op.matmul(X, y, out_dtype="void"), "float32"),
        (op.nn.conv2d(images, weights, out_dtype="void"), "float16"),
        (op.image.resize2d(images, (4, 4), out_dtype="void"), "float16"),
    ):
        assert inferred(call).dtype == dtype


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: op.nn.group_norm(X, C, C, 3, 1, [2, -1]), "axis appears twice"),
        (lambda: op.nn.instance_norm(X, C, C, 1, [2, 2]), "axis appears twice"),
        (lambda: op.collapse_sum_to(X, X), "must be a shape"),
        (lambda: op.collapse_sum_like(X, relax.ShapeExpr((3, 4))), "array"),
    ],
)
def test_calls_are_refused_by_inference(make, message):
    with pytest.raises(StructInfoError, match=message):
        inferred(make())


def test_axes_that_are_not_numbers():
    with pytest.raises(ArgumentError, match=r"R\.nn\.softmax: axis .*\[1, 2\]"):
        op.nn.softmax(X, axis=[1, 2])


def test_concat_of_all_elements():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(2.0)
    x, y = (
        relax.Var(n, relax.TensorStructInfo(v.shape, "float64")) for n, v in (("a", a), ("b", b))
    )
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(op.concat((x, y), axis=None)))
    np.testing.assert_array_equal(evaluate(builder.get(), a, b), np.concatenate((a, b), axis=None))


def test_a_value_alone_is_no_statement():
    with pytest.raises(ScriptError, match="has no effect"):

        @R.function
        def function(x: R.Tensor((2,), "float32")):
            R.add(x, x)
            return x


def test_calls_with_effects_are_statements():
    @R.function(pure=False)
    def function(x: R.Tensor((2,), "float32")):
        R.print(x)
        R.call_packed("any.name", x)
        return x

    assert len(function.body.blocks[0].bindings) == 2


def test_two_names_for_a_new_value():
    with pytest.raises(ScriptError, match="one name for a value"):

        @R.function
        def function(x: R.Tensor((2,), "float32")):
            a = b = R.add(x, x)  # noqa
            return a


def test_private_functions_have_no_symbol():
    with pytest.raises(ScriptError, match="global_symbol"):

        @R.function(private=True)
        def function(x: R.Tensor((2,), "float32")):
            R.func_attr({"global_symbol": "function"})
            return x


def test_functions_are_true_and_bind_their_parameters():
    n = tvm.tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n,), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((n,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w]):
        builder.emit_func_output(builder.emit(op.add(x, w)))
    function = builder.get()["main"]
    assert function
    bound = function.bind_params({"w": np.ones(3, "float32")})
    assert [param.name_hint for param in bound.params] == ["x"]
    result = evaluate(tvm.IRModule({"main": bound}), np.zeros(3, "float32"))
    np.testing.assert_array_equal(result, np.ones(3))
    fixed = function.bind_symbolic_vars({"n": 5})
    assert [int(param.struct_info.extents[0]) for param in fixed.params] == [5, 5]


def test_names_beside_the_expressions():
    assert relax.call_tir is op.call_tir
    assert relax.call_dps_packed is op.call_dps_packed
    assert relax.get_shape_of(X) is X.struct_info.shape
    unknown = relax.Var("u", relax.TensorStructInfo(None, "float32", ndim=2))
    assert relax.get_shape_of(unknown).op is op.shape_of(unknown).op


def test_names_of_the_runtime():
    assert tvm.DataType("float32x4").lanes == 4
    assert tvm.cpu().total_global_memory > tvm.cpu().available_global_memory > 0
    assert tvm.device("rocm").total_global_memory is None
    result = tvm.runtime.module.BenchmarkResult([1.0, 3.0])
    assert (result.mean, result.min, result.results) == (2, 1, (1, 3))
    assert pickle.loads(pickle.dumps(result)) == result
    module = tvm.IRModule({})
    devices = [tvm.ir.VDevice("llvm", 0, "global")]
    module.update_global_info("vdevice", devices)
    assert list(module.global_infos["vdevice"]) == devices
