"""Graph operators of convolutions."""

import numpy as np
import pytest
from tests.relax.op.graphs import compute, infer, tensor, whole

from tilewright.error import ArgumentError, ArgumentValueError, ShapeError, StructInfoError
from tilewright.relax import op
from tilewright.topi import testing

equal = np.testing.assert_array_equal


@pytest.mark.parametrize("known", ["shape", "symbolic", "rank"])
@pytest.mark.parametrize(
    ("strides", "padding", "groups"), [(1, 0, 1), (2, 1, 1), ((1, 2), (0, 1, 2, 0), 2)]
)
def test_conv2d(known, strides, padding, groups):
    a, w = whole(2, 4, 6, 7), whole(4, 4 // groups, 3, 2, seed=1)
    result = compute(
        lambda x, y: op.nn.conv2d(x, y, strides, padding, groups=groups), a, w, known=known
    )
    equal(result, testing.conv2d_nchw_python(a, w, strides, padding, groups))


@pytest.mark.parametrize("known", ["shape", "symbolic"])
def test_conv2d_in_other_layouts(known):
    a, w = whole(2, 3, 6, 7), whole(4, 3, 3, 2, seed=1)
    expected = testing.conv2d_nchw_python(a, testing.dilate_python(w, (1, 1, 2, 2)), 1, 1)
    last = np.ascontiguousarray(a.transpose(0, 2, 3, 1))
    for layout in ("HWIO", "OHWI"):
        order = ["OIHW".index(letter) for letter in layout]
        kernel = np.ascontiguousarray(w.transpose(*order))
        result = compute(
            lambda x, y, layout=layout: op.nn.conv2d(
                x, y, 1, 1, 2, data_layout="NHWC", kernel_layout=layout
            ),
            last, kernel, known=known,
        )  # fmt: skip
        equal(result, expected.transpose(0, 2, 3, 1))


def test_half_precision_is_added_in_single_precision():
    a, w = whole(1, 512, 4, 4, dtype="float16"), whole(2, 512, 3, 3, dtype="float16", seed=1)
    result = compute(op.nn.conv2d, a, w)
    assert result.dtype == np.float16
    exact = testing.conv2d_nchw_python(a.astype("float32"), w.astype("float32"), 1, 0)
    equal(result, exact.astype("float16"))
    wide = compute(lambda x, y: op.nn.conv2d(x, y, out_dtype="float32"), a, w)
    equal(wide, exact)


def test_conv1d_and_conv3d():
    a, w = whole(2, 4, 9), whole(3, 4, 3, seed=1)
    result = compute(lambda x, y: op.nn.conv1d(x, y, 2, 1, 2), a, w, known="symbolic")
    equal(result, testing.conv1d_ncw_python(a, w, 2, 1, 2))
    a, w = whole(1, 2, 4, 5, 4), whole(2, 1, 2, 2, 3, seed=1)
    result = compute(lambda x, y: op.nn.conv3d(x, y, 1, (1, 0, 1), groups=2), a, w)
    equal(result, testing.conv3d_ncdhw_python(a, w, 1, (1, 0, 1), 2))


@pytest.mark.parametrize("known", ["shape", "symbolic"])
@pytest.mark.parametrize("groups", [1, 2])
def test_conv2d_transpose(known, groups):
    a, w = whole(2, 4, 3, 4), whole(4, 3, 3, 3, seed=1)
    result = compute(
        lambda x, y: op.nn.conv2d_transpose(x, y, 2, 1, 1, groups=groups), a, w, known=known
    )
    equal(result, testing.conv2d_transpose_nchw_python(a, w, 2, 1, 1, groups))


def test_conv_transpose_of_sequences_and_volumes():
    a, w = whole(2, 3, 5), whole(3, 2, 4, seed=1)
    result = compute(lambda x, y: op.nn.conv1d_transpose(x, y, 2, 1), a, w, known="symbolic")
    equal(result, testing.conv1d_transpose_ncw_python(a, w, 2, 1))
    a, w = whole(1, 2, 3, 2, 2), whole(2, 2, 2, 3, 2, seed=1)
    result = compute(lambda x, y: op.nn.conv3d_transpose(x, y, (2, 1, 2)), a, w)
    equal(result, testing.conv3d_transpose_ncdhw_python(a, w, (2, 1, 2), 0))


def test_channels_are_compared_when_the_program_runs():
    with pytest.raises(ShapeError, match="4"):
        compute(op.nn.conv2d, whole(1, 4, 5, 5), whole(2, 3, 3, 3), known="symbolic")


def test_what_is_inferred():
    info = infer(op.nn.conv2d(tensor("n", 3, "h", "w"), tensor(8, 3, 3, 3), 2, 1))
    assert str(info.extents[2]) == "(h - T.int64(1)) // T.int64(2) + T.int64(1)"
    info = infer(op.nn.conv2d(tensor(1, 3, 8, 8, dtype="int8"), tensor(8, 3, 3, 3, dtype="int8"),
                              out_dtype="int32"))  # fmt: skip
    assert info.dtype == "int32"


def test_mistakes_are_named():
    x, w = tensor(1, 3, 8, 8), tensor(8, 3, 3, 3)
    with pytest.raises(StructInfoError, match=r"R\.nn\.conv2d: .*channels of `data`"):
        infer(op.nn.conv2d(x, tensor(8, 4, 3, 3)))
    with pytest.raises(
        StructInfoError, match="`weight` has the layout OIHW, so 4 dimensions, not 3"
    ):
        infer(op.nn.conv2d(x, tensor(8, 3, 3)))
    with pytest.raises(StructInfoError, match="does not fit"):
        infer(op.nn.conv2d(tensor(1, 3, 2, 2), w))
    with pytest.raises(StructInfoError, match="dtypes differ"):
        infer(op.nn.conv2d(x, tensor(8, 3, 3, 3, dtype="float16")))
    with pytest.raises(StructInfoError, match="must be an array"):
        infer(op.nn.conv2d((x, x), w))
    with pytest.raises(ArgumentError, match="`padding` has 1, 2 or 4 numbers"):
        op.nn.conv2d(x, w, padding=(1, 2, 3))
    with pytest.raises(ArgumentValueError, match="`data_layout` has each of the letters NCHW once"):
        op.nn.conv2d(x, w, data_layout="NCHW8c")
    with pytest.raises(ArgumentValueError, match="`out_layout`"):
        op.nn.conv2d(x, w, out_layout="NHWC")
    with pytest.raises(ArgumentValueError, match="`groups` is at least 1"):
        op.nn.conv2d(x, w, groups=0)


@pytest.mark.parametrize("known", ["shape", "symbolic"])
@pytest.mark.parametrize(
    ("stride", "dilation", "cut", "extra"),
    [(2, 1, (1, 0), 1), (3, 1, (2, 4), 0), (3, 1, (0, 0), 2), (2, 2, (1, 3), 1), (1, 3, (5, 0), 2)],
)
@pytest.mark.parametrize("length", [1, 2, 4])
def test_results_in_turn_of_what_is_spread(length, stride, dilation, cut, extra, known):
    x, w = whole(2, 4, 3), whole(4, 2, length, seed=1)
    whole_extent = 2 * stride + (length - 1) * dilation + 1 + extra
    if whole_extent - sum(cut) < 1:
        return
    spread = np.zeros((2, 4, whole_extent), "float32")
    for i in range(3):
        for k in range(length):
            for group in range(2):
                part = slice(2 * group, 2 * group + 2)
                spread[:, part, i * stride + k * dilation] += x[:, part, i] @ w[part, :, k]
    result = compute(
        lambda a, b: op.nn.conv1d_transpose(a, b, stride, cut, extra, dilation, 2),
        x,
        w,
        known=known,
    )
    equal(result, spread[:, :, cut[0] : whole_extent - cut[1]])
