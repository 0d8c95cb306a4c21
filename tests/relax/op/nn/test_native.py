"""Compiled operators, by the default schedule, at sizes that no tile divides."""

import numpy as np
import pytest
from tests.relax.op.graphs import real, whole

import tilewright
from tilewright import relax
from tilewright.ir import Var as Size
from tilewright.relax import op
from tilewright.relax.block_builder import BlockBuilder
from tilewright.topi import testing

X, W = whole(1, 5, 17, 19), whole(21, 5, 3, 3, seed=1)
A, B = whole(37, 29), whole(23, 29, seed=1)

CASES = {
    "conv2d": (
        lambda x, w: op.nn.conv2d(x, w, 1, 1), [X, W], testing.conv2d_nchw_python(X, W, 1, 1)
    ),
    "strided": (lambda x, w: op.nn.conv2d(x, w, 2), [X, W], testing.conv2d_nchw_python(X, W, 2, 0)),
    "transposed": (
        lambda x, w: op.nn.conv2d_transpose(x, w, 2, 1),
        [X[:, :, :6, :7].copy(), W[:5].copy()],
        testing.conv2d_transpose_nchw_python(X[:, :, :6, :7], W[:5], 2, 1),
    ),
    "linear": (op.linear, [A, B], A @ B.T),
    "max_pool2d": (
        lambda x: op.nn.max_pool2d(x, 3, 2, 1), [X],
        testing.poolnd_python(X, (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), "max"),
    ),
    "avg_pool2d": (
        lambda x: op.nn.avg_pool2d(x, (2, 3), 2, 1, 1, True), [X],
        testing.poolnd_python(X, (2, 3), (2, 2), (1, 1), (1, 1), (1, 1), "avg", False, True),
    ),
    "softmax": (op.nn.softmax, [A], testing.softmax_python(A)),
    "layer_norm": (
        lambda x, g, b: op.nn.layer_norm(x, g, b, -1), [A, A[0], A[1]],
        testing.layer_norm_python(A, A[0], A[1], -1),
    ),
    "sort": (op.sort, [A], np.sort(A)),
}  # fmt: skip


def compiled(function, arrays, *, symbolic):
    """The result of a compiled operator; `symbolic` leaves the first extent open."""
    params = []
    for n, array in enumerate(arrays):
        shape = [Size("n", "int64") if symbolic and n == 0 else array.shape[0], *array.shape[1:]]
        params.append(relax.Var(f"x{n}", relax.TensorStructInfo(shape, str(array.dtype))))
    builder = BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(function(*params))
        builder.emit_func_output(result)
    machine = relax.VirtualMachine(relax.build(builder.get(), target="llvm"), tilewright.cpu())
    return machine["main"](*arrays).numpy()


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("name", list(CASES))
def test_compiled_operators(name, symbolic):
    function, arrays, expected = CASES[name]
    result = compiled(function, arrays, symbolic=symbolic)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_half_precision_compiled():
    x, w = real(1, 32, 9, 9, dtype="float16"), real(17, 32, 3, 3, dtype="float16", seed=1)
    exact = testing.conv2d_nchw_python(x.astype("float32"), w.astype("float32"), 1, 1)
    result = compiled(lambda a, b: op.nn.conv2d(a, b, 1, 1), [x, w], symbolic=False)
    np.testing.assert_allclose(result, exact, rtol=2e-3, atol=2e-2)
