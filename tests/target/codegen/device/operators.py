"""Operators under the default schedule for devices."""

from __future__ import annotations

from collections.abc import Callable

from tests.target.codegen.device.programs import Program, named, program

from tilewright import te, topi

Tensors = list[te.Tensor]


def operator(tensors: Callable[[], Tensors]) -> Callable[[], Tensors]:
    """Register the inputs and the result of an operator as a program."""

    def make() -> Program:
        return Program(named(te.create_prim_func(tensors()), tensors.__name__))

    make.__name__, make.__module__ = tensors.__name__, tensors.__module__
    program(make)
    return tensors


def placeholder(*shape: int, name: str, dtype: str = "float32") -> te.Tensor:
    return te.placeholder(shape, dtype, name)


@operator
def matmul_relu() -> Tensors:
    a, b = placeholder(35, 22, name="a"), placeholder(22, 34, name="b")
    return [a, b, topi.nn.relu(topi.matmul(a, b))]


@operator
def convolution_with_bias() -> Tensors:
    data, weight = placeholder(1, 4, 7, 7, name="data"), placeholder(16, 4, 3, 3, name="weight")
    bias = placeholder(1, 16, 1, 1, name="bias")
    result = topi.nn.relu(topi.nn.conv2d_nchw(data, weight, 1, 1, 1) + bias)
    return [data, weight, bias, result]


@operator
def batch_matmul() -> Tensors:
    a, b = placeholder(3, 20, 25, name="a"), placeholder(3, 18, 25, name="b")
    return [a, b, topi.nn.batch_matmul(a, b)]


@operator
def long_softmax() -> Tensors:
    data = placeholder(3, 2, 100, name="data")
    return [data, topi.nn.softmax(data)]


@operator
def layer_norm() -> Tensors:
    data = placeholder(10, 64, name="data")
    scale, shift = placeholder(64, name="scale"), placeholder(64, name="shift")
    return [data, scale, shift, topi.nn.layer_norm(data, scale, shift, [1])]


@operator
def row_sums() -> Tensors:
    data = placeholder(5, 4, 50, name="data")
    return [data, topi.sum(data, [1, 2])]


@operator
def column_sums() -> Tensors:
    data = placeholder(100, 20, name="data")
    return [data, topi.sum(data, 0)]


@operator
def long_total() -> Tensors:
    data = placeholder(40000, name="data", dtype="float64")
    return [data, topi.sum(data)]


@operator
def argmax() -> Tensors:
    data = placeholder(20, 45, name="data")
    return [data, topi.argmax(data, 1)]


@operator
def total() -> Tensors:
    data = placeholder(20, 45, name="data")
    return [data, topi.sum(data)]


@operator
def sort() -> Tensors:
    data = placeholder(6, 15, name="data")
    return [data, topi.sort(data, 1)]


@operator
def cumulative_sum() -> Tensors:
    data = placeholder(20, 15, name="data")
    return [data, topi.cumsum(data, 1)]


@operator
def pooling() -> Tensors:
    data = placeholder(1, 4, 9, 9, name="data")
    return [data, topi.nn.pool2d(data, (3, 3), (2, 2), (1, 1), (0, 0, 0, 0), "max")]


@operator
def depthwise() -> Tensors:
    data, weight = placeholder(1, 8, 9, 9, name="data"), placeholder(8, 1, 3, 3, name="weight")
    return [data, weight, topi.nn.depthwise_conv2d_nchw(data, weight, 2, 0, 1)]
