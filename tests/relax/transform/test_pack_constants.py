"""Constant operands as the schedules of kernels want them."""

import numpy as np
import pytest
from tests.relax.transform import fusion_programs as programs
from tests.relax.transform.fusion_programs import (
    array,
    assert_same_results,
    bindings_of,
    built,
    fused,
    is_call,
)

import tilewright as tvm
from tilewright import relax, te
from tilewright.relax import transform
from tilewright.relax.op.base import CALL_TIR
from tilewright.tir.analysis import verify_well_formed

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=1"


def weights(*shape, seed=1):
    return relax.const(np.random.default_rng(seed).integers(-4, 5, shape).astype("float32"))


def dense(a, b):
    """The product with a matrix of which rows are columns, which is packed however small it is."""
    k = te.reduce_axis((0, a.shape[1]), name="k")
    shape = (a.shape[0], b.shape[0])
    return te.compute(shape, lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="dense")


def emit(builder, function, *args):
    return builder.emit_te(function, *args, primfunc_name_hint=function.__name__)


def layer(w):
    def make(builder, x, *_):
        return emit(builder, programs.relu, emit(builder, dense, x, w))

    return make


def packed(mod):
    after = transform.PackConstants(TARGET)(mod)
    for func in after.functions.values():
        if not isinstance(func, relax.Function):
            verify_well_formed(func)
    return after


def operands(mod):
    (call,) = [b.value for b in bindings_of(mod["main"]) if is_call(b)]
    assert call.op is CALL_TIR
    return call.args[1].fields


@pytest.mark.parametrize("columns", [32, 20])
def test_the_operand_of_a_product_is_packed(columns):
    mod = fused(built({"x": array(8, 12)}, layer(weights(columns, 12))))
    after = packed(mod)
    assert operands(mod)[1].data.shape == (columns, 12)
    assert operands(after)[1].data.shape == (1, 12, columns)  # one panel
    assert len(operands(after)[1].struct_info.extents) == len(operands(after)[1].data.shape)
    assert_same_results(mod, after, (8, 12))


def test_equal_kernels_share_what_packs():
    def make(builder, x):
        for seed in range(3):
            x = emit(builder, dense, x, weights(12, 12, seed=seed))
        return x

    mod = fused(built({"x": array(8, 12)}, make))
    after = packed(mod)
    assert len(after.functions) == 2
    assert_same_results(mod, after, (8, 12))


def test_nothing_is_packed_that_is_used_for_one_row():
    mod = fused(built({"x": array(1, 12)}, layer(weights(32, 12))))
    assert packed(mod) is mod


def test_operands_that_differ_between_calls_must_all_be_constants():
    def make(builder, x, y):
        return emit(builder, programs.add, emit(builder, dense, x, y), emit(builder, dense, x, W))

    W = weights(32, 12)
    mod = built({"x": array(8, 12), "y": array(32, 12)}, make)
    assert packed(mod) is mod


def test_exported_kernels_stay():
    mod = built({"x": array(8, 12)}, lambda bb, x: emit(bb, dense, x, weights(32, 12)))
    mod = transform.AnnotateTIROpPattern()(mod)
    assert packed(mod) is not mod
    mod["dense"] = mod["dense"].with_attr("global_symbol", "dense")
    assert packed(mod) is mod


@pytest.mark.parametrize(("largest", "is_narrow"), [(64, True), (65, False)])
@pytest.mark.parametrize("rows", [7, 40])
def test_bytes_are_multiplied_as_bytes_where_weights_are_narrow(largest, is_narrow, rows):
    rng = np.random.default_rng(0)
    w = rng.integers(-64, 65, (30, 24)).astype("int8")
    w[:2] = [[64], [-64]]
    w[2, 3] = largest
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((rows, 30), "uint8"))
    with builder.function("main", [x]):
        product = builder.emit(relax.op.matmul(x, relax.const(w), out_dtype="int32"))
        builder.emit_func_output(builder.emit(relax.op.add(product, relax.const(1, "int32"))))
    target = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=1"
    with tvm.target.Target(target):
        lowered = relax.get_pipeline("default_build")(builder.get())
    assert ("dp4a_narrow" in str(lowered)) is is_narrow
    data = np.full((rows, 30), 255, "uint8")
    data[:, ::3] = rng.integers(0, 256, (rows, 10))
    main = relax.VirtualMachine(relax.build(builder.get(), target))["main"]
    expected = data.astype("int32") @ w.astype("int32") + 1
    np.testing.assert_array_equal(main(tvm.nd.array(data)).numpy(), expected)
