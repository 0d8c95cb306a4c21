"""Products of dequantised arrays become products of their integers."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import assert_unchanged, name_of, names_of

from tilewright import relax
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.interpreter import evaluate
from tilewright.relax.transform import DeadCodeElimination, FakeQuantizationToInteger
from tilewright.target import Target

op, const = relax.op, relax.const


def drawn(shape, dtype):
    low, high = (-128, 128) if dtype == "int8" else (0, 256)
    return np.random.default_rng(len(shape)).integers(low, high, shape).astype(dtype)


def real(builder, integers, scale, zero_point, axis=-1):
    """The floats that integers stand for."""
    dtype = str(integers.struct_info.dtype)
    parameters = const(np.asarray(scale, "float32")), const(np.asarray(zero_point, dtype))
    return builder.emit(op.dequantize(integers, *parameters, axis))


def weight(builder, shape, scale, zero_point=0, axis=-1, dtype="int8"):
    return real(builder, const(drawn(shape, dtype)), scale, zero_point, axis)


def narrow(builder, x, scale=2.0, zero_point=3, dtype="uint8"):
    parameters = const(scale, "float32"), const(zero_point, dtype)
    return builder.emit(op.quantize(x, *parameters, out_dtype=dtype))


def program(x, body):
    """The module of a dataflow block."""

    def whole(builder):
        with builder.dataflow():
            return builder.emit_output(body(builder, x))

    return module_of([x], whole)


def product_of(call, *shape, dtype="uint8", zero_point=7):
    """A module that quantises the product of a quantised argument with something."""
    x = relax.Var("x", array(*shape, dtype=dtype))
    return program(
        x, lambda builder, x: builder.emit(call(builder, real(builder, x, 0.5, zero_point)))
    )


SCALES = [0.25, 0.5, 1.0, 0.125]
PRODUCTS = {
    "matmul": product_of(lambda b, x: op.matmul(x, weight(b, (5, 4), 0.5)), 2, 3, 5),
    "a scale for each column": product_of(
        lambda b, x: op.matmul(x, weight(b, (5, 4), SCALES, [0] * 4)), 3, 5
    ),
    "linear": product_of(
        lambda b, x: op.linear(x, weight(b, (4, 5), SCALES, [0, 1, 2, 3], 0)), 3, 5, dtype="int8"
    ),
    "unsigned weights": product_of(
        lambda b, x: op.matmul(x, weight(b, (5, 4), 0.5, 128, dtype="uint8")), 3, 5, zero_point=0
    ),
    "arguments only": product_of(lambda b, x: op.matmul(x, x), 2, 5, 5),
    "conv2d": product_of(
        lambda b, x: op.nn.conv2d(x, weight(b, (4, 3, 3, 3), SCALES, [0] * 4, 0), padding=(1, 0)),
        2, 3, 4, 5,
    ),
    "conv1d of groups": product_of(
        lambda b, x: op.nn.conv1d(x, weight(b, (4, 2, 3), 0.5), padding=1, strides=2, groups=2),
        2, 4, 6, dtype="int8", zero_point=-5,
    ),
    "conv1d of each channel": product_of(
        lambda b, x: op.nn.conv1d(x, weight(b, (4, 1, 3), SCALES, [0] * 4, 0), groups=4),
        2, 4, 6, dtype="int8",
    ),
    "conv2d with channels last": product_of(
        lambda b, x: op.nn.conv2d(
            x, weight(b, (3, 3, 3, 4), 0.5, 128, dtype="uint8"), padding=1, dilation=2,
            data_layout="NHWC", kernel_layout="HWIO",
        ),
        1, 5, 5, 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    before = PRODUCTS[name]
    after = DeadCodeElimination()(FakeQuantizationToInteger()(before))
    check_well_formed(after)
    assert "dequantize" not in names_of(after["main"])
    assert ("sum" in names_of(after["main"])) == (name == "arguments only")
    info = before["main"].params[0].struct_info
    x = drawn([extent.value for extent in info.extents], str(info.dtype))
    np.testing.assert_allclose(evaluate(after, x), evaluate(before, x), rtol=1e-6)


def test_weights_of_transposed_convolutions_become_floats():
    before = product_of(
        lambda b, x: op.nn.conv2d_transpose(x, weight(b, (4, 3, 2, 2), SCALES[:3], [0, 1, 2], 1)),
        2, 4, 6, 6, dtype="int8",
    )  # fmt: skip
    after = DeadCodeElimination()(FakeQuantizationToInteger()(before))
    # Only the image is not known yet.
    assert names_of(after["main"])[:2] == ["dequantize", "nn.conv2d_transpose"]
    x = drawn((2, 4, 6, 6), "int8")
    np.testing.assert_allclose(evaluate(after, x), evaluate(before, x), rtol=1e-6)


def test_a_network_of_integers_only():
    def body(builder, x):
        images = real(builder, x, 0.5, 3)
        kernel = weight(builder, (4, 2, 1, 1), SCALES, [0] * 4, 0)
        a = narrow(builder, builder.emit(op.nn.conv2d(images, kernel)))
        b = builder.emit(op.nn.max_pool2d(real(builder, a, 2.0, 3), 2, strides=2))
        b = real(builder, narrow(builder, b), 2.0, 3)
        c = builder.emit(op.concat([b, builder.emit(op.reshape(b, (1, 4, 2, 2)))], 1))
        c = builder.emit(op.permute_dims(c, (0, 2, 3, 1)))
        return narrow(builder, c)

    before = program(relax.Var("x", array(1, 2, 4, 4, dtype="uint8")), body)
    after = DeadCodeElimination()(FakeQuantizationToInteger()(before))
    floats = [
        binding.value.op.name.removeprefix("relax.")
        for block in after["main"].body.blocks
        for binding in block.bindings
        if binding.var.struct_info.dtype == "float32" and binding.var.struct_info.ndim == 4
    ]
    assert floats == ["astype", "multiply"]  # of the sums of the convolution
    x = drawn((1, 2, 4, 4), "uint8")
    apart = evaluate(after, x).astype("int32") - evaluate(before, x)
    assert np.abs(apart).max() <= 1


def half(builder):
    parameters = const(0.5, "float16"), const(1, "int8")
    square = const(drawn((4, 4), "int8"))
    return builder.emit(op.dequantize(square, *parameters, out_dtype="float16"))


UNCHANGED = {
    "scales along the sum": lambda b, x: op.matmul(x, weight(b, (4, 2), SCALES, [0] * 4, 0)),
    "floats": lambda b, x: op.matmul(x, const(np.ones((4, 2), "float32"))),
    "factors in half precision": lambda b, x: op.matmul(half(b), half(b)),
    "a negative scale": lambda b, x: op.nn.max_pool1d(
        weight(b, (1, 2, 4), -1.0), 2
    ),
    "other parameters": lambda b, x: narrow(b, x, 0.5, 6),
    "another dtype": lambda b, x: narrow(b, x, 0.5, 7, "int8"),
    "parts that are quantised differently": lambda b, x: op.concat(
        [x, weight(b, (2, 4), 0.5, 6, dtype="uint8")]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_stays(name):
    assert_unchanged(FakeQuantizationToInteger(), product_of(UNCHANGED[name], 2, 4))


def test_sums_that_may_overflow_stay():
    long = product_of(lambda b, x: op.matmul(x, weight(b, (40_000, 1), 0.5)), 1, 40_000)
    assert_unchanged(FakeQuantizationToInteger(), long)


@pytest.mark.parametrize("target", ["opencl", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"])
def test_products_stay_where_there_are_no_instructions_for_integers(target):
    with Target(target):
        assert_unchanged(FakeQuantizationToInteger(if_fast=True), PRODUCTS["matmul"])


def test_products_are_of_integers_where_there_are_instructions_for_them():
    with Target("llvm -mcpu=haswell"):
        after = FakeQuantizationToInteger(if_fast=True)(PRODUCTS["conv2d"])
        assert "dequantize" not in names_of(DeadCodeElimination()(after)["main"])


@pytest.mark.parametrize("largest", [64, 65])
@pytest.mark.parametrize("name", ["matmul", "conv2d"])
def test_signed_numbers_become_unsigned_where_narrow_weights_are_faster_then(name, largest):
    numbers = np.random.default_rng(0).integers(-64, 64, (4, 5, 3, 3)).astype("int8")
    numbers[0, 0, 0, 0] = largest
    call, shape = op.nn.conv2d, (1, 5, 6, 6)
    if name == "matmul":
        call, numbers, shape = op.matmul, numbers[:, :, 0, 0].T, (3, 5)
    before = product_of(
        lambda b, x: call(x, real(b, const(numbers), 0.5, 0)), *shape, dtype="int8", zero_point=-7
    )
    with Target("llvm -mcpu=haswell"):
        after = FakeQuantizationToInteger(if_fast=True)(before)
    check_well_formed(after)
    products = [b.value for b in bindings_in(after["main"]) if name_of(b.value).endswith(name)]
    dtypes = [str(product.args[0].struct_info.dtype) for product in products]
    assert dtypes == ["uint8" if largest == 64 else "int8"]
    x = drawn(shape, "int8")
    np.testing.assert_allclose(evaluate(after, x), evaluate(before, x), rtol=1e-6)
