"""Activations, products of matrices, padding, rearrangements, losses and resizing."""

import numpy as np
import pytest
from tests.topi.running import real, run, whole

from tilewright import te, topi
from tilewright.error import ArgumentError, ArgumentValueError, ShapeError
from tilewright.ir import walk
from tilewright.ir.expr import Cast, Var
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import Block
from tilewright.tir.transform.analysis.affine import affine, stride_along
from tilewright.topi import testing

equal = np.testing.assert_array_equal


def test_activations():
    x, slope = real(2, 3, 4), real(3, seed=1)
    equal(run(topi.nn.relu, x), np.maximum(x, 0))
    equal(run(topi.nn.relu, whole(5, dtype="int32")), np.maximum(whole(5, dtype="int32"), 0))
    equal(run(lambda X: topi.nn.leaky_relu(X, 0.25), x), np.where(x > 0, x, x * np.float32(0.25)))
    equal(run(topi.nn.prelu, x, slope), np.where(x > 0, x, x * slope[:, None]))
    with pytest.raises(ShapeError, match="slope"):
        topi.nn.prelu(te.placeholder((2, 3)), te.placeholder((2, 3)))


def test_dense():
    x, w, bias = whole(3, 5), whole(4, 5, seed=1), whole(4, seed=2)
    equal(run(topi.nn.dense, x, w), testing.dense(x, w))
    equal(run(topi.nn.dense, x, w, bias), testing.dense(x, w, bias, use_bias=True))
    result = run(topi.nn.dense, x, w, bias, dims=[("m", "k"), (4, "k"), (4,)])
    equal(result, testing.dense(x, w, bias, use_bias=True))
    assert run(lambda X, W: topi.nn.dense(X, W, None, "float64"), x, w).dtype == np.float64


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmul(transpose_a, transpose_b):
    a, b = whole(4, 6), whole(6, 5, seed=1)
    left = np.ascontiguousarray(a.T) if transpose_a else a
    right = np.ascontiguousarray(b.T) if transpose_b else b
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    equal(run(lambda A, B: topi.nn.matmul(A, B, **flags), left, right), a @ b)
    equal(run(lambda A, B: topi.matmul(A, B, transpose_a, transpose_b), left, right), a @ b)
    batches = [np.stack([x, 2 * x]) for x in (left, right)]
    equal(
        run(lambda A, B: topi.nn.batch_matmul(A, B, **flags), *batches),
        np.stack([a @ b, 4 * a @ b]),
    )
    equal(
        testing.batch_matmul(*batches, trans_x=transpose_a, trans_y=transpose_b),
        np.stack([a @ b, 4 * a @ b]),
    )


def test_matmul_broadcasts_batches():
    a, b = whole(2, 1, 3, 4), whole(5, 4, 2, seed=1)
    equal(run(topi.nn.matmul, a, b), a @ b)
    with pytest.raises(ShapeError, match="extents of the sum"):
        topi.nn.matmul(te.placeholder((3, 4)), te.placeholder((3, 4)))


def test_tensordot():
    a, b = whole(2, 3, 4), whole(4, 3, 5, seed=1)
    axes = ([1, 2], [1, 0])
    equal(run(lambda A, B: topi.tensordot(A, B, axes), a, b), np.tensordot(a, b, axes))
    equal(run(lambda A, B: topi.tensordot(A, B, 1), a, b), np.tensordot(a, b, 1))
    equal(run(lambda A, B: topi.tensordot(A, B, 0), a, b), np.tensordot(a, b, 0))
    with pytest.raises(ArgumentError, match="2 and 1"):
        topi.tensordot(te.placeholder((2, 3)), te.placeholder((2, 3)), ([0, 1], [0]))


def test_pad():
    x = real(3, 4)
    equal(
        run(lambda X: topi.nn.pad(X, (1, 0), (0, 2), 7.0), x),
        np.pad(x, ((1, 0), (0, 2)), constant_values=7),
    )
    equal(run(lambda X: topi.nn.pad(X, (1, 2)), x, dims=[("n", "m")]), np.pad(x, ((1, 1), (2, 2))))
    equal(run(lambda X: topi.nn.pad(X, (0, 0)), x), x)
    with pytest.raises(ArgumentError, match="1 numbers to pad with for 2 dimensions"):
        topi.nn.pad(te.placeholder((2, 3)), (1,))


