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
FACTORS = const(np.array([[0.01], [0.2], [0.03]], "float32"))
SUMMANDS = const(np.array([[1.5], [-2.5], [0.25]], "float32"))


def quantising(body, *infos):
    """The module that quantises what `body` makes of arguments."""
    params = [relax.Var(f"x{n}", info) for n, info in enumerate(infos)]

    def whole(builder):
        with builder.dataflow():
            value = body(builder.emit, *params)
            return builder.emit_output(op.quantize(value, SCALE, ZERO))

    return module_of(params, whole)


def convolved(emit, x):
    weight = np.random.default_rng(1).integers(-9, 9, (3, 2, 3)).astype("int8")
    return emit(op.nn.conv1d(x, const(weight), out_dtype="int32"))


def scaled(emit, sums):
    """The floats of sums of products, less a number for each channel."""
    sums = emit(op.subtract(convolved(emit, sums), const(np.array([[3], [40], [-500]], "int32"))))
    scaled = emit(op.multiply(emit(op.astype(sums, "float32")), FACTORS))
    return emit(op.add(scaled, SUMMANDS))


IMAGES = array(2, 2, 9, dtype="int8")
NAMES = ["nn.conv1d", "subtract", "astype", "multiply", "add", "quantize"]
NETWORKS = {
    "sums": (quantising(scaled, IMAGES), NAMES),
    "positive ones": (
        quantising(lambda emit, x: emit(op.nn.relu(scaled(emit, x))), IMAGES),
        [*NAMES[:-1], "nn.relu", "quantize"],
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
    arrays = [random.integers(-90, 90, (2, 2, 9)).astype(str(info.dtype)) for info in infos]
    apart = evaluate(after, *arrays).astype("int32") - evaluate(before, *arrays)
    assert np.abs(apart).max() <= 1
    assert len(np.unique(evaluate(after, *arrays))) > 5


def used_twice(emit, x):
    y = scaled(emit, x)
    return emit(op.add(emit(op.nn.gelu(y)), emit(op.nn.relu(y))))


STAYING = {
    "nothing is multiplied": quantising(lambda emit, x: emit(op.nn.gelu(x)), array(4, 3, 3)),
    "no convolution": quantising(lambda emit, x: emit(op.multiply(x, FACTORS)), array(4, 3, 3)),
    "the product is used again": quantising(used_twice, IMAGES),
    "the factor is no constant": quantising(
        lambda emit, x, y: emit(op.multiply(emit(op.astype(convolved(emit, x), "float32")), y)),
        IMAGES, array(3, 7),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STAYING)
def test_what_stays(name):
    before = STAYING[name]
    assert_unchanged(FoldRequantization(), before)
