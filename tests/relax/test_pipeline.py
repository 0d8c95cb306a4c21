"""The pipelines: what becomes of whole modules."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import names_of

from tilewright import relax
from tilewright.error import ArgumentError, UnknownNameError
from tilewright.ir import GlobalVar, const
from tilewright.ir import Var as Size
from tilewright.relax.interpreter import evaluate
from tilewright.target import Target
from tilewright.tir import Evaluate, PrimFunc
from tilewright.transform import Pass, Sequential


def test_a_chain_of_operators_becomes_one_kernel():
    n = Size("n", "int64")
    x = relax.Var("x", array(n, 4))

    def body(builder):
        a = builder.emit(relax.op.exp(x))
        b = builder.emit(relax.op.add(a, relax.op.exp(x)))
        return builder.emit(relax.op.multiply(b, relax.op.exp(relax.const([1.0, 2.0, 3.0, 4.0]))))

    after = relax.get_pipeline()(module_of([x], body))
    assert names_of(after["main"]) == ["call_tir"]
    assert len([f for f in after.functions.values() if isinstance(f, PrimFunc)]) == 1
    (call,) = bindings_in(after["main"])
    constants = [a for a in call.value.args[1].fields if isinstance(a, relax.Constant)]
    np.testing.assert_allclose(constants[0].data.numpy(), np.exp([1, 2, 3, 4]), rtol=1e-6)
    again = relax.get_pipeline()(after)
    assert len(bindings_in(again["main"])) == 1


def test_a_normalised_convolution_becomes_one_kernel_with_other_weights():
    x = relax.Var("x", array(1, 2, 4, 4))
    weight = relax.const(np.ones((3, 2, 3, 3), "float32"))
    params = [relax.const(np.full(3, i + 1, "float32")) for i in range(4)]

    def body(builder):
        y = builder.emit(relax.op.nn.conv2d(x, weight))
        normal = builder.emit(relax.op.nn.batch_norm(y, *params))
        return builder.emit(relax.op.nn.relu(builder.emit(relax.TupleGetItem(normal, 0))))

    before = module_of([x], body)
    after = relax.get_pipeline("zero")(before)
    assert names_of(after["main"]) == ["call_tir"]
    data = np.random.default_rng(0).random((1, 2, 4, 4), np.float32)
    np.testing.assert_allclose(evaluate(after, data), evaluate(before, data), rtol=1e-5)


def test_a_reshape_alone_moves_nothing_and_one_between_others_is_part_of_a_kernel():
    x = relax.Var("x", array(4, 6))

    def alone(builder):
        return builder.emit(relax.op.reshape(x, (24,)))

    def between(builder):
        y = builder.emit(relax.op.reshape(builder.emit(relax.op.permute_dims(x)), (24,)))
        return builder.emit(relax.op.exp(y))

    pipeline = relax.get_pipeline("zero")
    assert names_of(pipeline(module_of([x], alone))["main"]) == ["reshape"]
    assert names_of(pipeline(module_of([x], between))["main"]) == ["call_tir"]


@pytest.mark.parametrize(
    ("target", "is_integer"), [("llvm -mcpu=haswell", True), ("opencl", False)]
)
def test_products_of_quantised_arrays_are_of_integers_where_that_is_fast(target, is_integer):
    x = relax.Var("x", array(3, 4, dtype="int8"))
    weight = relax.const(np.arange(-4, 4, dtype="int8").reshape(4, 2))
    parameters = relax.const(0.5, "float32"), relax.const(0, "int8")

    def body(builder):
        parts = (builder.emit(relax.op.dequantize(part, *parameters)) for part in (x, weight))
        return builder.emit(relax.op.matmul(*parts))

    before = module_of([x], body)
    with Target(target):
        after = relax.get_pipeline("zero")(before)
    kernels = [f for f in after.functions.values() if isinstance(f, PrimFunc)]
    dtypes = {str(buffer.dtype) for f in kernels for buffer in f.body.block.alloc_buffers}
    assert ("int32" in dtypes) == is_integer
    data = np.random.default_rng(0).integers(-128, 128, (3, 4), "int8")
    np.testing.assert_allclose(evaluate(after, data), evaluate(before, data), rtol=1e-6)


@pytest.mark.parametrize("symbol", [None, "linear"])
def test_functions_that_are_called_by_their_names_stay(symbol):
    attrs = {} if symbol is None else {"global_symbol": symbol}
    x = relax.Var("x", array(3))
    before = module_of([x], lambda b: b.emit(relax.op.call_dps_packed("linear", x, array(3))))
    before.update_func(GlobalVar("linear"), PrimFunc((), Evaluate(const(0)), attrs=attrs))
    after = relax.get_pipeline("default_build")(before)
    assert "linear" in after
    assert names_of(after["main"]) == ["call_dps_packed"]


def test_names():
    with pytest.raises(UnknownNameError, match="did you mean 'default_build'"):
        relax.get_pipeline("default_buidl")
    assert isinstance(relax.get_pipeline("zero"), Pass)


def test_a_pipeline_of_ones_own():
    @relax.register_pipeline("nothing at all")
    def nothing(title="nothing"):
        return Sequential([], name=title)

    assert relax.get_pipeline("nothing at all", title="other").name == "other"
    with pytest.raises(ArgumentError, match="already"):
        relax.register_pipeline("nothing at all")
    relax.register_pipeline("no pass at all")(lambda: 3)
    with pytest.raises(ArgumentError, match="'no pass at all' must give a pass: 3"):
        relax.get_pipeline("no pass at all")
