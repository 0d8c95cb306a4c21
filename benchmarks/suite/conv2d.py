"""Convolutions of images, in the layouts NCHW and OIHW."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.peers import onnx_peer, torch_peers
from benchmarks.suite.work import Work
from tilewright import te, tir
from tilewright.ir import const
from tilewright.target import Target
from tilewright.te import Tensor
from tilewright.tir import PrimFunc

ZERO = const(0, "float32")


def padded(X: Tensor, pad: int) -> Tensor:
    """X with zeros around each image."""
    if not pad:
        return X
    n, c, h, w = X.shape

    def element(i: Any, j: Any, y: Any, x: Any) -> Any:
        inside = te.all(y >= pad, y < h + pad, x >= pad, x < w + pad)
        return te.if_then_else(inside, X[i, j, y - pad, x - pad], 0.0)

    return te.compute((n, c, h + 2 * pad, w + 2 * pad), element, name="padded")


def conv2d(*sizes: int, **options: Any) -> PrimFunc:
    """A convolution of one image as a program; the arguments are those of `tensors`."""
    return te.create_prim_func(tensors(*sizes, **options))


def tensors(
    channels: int, height: int, width: int, filters: int, window: int, *,
    pad: int = 0, stride: int = 1, dilation: int = 1, bias_and_relu: bool = False,
) -> list[Tensor]:  # fmt: skip
    """A convolution of one image, with a bias and the maximum with 0 if asked for."""
    X = te.placeholder((1, channels, height, width), name="X")
    W = te.placeholder((filters, channels, window, window), name="W")
    bias = te.placeholder((filters,), name="bias")
    P = padded(X, pad)
    reach = dilation * (window - 1) + 1
    shape = tuple((size + 2 * pad - reach) // stride + 1 for size in (height, width))
    c = te.reduce_axis((0, channels), "c")
    ky, kx = te.reduce_axis((0, window), "ky"), te.reduce_axis((0, window), "kx")

    def element(n: Any, o: Any, y: Any, x: Any) -> Any:
        place = P[n, c, y * stride + ky * dilation, x * stride + kx * dilation]
        return te.sum(place * W[o, c, ky, kx], axis=[c, ky, kx])

    Y = te.compute((1, filters, *shape), element, name="conv")
    if not bias_and_relu:
        return [X, W, Y]
    Z = te.compute(Y.shape, lambda n, o, y, x: tir.max(Y[n, o, y, x] + bias[o], ZERO), name="relu")
    return [X, W, bias, Z]


def depthwise(channels: int, height: int, width: int, window: int, *, pad: int = 0) -> PrimFunc:
    """A convolution of each channel of one image with a window of its own."""
    X = te.placeholder((1, channels, height, width), name="X")
    W = te.placeholder((channels, 1, window, window), name="W")
    P = padded(X, pad)
    shape = (1, channels, *(size + 2 * pad - window + 1 for size in (height, width)))
    ky, kx = te.reduce_axis((0, window), "ky"), te.reduce_axis((0, window), "kx")
    Y = te.compute(
        shape,
        lambda n, c, y, x: te.sum(P[n, c, y + ky, x + kx] * W[c, 0, ky, kx], axis=[ky, kx]),
        name="conv",
    )
    return te.create_prim_func([X, W, Y])


def extents(sch: tir.Schedule, block: Any) -> list[int]:
    """The numbers of iterations of the loops around a block."""
    return [int(sch.get(loop).extent) for loop in sch.get_loops(block)]


def small_image(sch: tir.Schedule, target: Target) -> None:
    """A product of matrices, as images of few pixels need: filters times windows of the image.

    The windows are laid out once as a matrix with a column for each pixel. Its rows come as vectors
    and the filters, which are in no other layout than the caller's, as scalars. What is left of the
    pixels after full vectors are sums of products along the filters.
    """
    lanes = target.vector_bits // 32
    conv = sch.get_block("conv")
    _, _, height, width, _, ky, kx = extents(sch, conv)
    pixels = height * width
    vectors = max(pixels // lanes, 1)
    whole = min(vectors * lanes, pixels)
    steps = extents(sch, conv)[4] * ky * kx
    matrix = sch.reindex(conv, ("read", 0))
    sch.transform_layout(
        matrix, ("write", 0), lambda n, y, x, c, i, j: ((c * ky + i) * kx + j, y * width + x)
    )
    sch.transform_layout(
        matrix,
        ("write", 0),
        lambda k, p: tir.Select(p < whole, k * whole + p, steps * p + k),
        assume_injective_transform=True,
    )
    n, y, x, c, i, j = sch.get_loops(matrix)
    sch.reorder(c, i, j, n, y, x)
    for padding in sch.get_producers(matrix):
        sch.compute_at(padding, c)
    if 0 < whole // width < height:
        full, last = sch.loop_partition(y, [whole // width])
        if whole % width:
            rest = sch.get_child_blocks(last)[0]
            sch.loop_partition(sch.get_loops(rest)[-1], [whole % width])
        x = sch.get_loops(sch.get_child_blocks(full)[0])[-1]
        sch.vectorize(x)

    sch.transform_block_layout(
        conv, lambda n, o, y, x, c, i, j: (o, y * width + x, (c * ky + i) * kx + j)
    )
    o, p, k = sch.get_loops(conv)
    rows = (target.vector_registers - 4) // vectors
    o0, o1 = sch.split(o, [None, 1 << max(rows, 1).bit_length() - 1])
    k0, k1 = sch.split(k, [None, 128])
    sch.reorder(o0, k0, p, o1, k1)
    for consumer in sch.get_consumers(conv):
        sch.reverse_compute_at(consumer, o0)
    parts = [p] if whole == pixels else sch.loop_partition(p, [whole])
    blocks = [sch.get_child_blocks(part)[0] for part in parts]
    p, o1, k1 = sch.get_loops(blocks[0])[-3:]
    k1, k2 = sch.split(k1, [None, 4])
    sch.reorder(k1, k2, o1, p)
    sch.unroll(k2)
    sch.unroll(o1)
    sch.vectorize(p)
    for rest in blocks[1:]:
        p, o1, k1 = sch.get_loops(rest)[-3:]
        k1, k2 = sch.split(k1, [None, 2 * lanes])
        sch.reorder(p, k1, o1, k2)
        sch.unroll(o1)
        sch.vectorize(k2)


def filters_as_lanes(sch: tir.Schedule, target: Target) -> None:
    """A tile of pixels of a row, by two vectors of filters, stays in registers.

    The filters are brought into panels of two vectors, and the rows of all channels of the padded
    image next to each other, as the window walks over them. A tile is transposed as it leaves.
    """
    lanes = target.vector_bits // 32
    conv = sch.get_block("conv")
    for padding in sch.get_producers(conv):
        sch.transform_layout(padding, ("write", 0), lambda n, c, y, x: (n, y, c, x))
    panels = sch.reindex(conv, ("read", 1))
    panel = 2 * lanes
    sch.transform_layout(
        panels, ("write", 0), lambda o, c, i, j: (o // panel, i, c, j, o % panel), pad_value=0.0
    )
    tile = sch.reindex(conv, ("write", 0))
    sch.transform_layout(
        tile, ("read", 0), lambda n, o, y, x: (n, o // panel, y, x, o % panel), pad_value=0.0
    )
    o, c, i, j = sch.get_loops(panels)
    o0, o1 = sch.split(o, [None, panel])
    r0, r1 = sch.split(sch.fuse(c, i, j), [None, lanes])
    sch.reorder(o0, r0, r1, o1)
    sch.unroll(r1)
    sch.vectorize(o1)
    n, o, y, x, c, i, j = sch.get_loops(conv)
    o0, o1 = sch.split(o, [None, panel])
    width = extents(sch, conv)[4]
    most = target.vector_registers // 2 - 2
    x0, x1 = sch.split(x, [None, -(-width // -(-width // most))])
    sch.reorder(n, y, x0, o0, i, c, j, x1, o1)
    sch.unroll(j)
    sch.unroll(x1)
    sch.vectorize(o1)
    sch.reverse_compute_at(tile, o0)
    o, x = sch.get_loops(tile)[-2:]
    o0, o1 = sch.split(o, [None, lanes])
    sch.unroll(o1)
    sch.vectorize(x)


def pixels_as_lanes(sch: tir.Schedule, target: Target) -> None:
    """For windows of one pixel: a product of matrices, filters times the image as it is.

    A tile of filters by four vectors of pixels stays in registers. The image is in another cache
    line and page from one channel to the next, so it is asked for eight channels ahead.
    """
    lanes = target.vector_bits // 32
    conv = sch.get_block("conv")
    width = extents(sch, conv)[3]
    sch.transform_block_layout(conv, lambda n, o, y, x, c, i, j: (o, y * width + x, c))
    o, p, c = sch.get_loops(conv)
    p0, p1, p2 = sch.split(p, [None, 4, lanes])
    o0, o1 = sch.split(o, [None, (target.vector_registers - 8) // 4])
    c0, c1 = sch.split(c, [None, 2])
    sch.reorder(p0, o0, c0, c1, o1, p1, p2)
    sch.annotate(c0, "software_prefetch", {"X": 4})
    for loop in (c1, o1, p1):
        sch.unroll(loop)
    sch.vectorize(p2)


def bands(sch: tir.Schedule, target: Target) -> None:
    """Bands of four rows of a channel, which are padded just before they are read."""
    conv = sch.get_block("conv")
    n, c, y, x, i, j = sch.get_loops(conv)
    y0, y1 = sch.split(y, [None, 4])
    sch.reorder(n, c, y0, i, j, y1, x)
    for padding in sch.get_producers(conv):
        sch.compute_at(padding, y0)
        sch.vectorize(sch.get_loops(padding)[-1])
    sch.unroll(i)
    sch.unroll(j)
    sch.unroll(y1)
    sch.vectorize(x)


def torch_conv2d(torch: Any, *inputs: Any, pad: int, groups: int, bias_and_relu: bool) -> Any:
    """What torch does."""
    result = torch.nn.functional.conv2d(*inputs, padding=pad, groups=groups)
    return torch.relu(result) if bias_and_relu else result


def onnx_conv2d(helper: Any, count: int, pad: int, groups: int, relu: bool) -> list[Any]:
    """The nodes of the model."""
    names = [f"x{position}" for position in range(count)]
    conv = helper.make_node("Conv", names, ["c" if relu else "y"], pads=[pad] * 4, group=groups)
    return [conv, helper.make_node("Relu", ["c"], ["y"])] if relu else [conv]


def reference(
    X: np.ndarray, W: np.ndarray, *bias: np.ndarray, pad: int, depthwise: bool
) -> np.ndarray:
    """A convolution with a stride of 1, and with a bias the maximum with 0."""
    P = np.pad(X, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(P, W.shape[2:], (2, 3))
    if depthwise:
        return np.einsum("ncyxij,cij->ncyx", windows, W[:, 0], optimize=True)
    result = np.einsum("ncyxij,ocij->noyx", windows, W, optimize=True)
    return np.maximum(result + bias[0][:, None, None], 0) if bias else result


def work(
    name: str, program: Callable[[], PrimFunc], schedule: Callable[[tir.Schedule, Target], None],
    image: tuple[int, ...], filters: tuple[int, ...], *, pad: int = 0, bias_and_relu: bool = False,
    aim: float = 1.0, tuned_aim: float = 0,
) -> Work:  # fmt: skip
    """A convolution of one image; torch and onnxruntime get the filters as they are."""
    groups = image[1] // filters[1]
    count = 3 if bias_and_relu else 2
    outputs = filters[0] * np.prod([size + 2 * pad - filters[2] + 1 for size in image[2:]])
    sizes = ((1, *image[1:]), filters, (filters[0],))[:count]
    return Work(
        name=name,
        program=program,
        schedule=schedule,
        inputs=lambda rng: [rng.standard_normal(size, "float32") for size in sizes],
        reference=partial(reference, pad=pad, depthwise=groups > 1),
        peers={
            **torch_peers(
                partial(torch_conv2d, pad=pad, groups=groups, bias_and_relu=bias_and_relu)
            ),
            "onnxruntime": onnx_peer(
                lambda helper: onnx_conv2d(helper, count, pad, groups, bias_and_relu)
            ),
        },
        flop=float(2 * outputs * np.prod(filters[1:])),
        bytes=float(4 * (sum(np.prod(size) for size in sizes) + outputs)),
        aim=aim,
        tuned_aim=tuned_aim,
        against=("torch",),
    )


def bias_and_relu_work(channels: int, size: int, filters: int) -> Work:
    """A convolution of a small image with windows of 3 by 3, a bias and the maximum with 0."""
    return work(
        f"conv2d {channels}x{size}x{size} {filters}x3x3 bias relu",
        lambda: conv2d(channels, size, size, filters, 3, pad=1, bias_and_relu=True),
        small_image, (1, channels, size, size), (filters, channels, 3, 3), pad=1,
        bias_and_relu=True, aim=2.0, tuned_aim=1.8,
    )  # fmt: skip


WORKS = (
    bias_and_relu_work(512, 7, 512),
    work(
        "conv2d 64x56x56 64x3x3",
        lambda: conv2d(64, 56, 56, 64, 3, pad=1),
        filters_as_lanes, (1, 64, 56, 56), (64, 64, 3, 3), pad=1,
    ),
    work(
        "conv2d 256x56x56 64x1x1",
        lambda: conv2d(256, 56, 56, 64, 1),
        pixels_as_lanes, (1, 256, 56, 56), (64, 256, 1, 1),
    ),
    work(
        "depthwise conv2d 96x112x112 3x3",
        lambda: depthwise(96, 112, 112, 3, pad=1),
        bands, (1, 96, 112, 112), (96, 1, 3, 3), pad=1, tuned_aim=1.0,
    ),
)  # fmt: skip
