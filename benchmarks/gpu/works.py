"""What is measured on devices: programs, what they compute in numpy, and in torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tilewright import te, topi

Compute = Callable[..., te.Tensor]
ERRORS = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 3e-2}
"""The largest difference that is right, relative to the largest element of the reference."""


class Work(NamedTuple):
    """One work.

    Attributes:
        name: with its sizes.
        dtype: of inputs and result.
        shapes: of the inputs.
        compute: the result as a tensor, given the inputs.
        reference: the result as a numpy array, given arrays of float64.
        torch: the result, given torch and its tensors.
        flop: floating-point operations of one run.
        aim: the time of torch over ours, at least.
        is_product: whether tensor cores can do nearly all of it.
    """

    name: str
    dtype: str
    shapes: tuple[tuple[int, ...], ...]
    compute: Compute
    reference: Callable[..., np.ndarray]
    torch: Callable[..., Any]
    flop: float
    aim: float = 1.0
    is_product: bool = False

    def tensors(self) -> list[te.Tensor]:
        """The inputs and the result."""
        inputs = [
            te.placeholder(shape, self.dtype, name=f"input{number}")
            for number, shape in enumerate(self.shapes)
        ]
        return [*inputs, self.compute(*inputs)]

    @property
    def bytes(self) -> int:
        """Bytes that have to be read and written."""
        size = 4 if self.dtype == "float32" else 2
        result = [int(n) for n in self.tensors()[-1].shape]
        return size * sum(math.prod(shape) for shape in (*self.shapes, result))


class Sizes(NamedTuple):
    """How large works are.

    Attributes:
        square: sizes of square products.
        batched: batch, rows, columns and length of the sums of batched products.
        convolution: batch, channels, height and width, and kernels.
        rows: rows and columns of what is done to rows.
        attention: batch times heads, sequence, and the size of a head.
    """

    square: tuple[int, ...]
    batched: tuple[int, int, int, int]
    convolution: tuple[int, int, int, int]
    rows: tuple[int, int]
    attention: tuple[int, int, int]


ON_A_GPU = Sizes(
    (1024, 4096), (64, 512, 512, 256), (16, 128, 56, 128), (8192, 4096), (64, 1024, 64)
)
WITHOUT_ONE = Sizes((64,), (2, 32, 32, 32), (1, 8, 14, 16), (64, 256), (2, 32, 16))
TINY = Sizes((16,), (2, 8, 8, 8), (1, 2, 6, 4), (8, 64), (1, 8, 4))
"""For tests."""


def works(sizes: Sizes, half: bool) -> list[Work]:
    """All works of these sizes.

    Args:
        sizes: of the inputs.
        half: whether products are measured in float16 and bfloat16, too.
    """
    dtypes = ("float16", "bfloat16", "float32") if half else ("float32",)
    found = [_matmul(n, dtype) for n in sizes.square for dtype in dtypes]
    found += [_batched(*sizes.batched, dtype) for dtype in dtypes]
    found += [_convolution(*sizes.convolution, dtype) for dtype in dtypes]
    return [*found, *_rows(*sizes.rows), _attention(*sizes.attention, dtypes[0])]


def _accumulated(dtype: str, value: te.Tensor) -> te.Tensor:
    """Sums of float32 as the elements of a result."""
    return value if dtype == "float32" else topi.cast(value, dtype)


def _wide(x: Any) -> Any:
    return x.astype("float32")


def _matmul(n: int, dtype: str) -> Work:
    def compute(a: te.Tensor, b: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, n), name="k")
        product = te.compute(
            (n, n), lambda i, j: te.sum(_wide(a[i, k]) * _wide(b[k, j]), axis=k), name="product"
        )
        return _accumulated(dtype, product)

    return Work(
        f"matmul {n}x{n}x{n} {dtype}", dtype, ((n, n), (n, n)), compute, np.matmul,
        lambda torch, a, b: torch.matmul(a, b), 2.0 * n**3, 0.9, True,
    )  # fmt: skip


def _batched(batch: int, m: int, n: int, length: int, dtype: str) -> Work:
    def compute(a: te.Tensor, b: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, length), name="k")
        product = te.compute(
            (batch, m, n),
            lambda s, i, j: te.sum(_wide(a[s, i, k]) * _wide(b[s, k, j]), axis=k),
            name="product",
        )
        return _accumulated(dtype, product)

    return Work(
        f"batched matmul {batch}x{m}x{n}x{length} {dtype}", dtype,
        ((batch, m, length), (batch, length, n)), compute, np.matmul,
        lambda torch, a, b: torch.bmm(a, b), 2.0 * batch * m * n * length, 0.9, True,
    )  # fmt: skip


def _convolution(batch: int, channels: int, size: int, kernels: int, dtype: str) -> Work:
    def compute(data: te.Tensor, weight: te.Tensor) -> te.Tensor:
        result = topi.nn.conv2d_nchw(data, weight, 1, 1, 1, out_dtype="float32")
        return _accumulated(dtype, result)

    def reference(data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        return np.einsum("nchwyx,kcyx->nkhw", windows, weight, optimize=True)

    return Work(
        f"conv2d 3x3 {batch}x{channels}x{size}x{size}, {kernels} kernels {dtype}", dtype,
        ((batch, channels, size, size), (kernels, channels, 3, 3)), compute, reference,
        lambda torch, x, w: torch.nn.functional.conv2d(x, w, padding=1),
        2.0 * 9 * batch * channels * kernels * size**2, 1.0, True,
    )  # fmt: skip


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _layer_norm(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def _rows(m: int, n: int) -> list[Work]:
    """What is done to the rows and columns of a matrix of float32."""

    def work(
        name: str, compute: Compute, reference: Any, torch: Any, flop: float,
        *more: tuple[int, ...],
    ) -> Work:  # fmt: skip
        shapes = ((m, n), *more)
        return Work(f"{name} {m}x{n} float32", "float32", shapes, compute, reference, torch,
                    flop * m * n)  # fmt: skip

    return [
        work("softmax", topi.nn.softmax, _softmax, lambda torch, x: torch.softmax(x, -1), 4),
        work("layer norm", lambda x, s, b: topi.nn.layer_norm(x, s, b, [1]), _layer_norm,
             lambda torch, x, s, b: torch.nn.functional.layer_norm(x, (n,), s, b), 8, (n,), (n,)),
        work("transposition", topi.transpose, np.transpose,
             lambda torch, x: x.t().contiguous(), 0),
        work("sum of rows", lambda x: topi.sum(x, 1), lambda x: x.sum(1),
             lambda torch, x: x.sum(1), 1),
        work("sum of columns", lambda x: topi.sum(x, 0), lambda x: x.sum(0),
             lambda torch, x: x.sum(0), 1),
        work("sum of all", lambda x: topi.sum(x, keepdims=True), lambda x: x.sum(keepdims=True),
             lambda torch, x: x.sum((0, 1), keepdim=True), 1),
    ]  # fmt: skip


def _attention(batch: int, sequence: int, size: int, dtype: str) -> Work:
    factor = 1 / math.sqrt(size)

    def compute(q: te.Tensor, k: te.Tensor, v: te.Tensor) -> te.Tensor:
        along, keys = te.reduce_axis((0, size), name="d"), te.reduce_axis((0, sequence), name="t")
        scores = te.compute(
            (batch, sequence, sequence),
            lambda b, i, j: te.sum(_wide(q[b, i, along]) * _wide(k[b, j, along]), axis=along),
            name="scores",
        )
        scaled = te.compute(scores.shape, lambda *i: scores(*i) * np.float32(factor), name="scaled")
        weights = _accumulated(dtype, topi.nn.softmax(scaled))
        result = te.compute(
            (batch, sequence, size),
            lambda b, i, j: te.sum(_wide(weights[b, i, keys]) * _wide(v[b, keys, j]), axis=keys),
            name="result",
        )
        return _accumulated(dtype, result)

    def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        return _softmax(q @ k.swapaxes(1, 2) * factor) @ v

    return Work(
        f"attention {batch}x{sequence}x{size} {dtype}", dtype, ((batch, sequence, size),) * 3,
        compute, reference,
        lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v),
        4.0 * batch * sequence**2 * size, 1.0, True,
    )  # fmt: skip


def chosen(found: Sequence[Work], parts: Sequence[str]) -> list[Work]:
    """The works whose names have one of these parts; all if there are none."""
    return [w for w in found if not parts or any(part in w.name for part in parts)]
