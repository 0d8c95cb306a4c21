"""Which operators take longest to compile with their default schedule, in odd shapes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

import tilewright as tvm
from benchmarks.compiler.measure import Figure
from benchmarks.compiler.programs import TARGET
from tilewright import te, topi

AIM_SECONDS: Final = 2.0
SHOWN: Final = 5

Operator = Callable[..., object]
Case = tuple[str, Operator, Sequence[tuple[int, ...]]]

IMAGES: Final = ((1, 3, 37, 41), (2, 17, 13, 11), (1, 64, 7, 7), (1, 5, 1, 129))
MATRICES: Final = ((1, 1), (3, 1021), (127, 129), (7, 1, 5, 3), (1000, 2), (2, 3, 5, 7, 11))


def cases() -> list[Case]:
    """Operators with the shapes of their operands."""
    found: list[Case] = []
    of_one = ("exp", "tanh", "erf", "sigmoid", "floor", "sqrt", "log", "abs", "sign")
    found += [(name, getattr(topi, name), [shape]) for name in of_one for shape in MATRICES]
    for name in ("sum", "max", "argmax", "prod"):
        for shape in MATRICES:
            for axis in range(len(shape)):
                found.append((name, _along(getattr(topi, name), axis), [shape]))
    for shape in MATRICES:
        last = len(shape) - 1
        for name in ("softmax", "log_softmax"):
            found.append((name, _along(getattr(topi.nn, name), last), [shape]))
        found += [
            ("cumsum", _along(topi.cumsum, last), [shape]),
            ("sort", _along(topi.sort, last), [shape]),
            ("argsort", _along(topi.argsort, last), [shape]),
            ("transpose", topi.transpose, [shape]),
        ]
    for sizes in ((1, 3, 5), (17, 19, 23), (1, 1021, 1019), (1023, 1021, 1019), (129, 2, 3)):
        m, k, n = sizes
        found.append(("matmul", topi.matmul, [(m, k), (k, n)]))
        found.append(("dense", topi.nn.dense, [(m, k), (n, k)]))
        found.append(("batch_matmul", topi.nn.batch_matmul, [(3, m, k), (3, n, k)]))
    for shape in IMAGES:
        channels = shape[1]
        for kernel in (1, 3, 5):
            for stride in (1, 2):
                for dilation in (1, 2):
                    convolution = _convolution(stride, kernel // 2 * dilation, dilation)
                    found.append(("conv2d", convolution, [shape, (19, channels, kernel, kernel)]))
        found += [
            ("resize", lambda x: topi.image.resize2d(x, (0.0,) * 4, (23, 29)), [shape]),
            (
                "depthwise_conv2d",
                lambda x, w: topi.nn.depthwise_conv2d_nchw(x, w, 1, 1, 1),
                [shape, (channels, 1, 3, 3)],
            ),
            (
                "conv2d_transpose",
                lambda x, w: topi.nn.conv2d_transpose_nchw(x, w, 2, 1, x.dtype, 1),
                [shape, (channels, 19, 3, 3)],
            ),
            (
                "max_pool2d",
                lambda x: topi.nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max"),
                [shape],
            ),
            ("grid_sample", topi.image.grid_sample, [shape, (shape[0], 2, 11, 13)]),
            (
                "roi_align",
                lambda x, r: topi.vision.roi_align_nchw(x, r, (7, 5), 0.25),
                [shape, (9, 5)],
            ),
            ("adaptive_pool", lambda x: topi.nn.adaptive_pool(x, (5, 3), "avg"), [shape]),
        ]
    for kernel in (1, 3):
        convolution = _convolution3d(kernel // 2)
        found.append(("conv3d", convolution, [(1, 3, 5, 9, 11), (7, 3, kernel, kernel, kernel)]))
    return found


def _along(operator: Operator, axis: int) -> Operator:
    return lambda x: operator(x, axis=axis)


def _convolution(stride: int, padding: int, dilation: int) -> Operator:
    return lambda x, w: topi.nn.conv2d(x, w, stride, padding, dilation)


def _convolution3d(padding: int) -> Operator:
    return lambda x, w: topi.nn.conv3d_ncdhw(x, w, 1, padding, 1)


def measure(repeat: int) -> list[Figure]:
    """The operators that take longest, each in a shape; every one is compiled once."""
    del repeat
    seconds: list[tuple[float, str]] = []
    for name, operator, shapes in cases():
        operands = [te.placeholder(shape, name=f"x{n}") for n, shape in enumerate(shapes)]
        function = te.create_prim_func([*operands, operator(*operands)])
        start = time.process_time()
        tvm.build(function, target=TARGET)["main"]
        text = ", ".join("x".join(map(str, shape)) for shape in shapes)
        seconds.append((time.process_time() - start, f"{name} of {text}"))
    seconds.sort(reverse=True)
    return [Figure(f"compiling {name}", [found], "s", AIM_SECONDS)
            for found, name in seconds[:SHOWN]]  # fmt: skip
