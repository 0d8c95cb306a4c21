"""Operators on `nn.Tensor` compute what numpy computes."""

import math

import numpy as np
import pytest
from tests.relax.frontend.nn.running import apply, floats, same

from tilewright import te, topi
from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    DeviceError,
    StructInfoError,
    UnknownNameError,
)
from tilewright.relax.frontend import nn
from tilewright.relax.frontend.nn import op
from tilewright.script import tir as T

X = floats(2, 3, 4)
POSITIVE = floats(2, 3, seed=1, low=0.1, high=3)
A, B = floats(3, 4, seed=2), floats(3, 4, seed=3)
INTEGERS = np.array([[3, 1, 2], [0, 5, 4]], "int32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    return np.vectorize(math.erf, otypes=["float32"])(x)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


ONE_OPERAND = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "square": np.square, "negative": np.negative,
    "sigmoid": sigmoid, "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil, "erf": erf,
    "sin": np.sin, "cos": np.cos, "rsqrt": lambda x: 1 / np.sqrt(x), "abs": np.abs,
    "relu": lambda x: np.maximum(x, 0), "silu": lambda x: x * sigmoid(x),
    "gelu": lambda x: x / 2 * (1 + erf(x / np.float32(math.sqrt(2)))),
    "relu6": lambda x: np.clip(x, 0, 6), "softplus": lambda x: np.log1p(np.exp(x)),
    "softmax": softmax, "log_softmax": lambda x: np.log(softmax(x)),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_OPERAND)
def test_operators_with_one_operand(name):
    data = POSITIVE if name in ("log", "sqrt", "rsqrt") else X
    same(apply(getattr(op, name), data), ONE_OPERAND[name](data))


TWO_OPERANDS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal, "equal": np.equal,
    "not_equal": np.not_equal, "floor_divide": np.floor_divide,
}  # fmt: skip


def test_operators_with_two_operands():
    def all_of_them(a, b):
        return [getattr(op, name)(a, b) for name in TWO_OPERANDS]

    same(apply(all_of_them, A, B), [function(A, B) for function in TWO_OPERANDS.values()])


def test_operators_of_logic():
    a, b = np.array([True, True, False]), np.array([True, False, False])
    names = ("logical_and", "logical_or", "logical_xor")
    result = apply(lambda a, b: [getattr(op, name)(a, b) for name in names], a, b)
    same(result, [getattr(np, name)(a, b) for name in names])


def test_operators_of_python():
    def all_of_them(a, b):
        return [
            a + b, a - b, a * b, a / b, -a, abs(a), 1 + a, 1 - a, 2 * a, 1 / b, a + 1, a > 0.5,
            a <= b, a @ b.permute_dims(1, 0), (a * a) ** 0.5, a.astype("int32"), a.maximum(b),
            a.minimum(0.0), a.reshape(4, 3), a.reshape([2, -1]), a.permute_dims(), a.repeat(2, 1),
            a + np.float32(2), a * B,
        ]  # fmt: skip

    expected = [
        A + B, A - B, A * B, A / B, -A, abs(A), 1 + A, 1 - A, 2 * A, 1 / B, A + 1, A > 0.5,
        A <= B, A @ B.T, np.sqrt(A * A), A.astype("int32"), np.maximum(A, B), np.minimum(A, 0),
        A.reshape(4, 3), A.reshape(2, -1), A.T, np.repeat(A, 2, 1), A + 2, A * B,
    ]  # fmt: skip
    same(apply(all_of_them, A, B), expected)


