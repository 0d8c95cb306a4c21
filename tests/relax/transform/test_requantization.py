"""Numbers that are multiplied before they are quantised are in steps of the quantisation."""

import numpy as np
import pytest
from tests.relax.builders import array, module_of
from tests.relax.transform.parts import assert_unchanged, names_of

from tilewright import relax
from tilewright.relax.interpreter import evaluate
from tilewright.relax.transform import DeadCodeElimination, FoldRequantization

op, const = relax.op, relax.const
SCALE, ZERO = const(0.3, "float32"), const(-5, "int8")
FACTORS = const(np.array([0.01, 0.2, 0.03], "float32"))
SUMMANDS = const(np.array([1.5, -2.5, 0.25], "float32"))


def quantising(body, *infos):
    """The module that quantises what `body` makes of arguments."""
    params = [relax.Var(f"x{n}", info) for n, info in enumerate(infos)]

    def whole(builder):
        with builder.dataflow():
            value = body(builder.emit, *params)
            return builder.emit_output(op.quantize(value, SCALE, ZERO))

    return module_of(params, whole)


def real(emit, integers):
    return emit(op.dequantize(integers, const(0.2, "float32"), const(7, "int8")))


def scaled(emit, sums):
    """The floats of sums of products, less a number for each channel."""
    sums = emit(op.subtract(sums, const(np.array([3, 40, -500], "int32"))))
    scaled = emit(op.multiply(emit(op.astype(sums, "float32")), FACTORS))
    return emit(op.add(scaled, SUMMANDS))


SUMS, NARROW = array(4, 3, dtype="int32"), array(4, 3, dtype="int8")
NETWORKS = {
    "sums": (quantising(scaled, SUMS), ["astype", "multiply", "add", "quantize"]),
    "a factor": (
        quantising(lambda emit, x: emit(op.multiply(x, FACTORS)), array(4, 3)),
        ["multiply", "quantize"],
    ),
    "positive ones": (
        quantising(lambda emit, x: emit(op.nn.relu(scaled(emit, x))), SUMS),
        ["astype", "multiply", "add", "nn.relu", "quantize"],
    ),
    "a residual": (
        quantising(lambda emit, x, y: emit(op.add(scaled(emit, x), real(emit, y))), SUMS, NARROW),
        ["astype", "multiply", "add", "astype", "multiply", "add", "add", "quantize"],
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_multiplied_by_constants(name):
    before, names = NETWORKS[name]
    after = DeadCodeElimination()(FoldRequantization()(before))
    found = names_of(after["main"])
    assert found[: len(names)] == names
    random = np.random.default_rng(0)
    infos = [parameter.struct_info for parameter in before["main"].params]
    arrays = [random.integers(-90, 90, (4, 3)).astype(str(info.dtype)) for info in infos]
    apart = evaluate(after, *arrays).astype("int32") - evaluate(before, *arrays)
    assert np.abs(apart).max() <= 1
    assert len(np.unique(evaluate(after, *arrays))) > 5


def used_twice(emit, x):
    y = emit(op.multiply(x, FACTORS))
    return emit(op.add(emit(op.nn.gelu(y)), emit(op.nn.relu(y))))


STAYING = {
    "nothing is multiplied": quantising(lambda emit, x: emit(op.nn.gelu(x)), array(4, 3)),
    "the product is used again": quantising(used_twice, array(4, 3)),
    "the factor is no constant": quantising(
        lambda emit, x, y: emit(op.multiply(x, y)), array(4, 3), array(3)
    ),
    "one summand is not multiplied": quantising(
        lambda emit, x, y: emit(op.add(scaled(emit, x), y)), SUMS, array(4, 3)
    ),
}


@pytest.mark.parametrize("name", STAYING)
def test_what_stays(name):
    before = STAYING[name]
    assert_unchanged(FoldRequantization(), before)
