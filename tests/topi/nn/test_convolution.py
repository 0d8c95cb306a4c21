"""Convolutions in all layouts, with padding, strides, dilation and groups."""

import inspect

import numpy as np
import pytest
from tests.topi.running import run, whole

from tilewright import te, topi
from tilewright.error import ArgumentError, ArgumentValueError, ShapeError
from tilewright.topi import testing

IMAGES, KERNEL = (2, 3, 6, 7), (4, 3, 3, 2)


def nhwc(a):
    return np.ascontiguousarray(a.transpose(0, 2, 3, 1))


def hwio(w):
    return np.ascontiguousarray(w.transpose(2, 3, 1, 0))


@pytest.mark.parametrize("stride", [1, 2, (2, 1)])
@pytest.mark.parametrize("padding", [0, 1, (1, 2), (0, 1, 2, 0), "SAME", "VALID"])
def test_conv2d_nchw(stride, padding):
    a, w = whole(*IMAGES), whole(*KERNEL, seed=1)
    result = run(lambda A, W: topi.nn.conv2d_nchw(A, W, stride, padding, 1), a, w)
    np.testing.assert_array_equal(result, testing.conv2d_nchw_python(a, w, stride, padding))


def test_conv2d_in_other_layouts():
    a, w = whole(*IMAGES), whole(*KERNEL, seed=1)
    expected = testing.conv2d_nchw_python(a, w, (2, 1), 1)
    result = run(lambda A, W: topi.nn.conv2d_nhwc(A, W, (2, 1), 1, 1), nhwc(a), hwio(w))
    np.testing.assert_array_equal(result, nhwc(expected))
    np.testing.assert_array_equal(
        testing.conv2d_nhwc_python(nhwc(a), hwio(w), (2, 1), 1), nhwc(expected)
    )
    hwcn = np.ascontiguousarray(a.transpose(2, 3, 1, 0))
    result = run(lambda A, W: topi.nn.conv2d_hwcn(A, W, (2, 1), 1, 1), hwcn, hwio(w))
    np.testing.assert_array_equal(result, expected.transpose(2, 3, 1, 0))
    np.testing.assert_array_equal(testing.conv2d_hwcn_python(hwcn, hwio(w), (2, 1), 1), result)
    ohwi = np.ascontiguousarray(w.transpose(0, 2, 3, 1))
    result = run(lambda A, W: topi.nn.conv2d(A, W, (2, 1), 1, 1, "NHWC", "OHWI"), nhwc(a), ohwi)
    np.testing.assert_array_equal(result, nhwc(expected))


@pytest.mark.parametrize("dilation", [2, (1, 3)])
def test_conv2d_dilated(dilation):
    a, w = whole(1, 2, 9, 9), whole(3, 2, 3, 3, seed=1)
    result = run(lambda A, W: topi.nn.conv2d_nchw(A, W, 1, 2, dilation), a, w)
    apart = dilation if isinstance(dilation, tuple) else (dilation, dilation)
    dilated = testing.dilate_python(w, (1, 1, *apart))
    np.testing.assert_array_equal(result, testing.conv2d_nchw_python(a, dilated, 1, 2))


