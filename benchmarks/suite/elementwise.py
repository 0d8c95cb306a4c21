"""Formulas of the elements of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.peers import numpy_peer, onnx_peer, torch_peers
from benchmarks.suite.work import Work
from tilewright import te, tir
from tilewright.target import Target
from tilewright.tir import PrimFunc

SIZE = 1 << 20
GELU_SCALE = math.sqrt(2 / math.pi)


def program(formula: Callable[..., Any], count: int) -> PrimFunc:
    """Y[i] = formula(X0[i], X1[i], ...) of `count` arrays."""
    inputs = [te.placeholder((SIZE,), name=f"X{position}") for position in range(count)]
    Y = te.compute((SIZE,), lambda i: formula(*(X[i] for X in inputs)), name="Y")
    return te.create_prim_func([*inputs, Y])


def vectors(sch: tir.Schedule, target: Target) -> None:
    """Four vectors at a time, so that their chains of operations overlap; pieces for the cores."""
    (i,) = sch.get_loops("Y")
    piece, i, part, lane = sch.split(i, [target.num_cores, None, 4, target.vector_bits // 32])
    sch.vectorize(lane)
    sch.unroll(part)
    if target.num_cores > 1:
        sch.parallel(piece)


def elementwise(
    name: str,
    formula: Callable[..., Any],
    in_numpy: Callable[..., np.ndarray],
    in_torch: Callable[..., Any],
    in_onnx: Any,
    flop: int,
    count: int = 1,
) -> Work:
    """A formula of one or more arrays of 2**20 elements.

    Args:
        name: of the formula.
        formula: of scalar expressions.
        in_numpy: the same of arrays; it takes ``out=`` if it can.
        in_torch: the same of the module `torch` and tensors.
        in_onnx: what `onnx_peer` takes.
        flop: arithmetic operations of one element; a function such as exp is one.
        count: of the arrays.
    """
    return Work(
        name=f"{name} of {SIZE} elements",
        program=lambda: program(formula, count),
        schedule=vectors,
        inputs=lambda rng: [rng.standard_normal(SIZE, "float32") for _ in range(count)],
        reference=lambda *arrays: in_numpy(*arrays),
        peers={
            "numpy": numpy_peer(in_numpy),
            **torch_peers(in_torch),
            "onnxruntime": onnx_peer(in_onnx),
        },
        flop=flop * SIZE,
        bytes=4 * SIZE * (count + 1),
    )


def gelu_of(x: Any) -> Any:
    """GELU by tanh, of an expression."""
    inner = (x + x * x * x * 0.044715) * GELU_SCALE
    return x * 0.5 * (te.tanh(inner) + 1.0)


def gelu_numpy(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The same, without a new array where numpy allows that."""
    out = np.multiply(x, x, out=out)
    out *= x
    out *= x.dtype.type(0.044715)
    out += x
    out *= x.dtype.type(GELU_SCALE)
    np.tanh(out, out=out)
    out += x.dtype.type(1)
    out *= x
    out *= x.dtype.type(0.5)
    return out


def add_relu_numpy(x: np.ndarray, y: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """max(x + y, 0)"""
    out = np.add(x, y, out=out)
    return np.maximum(out, x.dtype.type(0), out=out)


def sigmoid_numpy(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """1 / (1 + exp(-x))"""
    out = np.negative(x, out=out)
    np.exp(out, out=out)
    out += x.dtype.type(1)
    return np.reciprocal(out, out=out)


def add_relu_torch(torch: Any, x: Any, y: Any, out: Any = None) -> Any:
    """Two operators, the second in place."""
    return torch.relu_(torch.add(x, y, out=out))


def add_relu_nodes(helper: Any) -> list[Any]:
    """Two nodes."""
    return [
        helper.make_node("Add", ["x0", "x1"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["y"]),
    ]


def gelu_nodes(helper: Any) -> list[Any]:
    """One node."""
    return [helper.make_node("Gelu", ["x0"], ["y"], approximate="tanh")]


WORKS = (
    elementwise(
        "gelu", gelu_of, gelu_numpy,
        lambda torch, x, out=None: torch._C._nn.gelu(x, approximate="tanh", out=out), gelu_nodes,
        flop=9,
    ),
    elementwise(
        "add and relu", lambda x, y: tir.max(x + y, 0.0),
        add_relu_numpy, add_relu_torch, add_relu_nodes, flop=2, count=2,
    ),
    elementwise(
        "exp", te.exp, np.exp, lambda torch, x, out=None: torch.exp(x, out=out), "Exp", flop=1,
    ),
    elementwise(
        "tanh", te.tanh, np.tanh, lambda torch, x, out=None: torch.tanh(x, out=out), "Tanh",
        flop=1,
    ),
    elementwise(
        "sigmoid", te.sigmoid, sigmoid_numpy,
        lambda torch, x, out=None: torch.sigmoid(x, out=out), "Sigmoid", flop=4,
    ),
)  # fmt: skip
