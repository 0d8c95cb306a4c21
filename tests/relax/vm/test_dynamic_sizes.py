"""Models with dynamic sizes, called with sizes of 0 and 1."""

import itertools

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax, tir
from tilewright.relax import op


def compiled(shapes, body):
    """The function of a graph with float32 parameters; names in shapes are dynamic sizes."""
    names = {d for shape in shapes for d in shape if isinstance(d, str)}
    sizes = {name: tir.Var(name, "int64") for name in names}
    params = [
        relax.Var(f"x{number}", relax.TensorStructInfo([sizes.get(d, d) for d in shape], "float32"))
        for number, shape in enumerate(shapes)
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(body(*params)))
        builder.emit_func_output(result)
    machine = relax.VirtualMachine(relax.build(builder.get(), target="llvm"), tvm.cpu())
    return lambda *arrays: machine["main"](*map(tvm.nd.array, arrays)).numpy()


def check(shapes, body, expected):
    """Compare with numpy for all sizes of 0, 1 and 3."""
    run = compiled(shapes, body)
    names = sorted({d for shape in shapes for d in shape if isinstance(d, str)})
    rng = np.random.default_rng(0)
    for values in itertools.product((0, 1, 3), repeat=len(names)):
        sizes = dict(zip(names, values, strict=True))
        arrays = [
            rng.standard_normal([sizes.get(d, d) for d in shape]).astype("float32")
            for shape in shapes
        ]
        want = expected(*arrays)
        result = run(*arrays)
        assert result.shape == want.shape
        np.testing.assert_allclose(result, want, 1e-4, 1e-5, err_msg=str(sizes))


def softmax(x):
    if not x.shape[-1]:
        return x
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_perceptron():
    check(
        [("batch", "features"), ("features", 4), (4,)],
        lambda x, w, bias: op.nn.softmax(op.nn.relu(op.add(op.matmul(x, w), bias))),
        lambda x, w, bias: softmax(np.maximum(x @ w + bias, 0)),
    )


def test_attention():
    check(
        [("batch", "queries", 4), ("batch", "keys", 4), ("batch", "keys", 2)],
        lambda q, k, v: op.matmul(op.nn.softmax(op.matmul(q, op.permute_dims(k, [0, 2, 1]))), v),
        lambda q, k, v: softmax(q @ k.transpose(0, 2, 1)) @ v,
    )


def test_convolution_and_pooling():
    def pooled(x, w):
        kernel = w[None, ..., 0, 0]
        product = np.einsum("bchw,noc->bohw", x, kernel)
        b, c, h, width = product.shape
        return product.reshape(b, c, h // 2, 2, width // 2, 2).max((3, 5)).mean((2, 3))

    check(
        [("batch", 3, 4, 6), (5, 3, 1, 1)],
        lambda x, w: op.mean(op.nn.max_pool2d(op.nn.conv2d(x, w), (2, 2), (2, 2)), [2, 3]),
        pooled,
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda x: op.sum(x, [0]), lambda x: x.sum(0)),
        (lambda x: op.max(x, [1]), lambda x: x.max(1, initial=-np.inf)),
        (lambda x: op.cumsum(x, 0), lambda x: x.cumsum(0)),
        (lambda x: op.concat([x, x], 0), lambda x: np.concatenate([x, x])),
        (lambda x: op.split(x, [1], 0)[1], lambda x: x[1:]),
        (lambda x: op.sort(x, 1), lambda x: np.sort(x, 1)),
        (lambda x: op.nn.pad(x, [1, 1, 0, 2]), lambda x: np.pad(x, [(1, 1), (0, 2)])),
    ],
    ids=["sum", "max", "cumsum", "concat", "split", "sort", "pad"],
)
def test_operators(body, expected):
    check([("rows", "columns")], body, expected)


def test_positions_of_maxima():
    check(
        [("rows", 3)],
        lambda x: op.astype(op.argmax(x, 1), "float32"),
        lambda x: x.argmax(1).astype("float32"),
    )
