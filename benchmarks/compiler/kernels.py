"""Compiled kernels against numpy, with one thread each."""

from __future__ import annotations

import numpy as np

import tilewright as tvm
from benchmarks.compiler.measure import Figure, speed_ratios
from benchmarks.compiler.programs import TARGET, K, L, M, N, build, chain, product
from tilewright import te


def measure(repeat: int) -> list[Figure]:
    rng = np.random.default_rng(0)
    return [
        matmul(rng, 512, repeat),
        matmul(rng, 1024, repeat),
        two_products(rng, repeat),
        axpy(rng, repeat),
        row_sums(rng, repeat),
    ]


def matmul(rng: np.random.Generator, size: int, repeat: int) -> Figure:
    """A square product with a plain register tiling."""
    A, B = te.placeholder((size, size), name="A"), te.placeholder((size, size), name="B")
    C = product(A, B, "C")
    module = build((A, B, C), C)
    a, b = (rng.standard_normal((size, size), "float32") for _ in range(2))
    return against_numpy(
        f"matmul {size}", module, (a, b), lambda out: np.matmul(a, b, out=out), (size, size), repeat
    )


def two_products(rng: np.random.Generator, repeat: int) -> Figure:
    """exp(A @ B) @ E."""
    program = chain()
    module = build(program.arguments, *program.products)
    a, b = (rng.standard_normal(s, "float32") * np.float32(0.03) for s in ((M, K), (K, L)))
    e = rng.standard_normal((L, N), "float32")
    return against_numpy(
        "exp(A @ B) @ E", module, (a, b, e),
        lambda out: np.matmul(np.exp(np.matmul(a, b)), e, out=out), (M, N), repeat,
    )  # fmt: skip


def axpy(rng: np.random.Generator, repeat: int) -> Figure:
    """x * 2.5 + y, as written."""
    size = 1 << 16
    X, Y = te.placeholder((size,), name="X"), te.placeholder((size,), name="Y")
    Z = te.compute((size,), lambda i: X[i] * 2.5 + Y[i], name="Z")
    x, y = (rng.standard_normal(size, "float32") for _ in range(2))
    module = build((X, Y, Z))
    half = np.float32(2.5)
    return against_numpy(
        f"x * 2.5 + y, {size} elements", module, (x, y),
        lambda out: np.add(np.multiply(x, half, out=out), y, out=out), (size,), repeat, 50,
    )  # fmt: skip


def row_sums(rng: np.random.Generator, repeat: int) -> Figure:
    """Sums of rows, as written."""
    X = te.placeholder((512, 512), name="X")
    k = te.reduce_axis((0, 512), name="k")
    Y = te.compute((512,), lambda i: te.sum(X[i, k], axis=k), name="Y")
    x = rng.standard_normal((512, 512), "float32")
    return against_numpy(
        "sums of 512 rows", build((X, Y)), (x,), lambda out: np.sum(x, axis=1, out=out), (512,),
        repeat, 20,
    )  # fmt: skip


def against_numpy(
    name: str,
    module: tvm.runtime.Module,
    inputs: tuple[np.ndarray, ...],
    theirs: object,
    shape: tuple[int, ...],
    repeat: int,
    number: int = 1,
) -> Figure:
    """The ratio of speeds, after checking that the results agree."""
    ours, expected = np.zeros(shape, "float32"), np.zeros(shape, "float32")
    function = module["default_function"]
    arrays = [tvm.nd.array(x) for x in inputs]
    result = tvm.nd.array(ours)
    ratios = speed_ratios(
        lambda: function(*arrays, result),
        lambda: theirs(expected),
        repeat,
        number,  # type: ignore[operator]
    )
    error = np.abs(result.numpy() - expected).max() / np.abs(expected).max()
    if not error < 1e-4:
        raise SystemExit(f"{name}: the result is wrong by {error:.1e}")
    return Figure(name, ratios, "x", note=f"of numpy's speed, target {TARGET}")