LAYOUT = [
    (lambda x: op.unsqueeze(x, 1), lambda x: x[:, None]),
    (lambda x: op.squeeze(op.unsqueeze(x, -1), -1), lambda x: x),
    (lambda x: op.concat([x, x], 1), lambda x: np.concatenate([x, x], 1)),
    (lambda x: op.stack([x, x], 1), lambda x: np.stack([x, x], 1)),
    (lambda x: op.chunk(x, 2, 2), lambda x: np.split(x, 2, 2)),
    (lambda x: op.split(x, [1, 3], 2), lambda x: np.split(x, [1, 3], 2)),
    (lambda x: op.reshape(x, 6, 4), lambda x: x.reshape(6, 4)),
    (lambda x: op.reshape(x, (-1, 4)), lambda x: x.reshape(-1, 4)),
    (lambda x: op.permute_dims(x, axes=[2, 0, 1]), lambda x: x.transpose(2, 0, 1)),
    (lambda x: op.permute(x, [1, 0, 2]), lambda x: x.transpose(1, 0, 2)),
    (lambda x: op.repeat(x, 2, axis=0), lambda x: np.repeat(x, 2, 0)),
    (lambda x: op.tile(x, [1, 2, 1]), lambda x: np.tile(x, [1, 2, 1])),
    (lambda x: op.broadcast_to(op.unsqueeze(x, 0), [5, 2, 3, 4]),
     lambda x: np.broadcast_to(x, [5, 2, 3, 4])),
    (lambda x: op.triu(x, 1), lambda x: np.triu(x, 1)),
    (lambda x: op.tril(x), np.tril),
    (lambda x: op.pad(x, [0, 0, 1, 2, 0, 1], value=3.0),
     lambda x: np.pad(x, [(0, 0), (1, 2), (0, 1)], constant_values=3)),
    (lambda x: op.take(x, nn.Tensor.from_const([2, 0]), axis=1), lambda x: x[:, [2, 0]]),
    (lambda x: op.sort(x, axis=1, descending=True), lambda x: -np.sort(-x, 1)),
    (lambda x: op.argsort(x, dtype="int64"), lambda x: np.argsort(x)),
    (lambda x: op.topk(x, 2, axis=-1)[0], lambda x: -np.sort(-x)[..., :2]),
    (lambda x: op.astype(x, "float16"), lambda x: x.astype("float16")),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(LAYOUT)))
def test_operators_that_move_elements(case):
    function, expected = LAYOUT[case]
    same(apply(function, X), expected(X))


def test_reductions():
    def all_of_them(x):
        return [
            op.sum(x), op.sum(x, 1), op.sum(x, [0, 2], keepdims=True), op.max(x, axis=1),
            op.min(x, -1), op.mean(x, 0), op.argmax(x, 1), op.argmin(x, 2), op.cumsum(x, axis=1),
        ]  # fmt: skip

    expected = [
        X.sum(), X.sum(1), X.sum((0, 2), keepdims=True), X.max(1), X.min(-1), X.mean(0),
        X.argmax(1), X.argmin(2), X.cumsum(1),
    ]  # fmt: skip
    same(apply(all_of_them, X), expected)


def test_tensors_of_numbers():
    def all_of_them(x):
        return [
            op.zeros([2, 3]), op.ones((3,), "int32"), op.full([2], 7, "int64"), op.arange(5),
            op.arange(1, 8, 3, "int32"), op.full(x.shape, nn.Tensor.from_scalar(2.5, "float32")),
            op.where(op.greater(x, 0.0), x, op.zeros(x.shape)), op.where(x, 1.0 + x, x),
        ]  # fmt: skip

    expected = [
        np.zeros([2, 3], "float32"), np.ones(3, "int32"), np.full(2, 7), np.arange(5, dtype="f4"),
        np.arange(1, 8, 3, "int32"), np.full(X.shape, 2.5, "float32"), np.maximum(X, 0),
        np.where(X != 0, 1 + X, X),
    ]  # fmt: skip
    same(apply(all_of_them, X), expected)
    assert apply(lambda x: op.empty(x.shape, "int32"), X).shape == X.shape


def test_sizes_may_be_symbolic():
    def all_of_them(x, y):
        rows, columns = x.shape
        return [
            op.matmul(x, op.permute_dims(y)), op.softmax(x), op.reshape(x, rows * columns),
            op.concat([x, y], 0), op.zeros([rows, 2]), op.broadcast_to(op.sum(x, 1, True), x.shape),
        ]  # fmt: skip

    expected = [
        A @ B[:2].T, softmax(A), A.reshape(-1), np.concatenate([A, B[:2]]), np.zeros((3, 2), "f4"),
        np.broadcast_to(A.sum(1, keepdims=True), A.shape),
    ]  # fmt: skip
    same(apply(all_of_them, A, B[:2].copy(), symbolic=True), expected)


