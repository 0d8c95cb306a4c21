"""Mathematical functions on vectors, per element, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tilewright as tvm
from benchmarks.compiler.measure import Figure, scaled, seconds, speed_ratios
from benchmarks.compiler.programs import build
from tilewright import te

SIZE = 1 << 14
NUMPY = {
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt,
    "atan": np.arctan, "sigmoid": lambda x, out: np.divide(1, 1 + np.exp(-x), out=out),
    "erf": None, "rsqrt": None,
}  # fmt: skip
"""What each function is in numpy, if it is there."""


def measure(repeat: int) -> list[Figure]:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 10, SIZE).astype("float32")
    rows = []
    for name, theirs in NUMPY.items():
        rows += figures(name, build(elementwise(getattr(te, name))), x, theirs, repeat)
    return rows


def elementwise(formula: Callable[[object], object]) -> tuple[te.Tensor, te.Tensor]:
    """A vector, and `formula` of its elements."""
    X = te.placeholder((SIZE,), name="X")
    return X, te.compute((SIZE,), lambda i: formula(X[i]), name="Y")


def figures(
    name: str, module: tvm.runtime.Module, x: np.ndarray, theirs: object, repeat: int
) -> list[Figure]:
    """Time per element, and the ratio to numpy."""
    function = module["default_function"]
    a, b = tvm.nd.array(x), tvm.nd.empty(x.shape, "float32")
    out = np.empty_like(x)

    def ours() -> None:
        function(a, b)

    rows = [Figure(name, scaled(seconds(ours, repeat, 50), 1e9 / SIZE), "ns/element")]
    if theirs is not None:
        ratios = speed_ratios(ours, lambda: theirs(x, out=out), repeat, 50)  # type: ignore[operator]
        rows.append(Figure(f"{name} against numpy", ratios, "x"))
    return rows
