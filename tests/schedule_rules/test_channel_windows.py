"""Windows over images whose channels are side by side."""

import pytest
from tests.schedule_rules.programs import (
    LARGE,
    PARALLEL,
    SMALL,
    TWO_CORES,
    kinds_of,
    loops_of,
    names_of,
    scheduled,
)

from tilewright import te, topi


def of_channels(channels, size, window, step, pad):
    """A convolution of each channel on its own, with an activation."""
    x = te.placeholder((1, size, size, channels), name="X")
    w = te.placeholder((window, window, channels, 1), name="W")
    y = topi.nn.depthwise_conv2d_nhwc(x, w, step, pad, 1)
    return te.create_prim_func([x, w, topi.nn.relu(y)])


def largest(channels, size, step):
    """The largest elements of windows of 3 by 3."""
    x = te.placeholder((2, size, size, channels), name="X")
    y = topi.nn.pool2d(x, (3, 3), (step, step), (1, 1), (1, 1, 1, 1), "max", False, "NHWC")
    return te.create_prim_func([x, y])


@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES])
@pytest.mark.parametrize(("size", "step"), [(7, 1), (9, 2), (17, 1)])
def test_pixels_share_weights_while_the_window_is_unrolled(size, step, machine):
    sch = scheduled(of_channels(8, size, 3, step, 1), machine)
    assert names_of(sch) == ["depthwise_conv2d_nhwc", "T_relu"]  # zeros are not copied
    loops = loops_of(sch, "depthwise_conv2d_nhwc")
    assert loops[-1] == ("vectorized", 4)
    assert [kind for kind, _ in loops[-4:-1]] == ["unrolled"] * 3
    assert loops_of(sch, "T_relu")[-1] == ("vectorized", 4)
    assert (PARALLEL in kinds_of(sch)) == (machine is TWO_CORES)


@pytest.mark.parametrize(("size", "pixels"), [(2, 2), (8, 4), (9, 3), (14, 3), (16, 4)])
def test_a_few_pixels_share_weights_with_a_short_rest(size, pixels):
    sch = scheduled(of_channels(4, size, 3, 1, 1))
    assert loops_of(sch, "depthwise_conv2d_nhwc")[-2][1] == pixels


@pytest.mark.parametrize("channels", [3, 6])
def test_one_loop_stays_where_lanes_are_left_empty(channels):
    sch = scheduled(of_channels(channels, 6, 3, 1, 1))
    kinds = [kind for kind, _ in loops_of(sch, "depthwise_conv2d_nhwc")]
    assert kinds[-5:] == ["serial", "serial", "unrolled", "unrolled", "vectorized"]


def test_large_windows_are_not_written_out():
    sch = scheduled(of_channels(4, 20, 9, 1, 4))
    kinds = [kind for kind, _ in loops_of(sch, "depthwise_conv2d_nhwc")]
    assert kinds[-4:] == ["serial", "unrolled", "unrolled", "vectorized"]


@pytest.mark.parametrize("step", [1, 2])
def test_pools(step):
    sch = scheduled(largest(8, 9, step))
    assert "pad_temp" not in names_of(sch)
    assert loops_of(sch, "pool_max")[-1] == ("vectorized", 4)


def test_what_is_computed_for_windows_is_computed_once():
    x = te.placeholder((1, 6, 6, 4), name="X")
    w = te.placeholder((3, 3, 4, 1), name="W")
    y = topi.nn.depthwise_conv2d_nhwc(topi.nn.relu(x), w, 1, 1, 1)
    assert names_of(scheduled(te.create_prim_func([x, w, y])))[0] == "pad_temp"


def test_the_zeros_around_bytes_are_copied():
    x = te.placeholder((1, 7, 7, 12), "int8", name="X")
    w = te.placeholder((3, 3, 12, 1), "int8", name="W")
    y = topi.nn.depthwise_conv2d_nhwc(x, w, 1, 1, 1, "int32")
    sch = scheduled(te.create_prim_func([x, w, y]))
    # The pixels of a row are one stretch of memory, between those that are outside.
    assert names_of(sch) == ["pad_temp_axes2_common", "depthwise_conv2d_nhwc"]
    assert loops_of(sch, "pad_temp_axes20") == [("vectorized", 12)]
    assert [kind for kind, _ in loops_of(sch, "depthwise_conv2d_nhwc")][-2:] == [
        "unrolled", "vectorized"
    ]  # fmt: skip