def test_matmul_with_another_dtype_of_the_result():
    a = A.astype("float16")
    result = apply(lambda a, b: op.matmul(a, op.permute_dims(b), out_dtype="float32"), a, a)
    same(result, a.astype("float32") @ a.astype("float32").T, 1e-3)


def test_norms():
    gamma, beta = floats(4, seed=4), floats(4, seed=5)

    def layer_norm(x, w, b):
        y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return y * w + b

    def all_of_them(x, w, b):
        return [
            op.layer_norm(x, 4, w, b), op.layer_norm(x, [4]), op.rms_norm(x, w, axes=-1),
            op.group_norm(op.permute_dims(x, [0, 2, 1]), 2, w, b),
            op.group_norm(op.permute_dims(x, [0, 2, 1]), 2),
        ]  # fmt: skip

    groups = X.transpose(0, 2, 1).reshape(2, 2, 6)
    grouped = layer_norm(groups, 1, 0).reshape(2, 4, 3)
    rms = X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-5) * gamma
    expected = [
        layer_norm(X, gamma, beta), layer_norm(X, 1, 0), rms,
        grouped * gamma[:, None] + beta[:, None], grouped,
    ]  # fmt: skip
    same(apply(all_of_them, X, gamma, beta), expected)


def test_attention():
    query, key, value = (floats(2, n, 3, 4, seed=n) for n in (2, 5, 5))
    mask = floats(2, 3, 2, 5, seed=9)

    def attention(q, k, v, mask=0, scale=0.5):
        scores = np.einsum("bqhd,bkhd->bhqk", q, k) * scale + mask
        return np.einsum("bhqk,bkhd->bqhd", softmax(scores), v)

    def all_of_them(q, k, v, mask):
        attend = op.scaled_dot_product_attention
        return [
            attend(q, k, v), attend(q, k, v, mask), attend(q, k, v, scale=2.0),
            attend(k, k, v, is_causal=True),
        ]  # fmt: skip

    causal = np.where(np.tril(np.ones((5, 5))), 0, -np.inf)
    expected = [
        attention(query, key, value), attention(query, key, value, mask),
        attention(query, key, value, scale=2.0), attention(key, key, value, causal),
    ]  # fmt: skip
    same(apply(all_of_them, query, key, value, mask), [e.astype("float32") for e in expected])


@pytest.mark.parametrize("flip", [False, True])
def test_timestep_embedding(flip):
    steps = np.array([0, 3, 50], "int32")
    frequencies = np.exp(-math.log(10000) * np.arange(3) / 2)
    angles = steps[:, None] * frequencies
    parts = [np.sin(angles), np.cos(angles)]
    expected = np.concatenate([*(parts[::-1] if flip else parts), np.zeros((3, 1))], -1)
    result = apply(lambda x: op.get_timestep_embedding(x, 7, flip), steps)
    same(result, expected.astype("float32"), 1e-4)


def test_choosing_the_likeliest_tokens():
    prob = np.array([[0.1, 0.5, 0.15, 0.25], [0.4, 0.1, 0.3, 0.2]], "float32")
    index = np.argsort(-prob, 1).astype("int32")
    ordered = -np.sort(-prob, 1)
    top_p, top_k = np.array([[0.7], [1.0]], "float32"), np.array([[4], [2]], "int32")
    samples = np.array([[0.5], [0.99], [0.6], [0.0]], "float32")
    rows = np.array([[0], [0], [1], [1]], "int64")

    def all_of_them(prob, ordered, index, top_p, top_k, samples, rows):
        return [
            op.renormalize_top_p_top_k_prob(prob, ordered, top_p, top_k),
            op.sample_top_p_top_k_from_sorted_prob(ordered, index, top_p, top_k, samples, rows),
            op.multinomial_from_uniform(prob, samples, rows, dtype="int32"),
        ]  # fmt: skip

    kept = np.array([[0, 0.5, 0, 0.25], [0.4, 0, 0.3, 0]], "float32")
    expected = [
        kept / kept.sum(1, keepdims=True),
        np.array([[1], [3], [2], [0]], "int32"),
        np.array([[1], [3], [2], [0]], "int32"),
    ]
    same(apply(all_of_them, prob, ordered, index, top_p, top_k, samples, rows), expected)


