"""Weights of products as integers of 8 or 4 bits."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax, te, topi
from tilewright.error import ArgumentValueError, ShapeError
from tilewright.relax.transform import QuantizeWeights
from tilewright.relax.transform.quantize_weights import quantized


def unpacked(integers, bits, group):
    """The weights as numbers of float64, without scales."""
    if bits == 8:
        return integers.astype("float64")
    n, half = integers.shape
    parts = integers.reshape(n, -1, group // 2)
    numbers = np.concatenate([parts & 15, parts >> 4], axis=2).reshape(n, 2 * half)
    return numbers.astype("float64") - 8


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize(("shape", "n", "k", "group"), [
    ((1,), 33, 128, 32), ((3,), 16, 96, 48), ((2, 2), 7, 64, 64), ((5,), 40, 40, 10),
])  # fmt: skip
def test_products_are_those_of_the_scaled_integers(bits, shape, n, k, group):
    rng = np.random.default_rng(k + bits)
    matrix = rng.standard_normal((n, k), "float32") * rng.choice([1e-3, 1, 50], (n, 1))
    integers, scales = quantized(matrix.astype("float32"), bits, group)
    weights = unpacked(integers, bits, group) * np.repeat(scales.astype("float64"), group, axis=1)
    step = np.repeat(np.abs(matrix.reshape(n, -1, group)).max(2), group, axis=1)
    assert (np.abs(weights - matrix) <= step * 0.51 / (2 ** (bits - 1) - 1)).all()
    x = rng.standard_normal((*shape, k), "float32")
    X = te.placeholder(x.shape, name="X")
    W = te.placeholder(integers.shape, str(integers.dtype), "W")
    S = te.placeholder(scales.shape, name="S")
    result = topi.nn.quantized_weight_matmul(X, W, S, bits)
    out = np.full((*shape, n), np.nan, "float32")
    tvm.build(te.create_prim_func([X, W, S, result]), target="llvm -num-cores=1")(
        x, integers, scales, out
    )
    expected = x.astype("float64") @ weights.T
    size = np.abs(x.astype("float64")) @ np.abs(weights.T)
    assert (np.abs(out - expected) <= 1e-6 * size).all()


def model(weights, transposed):
    """Two products by the same constant."""
    builder = relax.BlockBuilder()
    k = weights.shape[1 if transposed else 0]
    x = relax.Var("x", relax.TensorStructInfo((2, k), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            constant = relax.const(weights)
            if transposed:
                constant = builder.emit(relax.op.permute_dims(constant))
            first = builder.emit(relax.op.matmul(x, constant))
            second = builder.emit(relax.op.matmul(x, constant))
            out = builder.emit_output(relax.op.add(first, second))
        builder.emit_func_output(out)
    return builder.get()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("bits", [8, 4])
def test_a_graph(bits, transposed):
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((128, 128), "float32")
    module = QuantizeWeights(bits=bits, group_size=32)(model(weights, transposed))
    assert "quantized_weight_matmul" in module.script()
    assert "R.matmul" not in module.script()
    machine = relax.VirtualMachine(relax.build(module, "llvm -num-cores=1"), tvm.cpu())
    x = rng.standard_normal((2, 128), "float32")
    got = machine["main"](tvm.nd.array(x)).numpy()
    exact = 2 * x.astype("float64") @ (weights.T if transposed else weights)
    matrix = weights if transposed else weights.T
    integers, scales = quantized(matrix, bits, 32)
    rounded = unpacked(integers, bits, 32) * np.repeat(scales.astype("float64"), 32, axis=1)
    np.testing.assert_allclose(got, 2 * x.astype("float64") @ rounded.T, rtol=1e-4, atol=1e-4)
    assert np.linalg.norm(got - exact) < {8: 0.01, 4: 0.15}[bits] * np.linalg.norm(exact)


@pytest.mark.parametrize("shape", [(32, 32), (130, 256)])
def test_small_matrices_and_incomplete_groups_stay(shape):
    module = model(np.ones(shape, "float32"), False)
    assert "quantized" not in QuantizeWeights(group_size=64)(module).script()


def test_wrong_arguments():
    with pytest.raises(ArgumentValueError, match="bits is 4 or 8, got 3"):
        QuantizeWeights(bits=3)
    with pytest.raises(ArgumentValueError, match="positive even number, got 7"):
        QuantizeWeights(group_size=7)
    x, w = te.placeholder((1, 64)), te.placeholder((8, 64), "int8")
    with pytest.raises(ShapeError, match="groups of one size"):
        topi.nn.quantized_weight_matmul(x, w, te.placeholder((8, 3)))