@pytest.mark.parametrize("continued", [topi.nn.mirror_pad, topi.nn.replicate_pad])
def test_neighbours_inside_of_a_continued_row_are_neighbours_in_memory(continued):
    X = te.placeholder((3, 8), name="X")
    (block,) = [
        node
        for node in walk(te.create_prim_func([X, continued(X, (1, 2), (1, 3))]).body)
        if isinstance(node, Block) and node.name_hint != "root"
    ]
    _, inside, _ = block.body.value.args
    assert stride_along(affine(inside.indices[-1]), block.iter_vars[-1].var) == 1


@pytest.mark.parametrize("mode", ["SYMMETRIC", "REFLECT"])
def test_mirror_pad(mode):
    x = real(4, 5)
    result = run(lambda X: topi.nn.mirror_pad(X, (3, 0), (2, 4), mode), x)
    equal(result, np.pad(x, ((3, 2), (0, 4)), mode.lower()))


def test_dilate():
    x = real(3, 4)
    result = run(lambda X: topi.nn.dilate(X, (2, 3), 1.0), x)
    equal(result, testing.dilate_python(x, (2, 3), 1.0))
    equal(run(lambda X: topi.nn.dilate(X, (1, 1)), x), x)


def test_flatten():
    x = real(2, 3, 4, 5)
    equal(run(topi.nn.flatten, x), x.reshape(2, -1))
    equal(run(topi.nn.flatten, x, dims=[("n", "c", "h", "w")]), x.reshape(2, -1))
    equal(run(topi.nn.flatten, x[:, 0, 0, 0]), x[:, 0, 0, :1])


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(mode):
    x = real(2, 8, 3, 2)
    expected = testing.depth_to_space_python(x, 2, mode)
    equal(run(lambda X: topi.nn.depth_to_space(X, 2, mode=mode), x), expected)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    result = run(lambda X: topi.nn.depth_to_space(X, 2, "NHWC", mode), last)
    equal(result, expected.transpose(0, 2, 3, 1))
    with pytest.raises(ShapeError, match="modulo 9"):
        topi.nn.depth_to_space(te.placeholder((2, 8, 3, 2)), 3)


def test_space_to_depth():
    x = real(2, 3, 4, 6)
    expected = testing.space_to_depth_python(x, 2)
    equal(run(lambda X: topi.nn.space_to_depth(X, 2), x), expected)
    equal(run(lambda X: topi.nn.depth_to_space(X, 2), expected), x)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_nll_loss(reduction):
    predictions, weights = real(4, 3, 2), np.abs(real(3, seed=1))
    targets = np.random.default_rng(2).integers(0, 3, (4, 2))
    targets[1, 1] = 7
    result = run(
        lambda P, T, W: topi.nn.nll_loss(P, T, W, reduction, 7), predictions, targets, weights
    )
    expected = testing.nll_loss(predictions, targets, weights, reduction, 7)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_nll_loss_of_one_sample():
    predictions, weights = real(3), np.ones(3, "float32")
    target = np.array(2)
    result = run(lambda P, T, W: topi.nn.nll_loss(P, T, W, "sum", -1), predictions, target, weights)
    np.testing.assert_allclose(result, -predictions[2])


@pytest.mark.parametrize("scale", [(2, 3), (1.5, 0.5), (0.7, 1)])
@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize(
    ("method", "name"), [("nearest_neighbor",) * 2, ("linear", "bilinear"), ("cubic", "bicubic")]
)
def test_resize2d(scale, mode, method, name):
    x = real(1, 2, 6, 8)
    expected = testing.resize2d_python(x, scale, "NCHW", name, mode)
    size = expected.shape[2:]
    result = run(lambda X: topi.image.resize2d(X, None, size, "NCHW", method, mode), x)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    result = run(lambda X: topi.image.resize2d(X, None, size, "NHWC", method, mode), last)
    np.testing.assert_allclose(result, expected.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
def test_images_are_resized_one_dimension_after_another(method):
    """Rows that are part of several results are made once, by indices that fill vectors."""
    X = te.placeholder((1, 2, 4, 4), name="X")
    func = te.create_prim_func([X, topi.image.resize2d(X, None, (8, 8), method=method)])
    blocks = [n for n in walk(func.body) if isinstance(n, Block) and n.name_hint != "root"]
    assert len(blocks) == 2
    for block in blocks:
        loads = [node for node in walk(block.body) if isinstance(node, BufferLoad)]
        assert all(sum(not isinstance(i, Var) for i in load.indices) == 1 for load in loads)
        converted = [node for node in walk(block.body) if isinstance(node, Cast)]
        assert {str(node.dtype) for node in converted} <= {"int32", "float32"}


def test_resize2d_refuses_what_it_does_not_know():
    X = te.placeholder((1, 1, 4, 4))
    with pytest.raises(ArgumentValueError, match="`method` is 'nearest_neighbor', "):
        topi.image.resize2d(X, None, (2, 2), method="area")
    with pytest.raises(ArgumentValueError, match="region of interest"):
        topi.image.resize2d(X, (0.0, 0.0, 1.0, 1.0), (2, 2))


def test_upsampling():
    x = real(1, 2, 3, 4)
    equal(run(lambda X: topi.nn.upsampling(X, 2, 3), x), testing.upsampling_python(x, (2, 3)))
    result = run(lambda X: topi.nn.upsampling(X, 2, 2, method="bilinear", align_corners=True), x)
    expected = testing.resize2d_python(x, (2, 2))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ArgumentValueError, match="`method` is 'nearest_neighbor', "):
        topi.nn.upsampling(te.placeholder((1, 2, 3, 4)), 2, 2, method="magic")