# --- calls ----------------------------------------------------------------------------------


@T.prim_func(private=True)
def scaled(a: T.handle, b: T.handle, factor: T.int64):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("scaled"):
            v = T.axis.spatial(n, i)
            B[v] = A[v] * T.Cast("float32", factor)


@T.prim_func(private=True)
def incremented(a: T.handle):
    A = T.match_buffer(a, (6,), "float32")
    for i in range(6):
        with T.block("incremented"):
            v = T.axis.spatial(6, i)
            A[v] = A[v] + T.float32(1)


def times(a, factor):
    return te.compute(a.shape, lambda i: a(i) * factor)


def test_calls_of_tensor_programs():
    x = floats(6)

    def all_of_them(x):
        like = nn.Tensor.placeholder([6], "float32")
        return [
            op.tensor_expr_op(times, "times", [x, 3.0]),
            op.tensor_expr_op(topi.nn.relu, "relu", [x]),
            op.tensor_ir_op(scaled, "scaled", [x, 4], out=like),
            op.tensor_ir_inplace_op(incremented, "incremented", [op.exp(x)], 0, out=like),
        ]  # fmt: skip

    same(apply(all_of_them, x), [x * 3, np.maximum(x, 0), x * 4, np.exp(x) + 1])


def test_calls_of_registered_functions(register):
    @register("test.nn.total")
    def total(x, factor, name, result):
        assert (factor, name) == (2, "sum")
        result.copyfrom(x.numpy().sum(0) * factor)

    def forward(x):
        return op.extern("test.nn.total", [x, 2, "sum"], nn.Tensor.placeholder([4], "float32"))

    same(apply(forward, A), A.sum(0) * 2)


# --- mistakes -------------------------------------------------------------------------------


def refused(error, function, *arrays, match):
    with pytest.raises(error, match=match):
        apply(function, *arrays)


def test_mistakes():
    refused(StructInfoError, lambda a, b: op.matmul(a, b), A, B, match="method forward: .*matmul")
    refused(ArgumentError, lambda a: op.relu(a, 1, 2), A, match=r"nn.op.relu\(x.*too many")
    refused(ArgumentError, lambda a: op.softmax(a, dim=1), A, match="unexpected keyword")
    refused(ArgumentError, lambda a: 1 if a else 2, A, match="use nn.op.where")
    refused(ArgumentValueError, lambda a: op.gelu(a, "tan"), A, match="approximate is None or")
    refused(ArgumentValueError, lambda a: op.pad(a, [1]), A, match="two numbers for a dimension")
    refused(DeviceError, op.ccl_allreduce, A, match="no other workers")
    refused(ArgumentError, lambda a: op.print_(a), A, match="debug=True")
    refused(ArgumentError, lambda a: op.extern(3, a, a), A, match="name of the function")
    refused(ArgumentError, lambda a: op.extern("f", a, A), A, match="`out` is an nn.Tensor")
    refused(ArgumentError, lambda a: op.tensor_ir_op(A, "f", a, a), A, match="PrimFunc")
    refused(ArgumentError, lambda a: op.tensor_ir_op(scaled, "f", [2, a], a), A, match="after the")
    refused(ArgumentError, lambda a: op.interpolate(a), A, match="either size or scale_factor")
    refused(ArgumentValueError, lambda a: op.interpolate(a, 2, mode="area"), A, match="got 'area'")


def test_operators_need_a_function_to_build():
    x = nn.Tensor.placeholder([2], "float32")
    with pytest.raises(ArgumentError, match="export_tvm, jit"):
        op.relu(x)


def test_functions_that_are_not_registered():
    def forward(x):
        return op.extern("test.nn.nowhere", x, x)

    with pytest.raises(UnknownNameError, match=r"test\.nn\.nowhere"):
        apply(forward, A)
