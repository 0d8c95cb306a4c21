"""Operators of each kind on a device, those among them that threads cannot share."""

import numpy as np
import pytest
from tests.relax.vm.test_devices import DEVICE

import tilewright as tvm
from tilewright import relax
from tilewright.relax import op
from tilewright.relax.interpreter import evaluate


def real(*shape):
    """Numbers that are all different."""
    count = int(np.prod(shape))
    return (
        (np.random.default_rng(count).permutation(count) / 7 - 2).astype("float32").reshape(shape)
    )


X, IMAGE, PLACES = real(3, 5), real(1, 4, 6, 6), np.array([[2, 0], [1, 1], [0, 2]])
INTEGERS = np.array([3, 1, 3, 0, 2, 1])
OPERATORS = {
    "argmax": (lambda x: op.argmax(x, axis=1), X),
    "argsort": (lambda x: op.argsort(x, axis=0), X),
    "attention": (op.nn.attention, real(1, 4, 2, 8), real(1, 6, 2, 8), real(1, 6, 2, 8)),
    "concat": (lambda x, y: op.concat([x, y], axis=1), X, real(3, 2)),
    "conv2d_transpose": (
        lambda x, w: op.nn.conv2d_transpose(x, w, strides=2), IMAGE, real(4, 3, 3, 3)
    ),
    "cumsum": (lambda x: op.cumsum(x, axis=1), X),
    "depthwise": (lambda x, w: op.nn.conv2d(x, w, groups=4, padding=1), IMAGE, real(4, 1, 3, 3)),
    "einsum": (lambda x, y: op.einsum([x, y], "ij,kj->ik"), X, real(2, 5)),
    "floor_divide": (op.floor_divide, INTEGERS, INTEGERS - 2 + (INTEGERS == 2)),
    "gather_elements": (lambda x, i: op.gather_elements(x, i, axis=0), X, PLACES),
    "group_norm": (
        lambda x, g, b: op.nn.group_norm(x, g, b, 2, channel_axis=1, axes=[2, 3]),
        IMAGE, real(4), real(4),
    ),
    "nonzero": (op.nonzero, INTEGERS),
    "one_hot": (lambda i: op.one_hot(i, relax.PrimValue(1), relax.PrimValue(0), 4, -1), INTEGERS),
    "resize2d": (lambda x: op.image.resize2d(x, (9, 5), method="linear"), IMAGE),
    "scatter_elements": (
        lambda x, i, u: op.scatter_elements(x, i, u, axis=1, reduction="add"),
        X, PLACES, real(3, 2),
    ),
    "sort": (lambda x: op.sort(x, axis=1, descending=True), X),
    "split": (lambda x: op.split(x, [1, 3], axis=1), X),
    "strided_slice": (lambda x: op.strided_slice(x, [0, 1], [2, 4], [0, 0], [-1, 1]), X),
    "take": (lambda x, i: op.take(x, i, axis=1), X, PLACES),
    "topk": (lambda x: op.topk(x, k=2, axis=1), X),
    "triu": (lambda x: op.triu(x, 1), X),
    "unique": (lambda x: op.unique(x, return_inverse=True), INTEGERS),
    "where": (op.where, X > 0, X, real(1, 5)),
}  # fmt: skip


@pytest.fixture(scope="module")
def module():
    builder = relax.BlockBuilder()
    for name, (make, *arrays) in OPERATORS.items():
        params = [
            relax.Var(f"x{n}", relax.TensorStructInfo(array.shape, str(array.dtype)))
            for n, array in enumerate(arrays)
        ]
        with builder.function(f"{name}_graph", params):
            builder.emit_func_output(builder.emit(make(*params)))
    return builder.get()


@pytest.fixture(scope="module")
def machine(module):
    executable = relax.build(module, "opencl")
    assert not executable.compiled.graphs.kernels  # none has to run on the host
    return relax.VirtualMachine(executable, DEVICE)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator(module, machine, name):
    arrays = OPERATORS[name][1:]
    expected = evaluate(module, *arrays, name=f"{name}_graph")
    results = machine[f"{name}_graph"](*arrays)
    if not isinstance(expected, tuple):
        expected, results = (expected,), (results,)
    for ours, theirs in zip(results, expected, strict=True):
        assert isinstance(ours, tvm.nd.NDArray)
        assert ours.device == DEVICE
        assert str(ours.dtype) == str(theirs.dtype)
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-4, atol=1e-5)
