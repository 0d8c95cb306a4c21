"""Convolutions of patches that do not overlap are products."""

import numpy as np
import pytest
from tests.relax.transform.fusion_programs import array, bindings_of, is_call

import tilewright as tvm
from tilewright import nd, relax
from tilewright.relax import op, transform

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=1"


def graph(shape, weights, dtype="float32", **options):
    x = relax.Var("x", array(*shape, dtype=dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(op.nn.conv2d(x, relax.const(weights), **options))
            result = builder.emit_output(op.nn.relu(y))
        builder.emit_func_output(result)
    return builder.get()


def real(*shape, dtype="float32"):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def names_of(mod):
    calls = [b.value for b in bindings_of(mod["main"]) if is_call(b)]
    return [call.op.name.removeprefix("relax.") for call in calls]


@pytest.mark.parametrize(
    ("kernel", "size"), [((4, 4), (8, 12)), ((2, 3), (6, 6)), ((1, 2), (3, 4))]
)
@pytest.mark.parametrize("batch", [1, 2, "batch"])
def test_patches_are_the_rows_of_a_product(kernel, size, batch):
    shape = (tvm.tir.Var("batch", "int64") if batch == "batch" else batch, 3, *size)
    mod = graph(shape, real(64, 3, *kernel), strides=kernel)
    after = transform.PatchConv2DToMatmul(TARGET)(mod)
    assert "matmul" in names_of(after)
    assert "nn.conv2d" not in names_of(after)
    x = nd.array(real(3 if batch == "batch" else batch, 3, *size))
    found, expected = (
        relax.VirtualMachine(relax.build(each, "llvm", pipeline=transform.LegalizeOps()))["main"](x)
        for each in (after, mod)
    )
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "mod",
    [
        graph((1, 3, 8, 8), real(64, 3, 4, 4), strides=2),  # windows overlap
        graph((1, 3, 8, 8), real(64, 3, 2, 2), strides=4),  # elements are left out
        graph((1, 3, 9, 8), real(64, 3, 4, 4), strides=4),
        graph((1, 3, 8, tvm.tir.Var("width", "int64")), real(64, 3, 4, 4), strides=4),
        graph((1, 3, tvm.tir.Var("height", "int64"), 8), real(64, 3, 1, 4), strides=(1, 4)),
        graph((1, 3, 8, 8), real(64, 3, 4, 4), strides=4, padding="SAME"),
        graph((1, 3, 6, 8), real(64, 3, 4, 4), strides=4, padding=1),
        graph((1, 3, 8, 8), real(8, 3, 4, 4), strides=4),  # few filters
        graph((1, 3, 8, 8), real(64, 3, 1, 1)),
        graph((1, 64, 8, 8), real(64, 1, 4, 4), strides=4, groups=64),
        graph((1, 8, 8, 3), real(4, 4, 3, 64), strides=4, data_layout="NHWC",
              kernel_layout="HWIO"),
        graph((1, 3, 8, 8), real(64, 3, 4, 4, dtype="float16"), dtype="float16", strides=4),
        graph((1, 3, 8, 8), real(64, 3, 4, 4), strides=4, out_dtype="float64"),
        graph((1, 3, 8, 8), real(64, 3, 4, 4, dtype="int8"), dtype="int8", strides=4,
              out_dtype="int32"),
    ],
)  # fmt: skip
def test_others_stay(mod):
    assert transform.PatchConv2DToMatmul(TARGET)(mod) is mod


def test_programs_for_devices_stay():
    mod = graph((1, 3, 8, 8), real(64, 3, 4, 4), strides=4)
    assert transform.PatchConv2DToMatmul("cuda -arch=sm_90")(mod) is mod