@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
def test_resize_of_sequences_and_volumes(method):
    name = {"nearest_neighbor": method, "linear": "bilinear", "cubic": "bicubic"}[method]
    x = real(2, 3, 5)
    result = run(lambda X: topi.image.resize1d(X, None, [8], "NWC", method), x)
    image = np.ascontiguousarray(x.transpose(0, 2, 1))[:, :, None]
    expected = testing.resize2d_python(image, (1, 8 / 3), "NCHW", name, "half_pixel")
    np.testing.assert_allclose(result, expected[:, :, 0].transpose(0, 2, 1), rtol=1e-4, atol=1e-5)
    x = real(1, 2, 3, 2, 4)
    result = run(lambda X: topi.image.resize3d(X, None, (3, 4, 6), method=method), x)
    slices = [
        testing.resize2d_python(x[:, :, d], (2, 1.5), "NCHW", name, "half_pixel") for d in range(3)
    ]
    np.testing.assert_allclose(result, np.stack(slices, 2), rtol=1e-4, atol=1e-5)
    turned = np.ascontiguousarray(x.transpose(0, 1, 3, 2, 4))
    result = run(lambda X: topi.image.resize3d(X, None, (4, 3, 6), method=method), turned)
    np.testing.assert_allclose(
        result, np.stack(slices, 2).transpose(0, 1, 3, 2, 4), rtol=1e-4, atol=1e-5
    )
    with pytest.raises(ArgumentValueError, match="`size` has a number for each of NCDHW's 3"):
        topi.image.resize3d(te.placeholder((1, 1, 2, 2, 2)), None, (2, 2))


def test_upsampling3d():
    x = real(1, 2, 2, 3, 2)
    result = run(lambda X: topi.nn.upsampling3d(X, 2, 1, 3), x)
    equal(result, x.repeat(2, 2).repeat(3, 4))
    with pytest.raises(ArgumentValueError, match="`method` is 'nearest_neighbor' or 'trilinear'"):
        topi.nn.upsampling3d(te.placeholder((1, 2, 3, 4, 5)), 2, 2, 2, method="bicubic")


def test_space_to_batch_and_back():
    x = whole(2, 4, 5, 3)
    block, before, after = (2, 3), (1, 0), (1, 1)
    padded = np.pad(x, [(0, 0), (1, 1), (0, 1), (0, 0)])
    expected = np.concatenate([padded[:, i::2, j::3] for i in range(2) for j in range(3)])
    result = run(lambda X: topi.nn.space_to_batch_nd(X, block, before, after), x)
    equal(result, expected)
    result = run(
        lambda X: topi.nn.space_to_batch_nd(X, block, before, after), x, dims=[("n", 4, 5, "c")]
    )
    equal(result, expected)
    equal(run(lambda X: topi.nn.batch_to_space_nd(X, block, before, after), expected), x)
    with pytest.raises(ShapeError, match="dimension 2 modulo 3, and 0"):
        topi.nn.space_to_batch_nd(te.placeholder((2, 4, 5, 3)), block, before, (1, 0))
    with pytest.raises(ShapeError, match="the batch modulo 6, and 0"):
        topi.nn.batch_to_space_nd(te.placeholder((2, 4, 5)), block, before, after)
    with pytest.raises(ArgumentError, match="`block_shape` has a positive integer"):
        topi.nn.space_to_batch_nd(te.placeholder((2, 4)), block, before, after)


def test_scale_shift():
    x, scale, shift = whole(2, 3, 4, 5), whole(3, seed=1), whole(3, seed=2)
    expected = x * scale[:, None, None] + shift[:, None, None]
    equal(run(topi.nn.scale_shift_nchw, x, scale, shift), expected)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    equal(run(topi.nn.scale_shift_nhwc, last, scale, shift), expected.transpose(0, 2, 3, 1))