@pytest.mark.parametrize("groups", [2, 4])
def test_conv2d_in_groups(groups):
    a, w = whole(1, 4, 5, 5), whole(8, 4 // groups, 3, 3, seed=1)
    expected = testing.conv2d_nchw_python(a, w, 1, 1, groups)
    result = run(lambda A, W: topi.nn.group_conv2d_nchw(A, W, 1, 1, 1, groups), a, w)
    np.testing.assert_array_equal(result, expected)
    result = run(lambda A, W: topi.nn.group_conv2d_nhwc(A, W, 1, 1, 1, groups), nhwc(a), hwio(w))
    np.testing.assert_array_equal(result, nhwc(expected))


@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise_conv2d(multiplier):
    a, w = whole(2, 3, 6, 5), whole(3, multiplier, 3, 3, seed=1)
    expected = testing.depthwise_conv2d_python_nchw(a, w, 2, 1)
    result = run(lambda A, W: topi.nn.depthwise_conv2d_nchw(A, W, 2, 1, 1), a, w)
    np.testing.assert_array_equal(result, expected)
    kernel = np.ascontiguousarray(w.transpose(2, 3, 0, 1))
    result = run(lambda A, W: topi.nn.depthwise_conv2d_nhwc(A, W, 2, 1, 1), nhwc(a), kernel)
    np.testing.assert_array_equal(result, nhwc(expected))
    np.testing.assert_array_equal(
        testing.depthwise_conv2d_python_nhwc(nhwc(a), kernel, 2, 1), nhwc(expected)
    )


def test_conv1d():
    a, w = whole(2, 4, 9), whole(6, 2, 3, seed=1)
    result = run(lambda A, W: topi.nn.group_conv1d_ncw(A, W, 2, (1, 2), 2, 2), a, w)
    expected = testing.conv2d_nchw_python(
        a[:, :, None], testing.dilate_python(w, (1, 1, 2))[:, :, None], (1, 2), (0, 1, 0, 2), 2
    )[:, :, 0]
    np.testing.assert_array_equal(result, expected)
    w = whole(6, 4, 3, seed=1)
    expected = testing.conv1d_ncw_python(a, w, 2, 1, 2)
    np.testing.assert_array_equal(
        run(lambda A, W: topi.nn.conv1d_ncw(A, W, 2, 1, 2), a, w), expected
    )
    last, kernel = (
        np.ascontiguousarray(a.swapaxes(1, 2)),
        np.ascontiguousarray(w.transpose(2, 1, 0)),
    )
    result = run(lambda A, W: topi.nn.conv1d_nwc(A, W, 2, 1, 2), last, kernel)
    np.testing.assert_array_equal(result, expected.swapaxes(1, 2))
    np.testing.assert_array_equal(testing.conv1d_nwc_python(last, kernel, 2, 1, 2), result)


@pytest.mark.parametrize("groups", [1, 2])
def test_conv3d(groups):
    a, w = whole(1, 2, 4, 5, 6), whole(2, 2 // groups, 2, 3, 2, seed=1)
    expected = testing.conv3d_ncdhw_python(a, w, (1, 2, 1), (1, 0, 1, 0, 1, 0), groups)
    result = run(
        lambda A, W: topi.nn.conv3d_ncdhw(A, W, (1, 2, 1), (1, 0, 1, 0, 1, 0), 1, groups), a, w
    )
    np.testing.assert_array_equal(result, expected)
    last = np.ascontiguousarray(np.moveaxis(a, 1, -1))
    kernel = np.ascontiguousarray(w.transpose(2, 3, 4, 1, 0))
    result = run(
        lambda A, W: topi.nn.conv3d_ndhwc(A, W, (1, 2, 1), (1, 0, 1, 0, 1, 0), 1, groups),
        last, kernel,
    )  # fmt: skip
    np.testing.assert_array_equal(result, np.moveaxis(expected, 1, -1))


def test_symbolic_sizes():
    a, w = whole(2, 3, 7, 5), whole(4, 3, 3, 3, seed=1)
    result = run(
        lambda A, W: topi.nn.conv2d_nchw(A, W, 2, 1, 1), a, w,
        dims=[("n", 3, "h", "w"), (4, 3, 3, 3)],
    )  # fmt: skip
    np.testing.assert_array_equal(result, testing.conv2d_nchw_python(a, w, 2, 1))


def test_products_are_added_in_the_output_dtype():
    a, w = whole(1, 8, 4, 4, dtype="int8", low=-100, high=100), whole(2, 8, 3, 3, dtype="int8")
    result = run(lambda A, W: topi.nn.conv2d_nchw(A, W, 1, 0, 1, "int32"), a, w)
    wide = testing.conv2d_nchw_python(a.astype("int32"), w.astype("int32"), 1, 0)
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, wide)


@pytest.mark.parametrize(
    ("stride", "padding", "extra"),
    [(1, 0, 0), (2, 1, 0), (2, 1, 1), (3, (0, 1, 1, 0), (1, 2)), ((1, 2), 2, 0)],
)
@pytest.mark.parametrize("groups", [1, 2])
def test_conv2d_transpose(stride, padding, extra, groups):
    a, w = whole(2, 4, 3, 4), whole(4, 3, 3, 3, seed=1)
    result = run(
        lambda A, W: topi.nn.group_conv2d_transpose_nchw(
            A, W, stride, padding, "float32", extra, groups
        ),
        a, w,
    )  # fmt: skip
    expected = testing.conv2d_transpose_nchw_python(a, w, stride, padding, extra, groups)
    np.testing.assert_array_equal(result, expected)


def test_conv_transpose_of_sequences_and_volumes():
    a, w = whole(2, 3, 5), whole(3, 2, 4, seed=1)
    result = run(lambda A, W: topi.nn.conv1d_transpose_ncw(A, W, 2, 1, None, 1), a, w)
    np.testing.assert_array_equal(result, testing.conv1d_transpose_ncw_python(a, w, 2, 1, 1))
    a, w = whole(1, 2, 3, 2, 2), whole(2, 2, 2, 3, 2, seed=1)
    result = run(lambda A, W: topi.nn.conv3d_transpose_ncdhw(A, W, (2, 1, 2), 0, None), a, w)
    np.testing.assert_array_equal(result, testing.conv3d_transpose_ncdhw_python(a, w, (2, 1, 2), 0))


def test_mistakes_are_named():
    A, W = te.placeholder(IMAGES, name="A"), te.placeholder(KERNEL, name="W")
    with pytest.raises(ShapeError, match="layout NCHW, so 4 dimensions, not 3"):
        topi.nn.conv2d_nchw(te.placeholder((3, 4, 5)), W, 1, 0, 1)
    with pytest.raises(ShapeError, match="does not fit"):
        topi.nn.conv2d_nchw(A, W, 1, 0, 4)
    with pytest.raises(ShapeError, match="channels of `data`"):
        topi.nn.conv2d_nchw(A, te.placeholder((4, 5, 3, 2)), 1, 0, 1)
    with pytest.raises(ShapeError, match="2 groups do not divide the 3 input channels"):
        topi.nn.group_conv2d_nchw(A, W, 1, 0, 1, 2)
    with pytest.raises(ArgumentError, match="`padding` has 1, 2 or 4 numbers"):
        topi.nn.conv2d_nchw(A, W, 1, (1, 2, 3), 1)
    with pytest.raises(ArgumentValueError, match='"VALID" or "SAME"'):
        topi.nn.conv2d_nchw(A, W, 1, "FULL", 1)
    with pytest.raises(ArgumentValueError, match="`strides` is at least 1"):
        topi.nn.conv2d_nchw(A, W, 0, 0, 1)
    with pytest.raises(ArgumentValueError, match="`output_padding` is less than"):
        topi.nn.conv2d_transpose_nchw(A, te.placeholder((3, 2, 3, 3)), 2, 0, None, 2)


def test_conv2d_of_blocks_of_channels():
    a, w = whole(2, 4, 5, 6), whole(6, 4, 3, 2, seed=1)
    blocks = np.ascontiguousarray(a.reshape(2, 2, 2, 5, 6).transpose(0, 1, 3, 4, 2))
    kernel = np.ascontiguousarray(w.reshape(2, 3, 2, 2, 3, 2).transpose(0, 2, 4, 5, 3, 1))
    expected = testing.conv2d_nchw_python(a, w, (1, 2), (1, 0))
    expected = expected.reshape(2, 2, 3, *expected.shape[2:]).transpose(0, 1, 3, 4, 2)
    operator = lambda x, k: topi.nn.conv2d_NCHWc(x, k, (1, 2), (1, 0), 1, "NCHW2c")  # noqa: E731
    np.testing.assert_array_equal(run(operator, blocks, kernel), expected)
    with pytest.raises(ArgumentValueError, match="`layout` is"):
        topi.nn.conv2d_NCHWc(te.placeholder((1,)), te.placeholder((1,)), 1, 0, 1, "NCHW")


def test_operators_of_other_layouts_have_the_parameters_of_the_first():
    parameters = inspect.signature(topi.nn.conv2d_nchw).parameters
    assert inspect.signature(topi.nn.conv2d_hwcn).parameters == parameters
    assert inspect.signature(topi.nn.pool3d).parameters["layout"].default == "NCDHW"
    assert topi.nn.pool1d.__name__ == "pool1d"
    with pytest.raises(ArgumentError, match="conv2d_nhwc: missing a required argument: 'padding'"):
        topi.nn.conv2d_nhwc(te.placeholder((1, 8, 8, 3)), te.placeholder((3, 3, 3, 4)), 1)
