"""Functions of the rows and of the elements of a matrix: softmax, layer_norm and GELU."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.peers import numpy_peer, onnx_peer, torch_peers
from benchmarks.suite.work import Work
from tilewright import te, tir
from tilewright.target import Target
from tilewright.tir import PrimFunc

M, N = 1024, 1024
EPSILON = 1e-5


def softmax(m: int, n: int) -> PrimFunc:
    """Softmax of each row as a program."""
    return te.create_prim_func(softmax_tensors(m, n))


def softmax_tensors(m: int, n: int) -> list[te.Tensor]:
    """exp(x - max(x)) / sum(exp(x - max(x))) of each row: X and the result.

    As `topi.nn.softmax`, which models run, and the peers: one division for each row.
    """
    X = te.placeholder((m, n), name="X")
    k, r = te.reduce_axis((0, n), name="k"), te.reduce_axis((0, n), name="r")
    largest = te.compute((m,), lambda i: te.max(X[i, k], axis=k), name="largest")
    E = te.compute((m, n), lambda i, j: te.exp(X[i, j] - largest[i]), name="E")
    total = te.compute((m,), lambda i: te.sum(E[i, r], axis=r), name="total")
    factor = te.compute((m,), lambda i: 1.0 / total[i], name="factor")
    Y = te.compute((m, n), lambda i, j: E[i, j] * factor[i], name="Y")
    return [X, Y]


def layer_norm(m: int, n: int) -> PrimFunc:
    """(x - mean(x)) / sqrt(variance(x) + epsilon) * gamma + beta of each row."""
    X = te.placeholder((m, n), name="X")
    gamma, beta = te.placeholder((n,), name="gamma"), te.placeholder((n,), name="beta")
    k, r = te.reduce_axis((0, n), name="k"), te.reduce_axis((0, n), name="r")
    total = te.compute((m,), lambda i: te.sum(X[i, k], axis=k), name="total")
    mean = te.compute((m,), lambda i: total[i] * (1.0 / n), name="mean")

    def square(x: Any) -> Any:
        return x * x

    squares = te.compute((m,), lambda i: te.sum(square(X[i, r] - mean[i]), axis=r), name="squares")
    scale = te.compute((m,), lambda i: te.rsqrt(squares[i] * (1.0 / n) + EPSILON), name="scale")

    def normalised(i: Any, j: Any) -> Any:
        return (X[i, j] - mean[i]) * scale[i] * gamma[j] + beta[j]

    Y = te.compute((m, n), normalised, name="Y")
    return te.create_prim_func([X, gamma, beta, Y])


def gelu(m: int, n: int) -> PrimFunc:
    """x / 2 * (1 + erf(x / sqrt(2))) of each element."""
    X = te.placeholder((m, n), name="X")

    def formula(x: Any) -> Any:
        return x * 0.5 * (1.0 + te.erf(x * math.sqrt(0.5)))

    return te.create_prim_func([X, te.compute((m, n), lambda *p: formula(X(*p)), name="Y")])


def gelu_tanh(m: int, n: int) -> PrimFunc:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x**3))) of each element."""
    X = te.placeholder((m, n), name="X")

    def formula(x: Any) -> Any:
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
        return x * 0.5 * (1.0 + te.tanh(inner))

    return te.create_prim_func([X, te.compute((m, n), lambda *p: formula(X(*p)), name="Y")])


def row_by_row(sch: tir.Schedule, target: Target) -> None:
    """All steps of a row follow each other while it is in the first-level cache."""
    lanes = target.vector_bits // 32
    *producers, last = sch.get_child_blocks(sch.get_block("root"))
    row = sch.get_loops(last)[0]
    for block in reversed(producers):
        sch.compute_at(block, row)
    for block in (*producers, last):
        for column in sch.get_loops(block)[1:]:
            _, inner = sch.split(column, [None, 4 * lanes])
            sch.vectorize(inner)


def element_by_element(sch: tir.Schedule, target: Target) -> None:
    """The matrix as one long vector."""
    i, j = sch.get_loops("Y")
    _, inner = sch.split(sch.fuse(i, j), [None, 4 * target.vector_bits // 32])
    sch.vectorize(inner)


def softmax_in_numpy(x: np.ndarray) -> np.ndarray:
    """The program in numpy."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm_in_numpy(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The program in numpy."""
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(EPSILON)) * gamma + beta


def gelu_exactly(x: np.ndarray) -> np.ndarray:
    """GELU by the error function of the C library."""
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh_in_numpy(x: np.ndarray) -> np.ndarray:
    """The program in numpy."""
    root, half = np.float32(math.sqrt(2 / math.pi)), np.float32(0.5)
    return x * half * (1 + np.tanh(root * (x + np.float32(0.044715) * x * x * x)))


def _torch_softmax(torch: Any, x: Any, out: Any = None) -> Any:
    return torch.softmax(x, 1, out=out)


def _torch_layer_norm(torch: Any, x: Any, gamma: Any, beta: Any) -> Any:
    return torch.nn.functional.layer_norm(x, x.shape[1:], gamma, beta, EPSILON)


def _torch_gelu(torch: Any, x: Any) -> Any:
    return torch.nn.functional.gelu(x)


def _torch_gelu_tanh(torch: Any, x: Any) -> Any:
    return torch.nn.functional.gelu(x, approximate="tanh")


def _matrix(rng: np.random.Generator, m: int = M, n: int = N) -> list[np.ndarray]:
    return [rng.standard_normal((m, n), "float32")]


def _matrix_and_rows(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.standard_normal(shape, "float32") for shape in ((M, N), (N,), (N,))]


def softmax_work(m: int, n: int) -> Work:
    """Softmax of the rows of an m x n matrix."""
    return Work(
        f"softmax {m}x{n}", lambda: softmax(m, n), row_by_row, partial(_matrix, m=m, n=n),
        softmax_in_numpy,
        {
            "numpy": numpy_peer(softmax_in_numpy),
            **torch_peers(_torch_softmax),
            "onnxruntime": onnx_peer("Softmax", axis=1),
        },
        bytes=8 * m * n, tuned_aim=1.0,
    )  # fmt: skip


WORKS = (
    softmax_work(M, N),
    Work(
        f"layer_norm {M}x{N}", lambda: layer_norm(M, N), row_by_row, _matrix_and_rows,
        layer_norm_in_numpy,
        {
            "numpy": numpy_peer(layer_norm_in_numpy),
            **torch_peers(_torch_layer_norm),
            "onnxruntime": onnx_peer("LayerNormalization", axis=1, epsilon=EPSILON),
        },
        bytes=8 * M * N, tuned_aim=1.0,
    ),
    Work(
        f"gelu {M}x{N}", lambda: gelu(M, N), element_by_element, _matrix, gelu_exactly,
        {**torch_peers(_torch_gelu), "onnxruntime": onnx_peer("Gelu")},
        bytes=8 * M * N, against=("torch",),
    ),
    Work(
        f"gelu tanh {M}x{N}", lambda: gelu_tanh(M, N), element_by_element, _matrix,
        gelu_tanh_in_numpy,
        {
            "numpy": numpy_peer(gelu_tanh_in_numpy),
            **torch_peers(_torch_gelu_tanh),
            "onnxruntime": onnx_peer("Gelu", approximate="tanh"),
        },
        bytes=8 * M * N,
    ),
)  # fmt: skip
