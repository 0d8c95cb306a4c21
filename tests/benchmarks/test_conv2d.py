"""The schedules of convolutions, at sizes that no tile divides."""

import numpy as np
import pytest
from benchmarks.suite import conv2d as suite

import tilewright as tvm
from tilewright import tir
from tilewright.target import Target

TARGETS = ["llvm", "llvm -mcpu=haswell"]


def run(program, schedule, target, *inputs):
    """What the scheduled program computes."""
    sch = tir.Schedule(program)
    schedule(sch, Target(target))
    shape = [int(size) for size in program.buffer_map[program.params[-1]].shape]
    result = np.full(shape, np.nan, "float32")
    tvm.build(sch.mod, target=target)["main"](*inputs, result)
    return result


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def convolution(X, W, *bias, pad=0, stride=1, dilation=1):
    """In float64, window by window."""
    P = np.pad(X.astype("float64"), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    reach = [dilation * (size - 1) + 1 for size in W.shape[2:]]
    windows = np.lib.stride_tricks.sliding_window_view(P, reach, (2, 3))
    windows = windows[:, :, ::stride, ::stride, ::dilation, ::dilation]
    result = np.einsum("ncyxij,ocij->noyx", windows, W.astype("float64"))
    return np.maximum(result + bias[0][:, None, None], 0) if bias else result


def assert_close(result, exact):
    assert result.shape == exact.shape
    assert np.abs(result - exact).max() <= 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("channels", "size", "filters", "window", "options"),
    [
        (5, (7, 7), 18, 3, {"pad": 1, "bias_and_relu": True}),
        (6, (5, 19), 8, 1, {}),
        (3, (9, 6), 37, 2, {"pad": 1, "stride": 2}),
        (2, (7, 8), 5, 3, {"dilation": 2}),
    ],
)
@pytest.mark.parametrize("schedule", [suite.small_image, suite.filters_as_lanes])
def test_convolution(schedule, channels, size, filters, window, options, target):
    bias = [normal(filters)] if options.get("bias_and_relu") else []
    inputs = [normal(1, channels, *size), normal(filters, channels, window, window), *bias]
    program = suite.conv2d(channels, *size, filters, window, **options)
    others = {key: value for key, value in options.items() if key != "bias_and_relu"}
    exact = convolution(*inputs, **others)
    assert_close(run(program, schedule, target, *inputs), exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("channels", "size", "filters"), [(6, (5, 19), 8), (5, (7, 9), 13)])
def test_windows_of_one_pixel(channels, size, filters, target):
    inputs = [normal(1, channels, *size), normal(filters, channels, 1, 1)]
    program = suite.conv2d(channels, *size, filters, 1)
    result = run(program, suite.pixels_as_lanes, target, *inputs)
    assert_close(result, convolution(*inputs))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("size", "window", "pad"), [((10, 21), 3, 1), ((7, 5), 2, 0)])
def test_depthwise(size, window, pad, target):
    X, W = normal(1, 4, *size), normal(4, 1, window, window)
    exact = np.concatenate(
        [convolution(X[:, n : n + 1], W[n : n + 1], pad=pad) for n in range(4)], axis=1
    )
    program = suite.depthwise(4, *size, window, pad=pad)
    assert_close(run(program, suite.bands, target, X, W), exact)


@pytest.mark.parametrize("work", suite.WORKS, ids=lambda work: work.name)
def test_works_are_complete(work):
    program = work.program()
    inputs = work.inputs(np.random.default_rng(0))
    shapes = [tuple(map(int, program.buffer_map[p].shape)) for p in program.params]
    assert [array.shape for array in inputs] == shapes[:-1]
    assert work.flop > work.bytes / 4
