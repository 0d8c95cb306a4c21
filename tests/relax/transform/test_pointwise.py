"""Convolutions of one pixel each are products of a matrix."""

import numpy as np
import pytest
from tests.relax.transform.fusion_programs import array
from tests.relax.transform.test_patches import TARGET, names_of, real

import tilewright as tvm
from tilewright import nd, relax
from tilewright.relax import op, transform

LAST = {"data_layout": "NHWC", "kernel_layout": "HWIO"}


def graph(shape, body, dtype="float32"):
    x = relax.Var("x", array(*shape, dtype=dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(body(builder.emit, x))
        builder.emit_func_output(result)
    return builder.get()


def convolved(emit, x, filters=8, dtype="float32", kernel=(1, 1), **options):
    channels = int(x.struct_info.extents[-1]) // options.get("groups", 1)
    weights = relax.const(real(*kernel, channels, filters, dtype=dtype))
    return emit(op.nn.conv2d(x, weights, **{**LAST, **options}))


def block(emit, x):
    """What networks for phones are made of, with a shortcut."""
    bias = relax.const(real(1, 1, 1, 8))
    y = emit(op.clip(emit(op.add(convolved(emit, x), bias)), 0, 6))
    y = convolved(emit, y, kernel=(3, 3), padding=1, groups=8)
    y = emit(op.add(convolved(emit, y, filters=5), relax.const(real(5))))
    z = convolved(emit, emit(op.add(y, x)), filters=4)
    return op.multiply(z, relax.const(2.0, "float32"))


def results_of(mod, x):
    built = relax.build(mod, "llvm", pipeline=transform.LegalizeOps())
    return relax.VirtualMachine(built)["main"](x).numpy()


@pytest.mark.parametrize("batch", [1, 2, "batch"])
@pytest.mark.parametrize("size", [(3, 5), (7, 7), (1, 4)])
def test_pixels_are_the_rows_of_a_product(batch, size):
    mod = graph((tvm.tir.Var("batch", "int64") if batch == "batch" else batch, *size, 5), block)
    after = transform.DeadCodeElimination()(transform.PointwiseConv2DToMatmul(TARGET)(mod))
    x = nd.array(real(3 if batch == "batch" else batch, *size, 5))
    np.testing.assert_allclose(results_of(after, x), results_of(mod, x), rtol=1e-4, atol=1e-4)


def test_what_follows_works_on_the_matrix():
    mod = graph((1, 7, 7, 5), block)
    after = transform.DeadCodeElimination()(transform.PointwiseConv2DToMatmul(TARGET)(mod))
    assert names_of(after) == [
        "reshape", "matmul", "add", "clip", "reshape", "nn.conv2d", "reshape", "matmul", "add",
        "add", "matmul", "multiply", "reshape",
    ]  # fmt: skip


@pytest.mark.parametrize("other", [(1, 3, 4, 8), (4, 8), (3, 1, 8)])
def test_operands_that_depend_on_the_place_of_a_pixel_find_images(other):
    def body(emit, x):
        return op.add(convolved(emit, x), relax.const(real(*other)))

    mod = graph((1, 3, 4, 5), body)
    after = transform.PointwiseConv2DToMatmul(TARGET)(mod)
    assert names_of(after) == ["reshape", "matmul", "reshape", "add"]
    x = nd.array(real(1, 3, 4, 5))
    np.testing.assert_allclose(results_of(after, x), results_of(mod, x), rtol=1e-5, atol=1e-5)


def test_a_matrix_is_made_once():
    def body(emit, x):
        return op.concat([convolved(emit, x), convolved(emit, x)], 3)

    after = transform.PointwiseConv2DToMatmul(TARGET)(graph((1, 3, 4, 5), body))
    assert names_of(after) == ["reshape", "matmul", "reshape", "matmul", "reshape", "concat"]


@pytest.mark.parametrize(
    "options",
    [
        {"strides": 2},
        {"padding": 1},
        {"padding": "SAME"},
        {"groups": 2},
        {"kernel": (1, 2)},
        {"out_dtype": "float64"},
        {"dtype": "float16"},
    ],
)
def test_others_stay(options):
    dtype = options.get("dtype", "float32")
    mod = graph((1, 8, 8, 6), lambda emit, x: convolved(emit, x, **options), dtype)
    assert transform.PointwiseConv2DToMatmul(TARGET)(mod) is mod


def test_channels_first_and_weights_that_are_arguments_stay():
    mod = graph((1, 6, 8, 8), lambda emit, x: op.nn.conv2d(x, relax.const(real(8, 6, 1, 1))))
    assert transform.PointwiseConv2DToMatmul(TARGET)(mod) is mod
    x, w = relax.Var("x", array(1, 8, 8, 6)), relax.Var("w", array(1, 1, 6, 8))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w]):
        builder.emit_func_output(builder.emit(op.nn.conv2d(x, w, **LAST)))
    mod = builder.get()
    assert transform.PointwiseConv2DToMatmul(TARGET)(mod) is mod


def test_numbers_beside_tensors_stay():
    mod = graph((1, 8, 8, 6), lambda emit, x: emit(op.clip(x, 0.0, 6.0)))
    assert transform.PointwiseConv2DToMatmul(TARGET)(mod) is mod


def test_programs_for_devices_stay():
    mod = graph((1, 8, 8, 6), convolved)
    assert transform.PointwiseConv2DToMatmul("cuda -arch=sm_90")(mod) is mod
