"""Operators of `topi`, of odd and symbolic sizes, and of several element types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from tools.replay.program import ALL, Program
from tools.replay.record import compiled

from tilewright import te, tir, topi

Input: TypeAlias = tuple[Sequence[int | str], str]
"""A shape, where a name is a symbolic size, and a dtype."""

UNARY = (
    "abs", "acos", "asinh", "atan", "ceil", "cos", "cosh", "erf", "exp", "exp10", "fast_exp",
    "fast_tanh", "floor", "isnan", "log", "log1p", "log2", "nearbyint", "round", "rsqrt", "sigmoid",
    "sign", "sin", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
BINARY = ("add", "divide", "floor_divide", "floor_mod", "maximum", "power", "less", "subtract")
INTEGERS = ("bitwise_xor", "floor_divide", "floor_mod", "left_shift", "minimum", "trunc_divide")
REDUCTIONS = ("sum", "max", "prod", "argmax", "argmin")

F, N = (1, 13, 17, 19), ("n", 13)
IMAGE: Input = (F, "float32")


def f32(*shape: int | str) -> Input:
    """Of float32."""
    return shape, "float32"


def i32(*shape: int | str) -> Input:
    """Of int32."""
    return shape, "int32"


OPERATORS: dict[str, tuple[Callable[..., Any], tuple[Input, ...]]] = {
    # products
    "matmul": (topi.nn.matmul, (f32(33, 47), f32(47, 65))),
    "matmul of one row": (topi.nn.matmul, (f32(1, 47), f32(47, 65))),
    "matmul of n rows": (topi.nn.matmul, (f32("n", 64), f32(64, 48))),
    "matmul of any size": (topi.nn.matmul, (f32("m", "k"), f32("k", "n"))),
    "transposed matmul": (
        lambda a, b: topi.matmul(a, b, transp_a=True, transp_b=True),
        (f32(47, 33), f32(65, 47)),
    ),
    "dense with bias": (topi.nn.dense, (f32(9, 47), f32(65, 47), f32(65))),
    "dense of int8": (
        lambda x, w: topi.nn.dense(x, w, out_dtype="int32"),
        (((16, 64), "int8"), ((48, 64), "int8")),
    ),
    "dense of bfloat16": (topi.nn.dense, (((9, 47), "bfloat16"), ((65, 47), "bfloat16"))),
    "batch_matmul": (topi.nn.batch_matmul, (f32(3, 17, 31), f32(3, 29, 31))),
    "batch_matmul of any batch": (topi.nn.batch_matmul, (f32("b", 17, 31), f32("b", 29, 31))),
    "tensordot": (lambda a, b: topi.tensordot(a, b, 2), (f32(5, 6, 7), f32(6, 7, 9))),
    "einsum": (lambda a, b: topi.einsum("bij,bkj->ibk", a, b), (f32(3, 5, 7), f32(3, 9, 7))),
    "dense of sequences of bfloat16": (
        topi.nn.dense, (((4, 16, 128), "bfloat16"), ((512, 128), "bfloat16")),
    ),
    "dense and relu": (
        lambda x, w: topi.nn.relu(topi.nn.dense(x, w)), (f32("n", 64), f32(100, 64)),
    ),
    # convolutions and windows
    "conv1d": (lambda x, w: topi.nn.conv1d_ncw(x, w, 2, 1, 1), (f32(1, 5, 31), f32(7, 5, 3))),
    "conv2d_nchw": (
        lambda x, w: topi.nn.conv2d_nchw(x, w, 1, 1, 1), (IMAGE, f32(24, 13, 3, 3)),
    ),
    "conv2d_nchw, strides": (
        lambda x, w: topi.nn.conv2d_nchw(x, w, (2, 1), (1, 2), (1, 2)), (IMAGE, f32(24, 13, 3, 3)),
    ),
    "conv2d_nchw of n images": (
        lambda x, w: topi.nn.relu(topi.nn.conv2d_nchw(x, w, 1, 1, 1)),
        (f32("n", 16, 14, 14), f32(32, 16, 3, 3)),
    ),
    "conv2d_nchw, 1x1": (
        lambda x, w: topi.nn.conv2d_nchw(x, w, 1, 0, 1), (f32(1, 64, 14, 14), f32(32, 64, 1, 1)),
    ),
    "conv2d_nhwc": (
        lambda x, w: topi.nn.conv2d_nhwc(x, w, 1, 1, 1), (f32(1, 17, 19, 13), f32(3, 3, 13, 24)),
    ),
    "conv2d_nchw of float16": (
        lambda x, w: topi.nn.conv2d_nchw(x, w, 1, 1, 1),
        ((F, "float16"), ((24, 13, 3, 3), "float16")),
    ),
    "conv2d_nchw of int8": (
        lambda x, w: topi.nn.conv2d_nchw(x, w, 1, 1, 1, out_dtype="int32"),
        ((F, "int8"), ((24, 13, 3, 3), "int8")),
    ),
    "group_conv2d_nchw": (
        lambda x, w: topi.nn.group_conv2d_nchw(x, w, 1, 1, 1, 4),
        (f32(1, 16, 14, 14), f32(24, 4, 3, 3)),
    ),
    "depthwise_conv2d_nchw": (
        lambda x, w: topi.nn.depthwise_conv2d_nchw(x, w, 1, 1, 1), (IMAGE, f32(13, 1, 3, 3)),
    ),
    "depthwise_conv2d_nchw, strides": (
        lambda x, w: topi.nn.depthwise_conv2d_nchw(x, w, 2, 1, 1),
        (f32(2, 13, 30, 44), f32(13, 1, 3, 3)),
    ),
    "conv2d_transpose_nchw": (
        lambda x, w: topi.nn.conv2d_transpose_nchw(x, w, (2, 2), 1, "float32"),
        (f32(1, 13, 9, 9), f32(13, 6, 3, 3)),
    ),
    "conv3d": (
        lambda x, w: topi.nn.conv3d_ncdhw(x, w, 1, 1, 1), (f32(1, 3, 7, 8, 9), f32(4, 3, 3, 3, 3)),
    ),
    "max_pool2d": (
        lambda x: topi.nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max"), (IMAGE,),
    ),
    "avg_pool2d": (
        lambda x: topi.nn.pool2d(
            x, (3, 2), (2, 2), (1, 1), (1, 0, 1, 1), "avg", True, "NCHW", False
        ),
        (IMAGE,),
    ),
    "adaptive_pool": (lambda x: topi.nn.adaptive_pool(x, (5, 3), "avg"), (IMAGE,)),
    "global_pool": (lambda x: topi.nn.global_pool(x, "max"), (f32("n", 13, 17, 19),)),
    "upsampling": (lambda x: topi.nn.upsampling(x, 2, 2, "NCHW", "bilinear"), (IMAGE,)),
    "lrn": (lambda x: topi.nn.lrn(x, 5), (IMAGE,)),
    "mirror_pad": (lambda x: topi.nn.mirror_pad(x, (0, 0, 2, 3)), (IMAGE,)),
    # rows
    "softmax": (topi.nn.softmax, (f32(33, 101),)),
    "softmax of columns": (lambda x: topi.nn.softmax(x, axis=0), (f32(33, 101),)),
    "softmax of any size": (topi.nn.softmax, (f32("m", "n"),)),
    "softmax of float16": (topi.nn.softmax, (((33, 101), "float16"),)),
    "log_softmax": (topi.nn.log_softmax, (f32(33, 101),)),
    "layer_norm": (
        lambda x, g, b: topi.nn.layer_norm(x, g, b, [1]), (f32(33, 101), f32(101), f32(101)),
    ),
    "layer_norm of any size": (
        lambda x, g, b: topi.nn.layer_norm(x, g, b, [1]), (f32("m", "n"), f32("n"), f32("n")),
    ),
    "layer_norm of bfloat16": (
        lambda x, g, b: topi.nn.layer_norm(x, g, b, [1]),
        (((33, 101), "bfloat16"), ((101,), "bfloat16"), ((101,), "bfloat16")),
    ),
    "rms_norm": (lambda x, w: topi.nn.rms_norm(x, w, [1]), (f32(33, 101), f32(101))),
    "group_norm": (
        lambda x, g, b: topi.nn.group_norm(x, g, b, 2, 1, [2, 3]),
        (f32(1, 12, 7, 7), f32(12), f32(12)),
    ),
    "cumsum": (lambda x: topi.cumsum(x, 1), (f32(9, 50),)),
    "cumprod of any size": (lambda x: topi.cumprod(x, 0), ((("n", 5), "float64"),)),
    "sort": (topi.sort, (f32(9, 50),)),
    "argsort": (lambda x: topi.argsort(x, axis=0, dtype="int32"), (f32("n", 5),)),
    "topk": (lambda x: topi.topk(x, 3), (f32(9, 50),)),
    "searchsorted": (topi.searchsorted, (f32(50), f32(7, 9))),
    # movement
    "transpose": (lambda x: topi.transpose(x, (2, 0, 1)), (f32(7, 33, 50),)),
    "transpose of any size": (topi.transpose, (f32("m", "n"),)),
    "transpose of int8": (topi.transpose, (((65, 47), "int8"),)),
    "concatenate": (lambda *x: topi.concatenate(x, 1), (f32(9, 7), f32(9, 11), f32(9, 2))),
    "split": (lambda x: topi.split(x, 3, 1), (f32(9, 51),)),
    "stack": (lambda *x: topi.stack(x, 1), (f32("n", 7), f32("n", 7))),
    "strided_slice": (lambda x: topi.strided_slice(x, [1, 40], [8, 2], [2, -3]), (f32(9, 51),)),
    "reshape": (lambda x: topi.reshape(x, (17, 27)), (f32(9, 51),)),
    "layout_transform": (
        lambda x: topi.layout_transform(x, "NCHW", "NCHW8c"), (f32(1, 16, 14, 14),),
    ),
    "layout_transform, padded": (lambda x: topi.layout_transform(x, "NCHW", "NCHW8c"), (IMAGE,)),
    "tile": (lambda x: topi.tile(x, (2, 3)), (f32(9, 7),)),
    "repeat": (lambda x: topi.repeat(x, 3, 1), (f32("n", 7),)),
    "flip": (lambda x: topi.flip(x, 1), (f32(9, 51),)),
    "take": (lambda x, i: topi.take(x, i, 0), (f32(100, 33), i32(7))),
    "take of any size": (lambda x, i: topi.take(x, i, 0), (f32("v", 33), (("n",), "int64"))),
    "gather": (lambda x, i: topi.gather(x, 1, i), (f32(9, 51), i32(9, 5))),
    "gather_nd": (topi.gather_nd, (f32(9, 51), i32(2, 6))),
    "scatter_nd": (
        lambda x, i, u: topi.scatter_nd(x, i, u, "add"), (f32(9, 51), i32(1, 4), f32(4, 51)),
    ),
    "scatter_elements": (
        lambda x, i, u: topi.scatter_elements(x, i, u, 1, "max"),
        (f32(9, 51), i32(9, 5), f32(9, 5)),
    ),
    "one_hot": (lambda i: topi.one_hot(i, 1.0, 0.0, 10, -1, "float32"), (i32("n"),)),
    "where": (topi.where, (((9, 51), "bool"), f32(9, 51), f32(1, 51))),
    "trilu": (lambda x: topi.trilu(x, tir.const(1, "int32"), True), (f32("n", "n"),)),
    "arange": (lambda x: topi.add(x, topi.arange(0, 51, 1, dtype="float32")), (f32(9, 51),)),
    # several at once
    "gelu of sums": (
        lambda x, y: topi.multiply(topi.add(x, y), topi.sigmoid(topi.add(x, y))),
        (f32(33, 101), f32(101)),
    ),
    "mean and variance": (
        lambda x: (topi.sum(x, 1), topi.sum(topi.multiply(x, x), 1)), (f32("n", 101),),
    ),
    "casts": (
        lambda x: topi.cast(topi.clip(topi.round(x), -128, 127), "int8"), (f32("n", 101),),
    ),
    "quantised sum": (
        lambda x, y: topi.cast(topi.add(topi.cast(x, "int32"), topi.cast(y, "int32")), "int16"),
        (((9, 51), "int8"), ((9, 51), "uint8")),
    ),
}  # fmt: skip


def operator(formula: Callable[..., Any], inputs: Sequence[Input]) -> Callable[[], tir.PrimFunc]:
    """Makes the program of an operator."""

    def make() -> tir.PrimFunc:
        sizes: dict[str, Any] = {}
        tensors = []
        for number, (shape, dtype) in enumerate(inputs):
            extents = [
                sizes.setdefault(extent, te.var(extent)) if isinstance(extent, str) else extent
                for extent in shape
            ]
            tensors.append(te.placeholder(extents, dtype, f"x{number}"))
        result = formula(*tensors)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        return te.create_prim_func([*tensors, *results])

    return make


def elementwise() -> Iterator[tuple[str, Callable[..., Any], tuple[Input, ...]]]:
    """Functions of elements, and reductions."""
    for name in UNARY:
        yield name, getattr(topi, name), (f32(7, 33),)
    for name in ("exp", "tanh", "sigmoid", "erf", "log"):
        for dtype in ("float16", "bfloat16", "float64"):
            yield f"{name} of {dtype}", getattr(topi, name), (((7, 33), dtype),)
    for name in BINARY:
        yield name, getattr(topi, name), (f32(7, 33), f32(7, 1))
    for name in INTEGERS:
        for dtype in ("int32", "int64", "uint8"):
            yield f"{name} of {dtype}", getattr(topi, name), (((N), dtype), ((N), dtype))
    for name in REDUCTIONS:
        for axis in (0, 1):
            reduce = getattr(topi, name)
            yield f"{name}, axis {axis}", lambda x, f=reduce, a=axis: f(x, a), (f32(50, 70),)
        yield f"{name} of any size", lambda x, f=reduce: f(x, 1), (f32("m", "n"),)
    for dtype in ("float16", "bfloat16", "float64", "int8", "int64"):
        yield f"sum of {dtype}", lambda x: topi.sum(x, 1), (((50, 70), dtype),)


def programs() -> Iterator[Program]:
    """Each operator for two targets: one of x86 or AArch64, and another one, in turn."""
    every = [*elementwise(), *((name, *item) for name, item in OPERATORS.items())]
    for number, (name, formula, inputs) in enumerate(every):
        targets = (ALL[number % len(ALL)], ALL[(number + 1) % len(ALL)])
        yield Program(f"operator/{name}", compiled(operator(formula, inputs)), targets)


PROGRAMS = tuple(programs())
