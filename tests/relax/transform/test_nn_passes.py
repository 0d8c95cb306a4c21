"""Passes that know what operators of neural networks compute."""

import ml_dtypes
import numpy as np
import pytest
from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import assert_unchanged, names_of, shape_of

from tilewright import relax
from tilewright.error import ArgumentValueError
from tilewright.ir import Var as Size
from tilewright.relax import op
from tilewright.relax.analysis import check_well_formed, has_reshape_pattern
from tilewright.relax.interpreter import evaluate
from tilewright.relax.transform import (
    AdjustMatmulOrder,
    CanonicalizeBindings,
    CombineParallelMatmul,
    DeadCodeElimination,
    DecomposeOpsForInference,
    DecomposeOpsForTraining,
    FastMathTransform,
    FoldBatchnormToConv2D,
    FoldConstant,
    FuseTransposeMatmul,
    LegalizeOps,
    ReorderPermuteDimsAfterConcat,
    RewriteDataflowReshape,
    ToMixedPrecision,
)
from tilewright.tir.function import PrimFunc
from tilewright.transform import Sequential

N = Size("n", "int64")


def values(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype("float32")


def weight(*shape, seed=0):
    return relax.const(values(*shape, seed=seed))


def in_dataflow(*params, make):
    """A module with a dataflow block whose result `make` gives."""

    def body(builder):
        with builder.dataflow():
            return builder.emit_output(make(builder, *params))

    return module_of(list(params), body)


def flat(results):
    return [part for r in results for part in flat(r)] if isinstance(results, tuple) else [results]


def check(change, mod, *inputs, rtol=1e-5):
    """The result of a pass, which must compute the same."""
    after = change(mod)
    check_well_formed(after)
    pairs = zip(flat(evaluate(after, *inputs)), flat(evaluate(mod, *inputs)), strict=True)
    for got, wanted in pairs:
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=1e-6)
    return after


# --- batch_norm -----------------------------------------------------------------------------


def norm(builder, data, axis, parameters, **options):
    return builder.emit(op.nn.batch_norm(data, *parameters, axis=axis, **options))


@pytest.mark.parametrize("axis", [1, 2, -1])
@pytest.mark.parametrize(("scale", "center"), [(True, True), (False, True), (True, False)])
def test_batch_norm_in_inference(axis, scale, center):
    x = relax.Var("x", array(N, 3, 3))
    params = [relax.Var(name, array(3)) for name in ("gamma", "beta", "mean", "var")]

    def make(builder, x, *params):
        return norm(builder, x, axis, params, scale=scale, center=center)

    before = in_dataflow(x, *params, make=make)
    inputs = [values(2, 3, 3), *(values(3, seed=s) for s in range(4))]
    after = check(DecomposeOpsForInference(), before, *inputs)
    assert "nn.batch_norm" not in names_of(after["main"])
    assert_unchanged(DecomposeOpsForInference(), after)
    assert_unchanged(DecomposeOpsForTraining(), before)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("change", [DecomposeOpsForInference(), FoldBatchnormToConv2D()])
def test_half_precision_is_normalised_in_single_precision(dtype, change):
    """Each result is rounded once, also where the mean is far from 0 and the variance is small."""
    convolves = isinstance(change, FoldBatchnormToConv2D)
    shape = (1, 8, 8, 8)
    ones = np.zeros((8, 8, 1, 1), "float32")
    ones[range(8), range(8)] = 1  # each channel on its own
    rng = np.random.default_rng(0)
    data = (3 + rng.standard_normal(shape) / 16).astype(dtype)
    scales = [rng.uniform(0.5, 2, 8), rng.standard_normal(8), np.full(8, 3.0), np.full(8, 1 / 256)]
    params = [relax.const(np.asarray(value, dtype)) for value in scales]
    x = relax.Var("x", array(*shape, dtype=dtype))

    def make(builder, x):
        image = op.nn.conv2d(x, relax.const(ones.astype(dtype))) if convolves else x
        return relax.TupleGetItem(norm(builder, builder.emit(image), 1, params), 0)

    after = change(in_dataflow(x, make=make))
    assert "nn.batch_norm" not in names_of(after["main"])
    (got,) = flat(evaluate(after, data))
    gamma, beta, mean, variance = (np.asarray(s, dtype).astype("float64") for s in scales)
    factor = (gamma / np.sqrt(variance + 1e-5)).reshape(8, 1, 1)
    want = (data.astype("float64") - mean.reshape(8, 1, 1)) * factor + beta.reshape(8, 1, 1)
    assert got.dtype == dtype
    step = float(ml_dtypes.finfo(dtype).eps)
    error = np.abs(got.astype("float64") - want)
    if convolves:  # the weights are rounded, too
        assert (error <= step * (np.abs(want) + 4 * np.abs(factor))).all()
    else:
        assert (error <= step * np.abs(want) + 1e-4).all()


def test_normalisation_in_training():
    x = relax.Var("x", array(N, 3, 2))
    params = [weight(3, seed=s) for s in range(4)]

    def make(builder, x):
        result = norm(builder, x, 1, params, training=True)
        first = builder.emit(relax.TupleGetItem(result, 0))
        gamma, beta = weight(3, 2, seed=5), weight(3, 2, seed=6)
        return relax.Tuple([result, builder.emit(op.nn.layer_norm(first, gamma, beta, [1, 2]))])

    before = in_dataflow(x, make=make)
    after = check(DecomposeOpsForTraining(), before, values(4, 3, 2), rtol=1e-4)
    assert not {"nn.batch_norm", "nn.layer_norm"} & set(names_of(after["main"]))
    assert_unchanged(DecomposeOpsForInference(), before)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_normalisation_in_training_rounds_half_precision_once(dtype):
    """Also where the mean is far from 0 and the variance is small."""
    shape, momentum = (16, 4, 32), 0.25
    rng = np.random.default_rng(0)
    data = (3 + rng.standard_normal(shape) / 16).astype(dtype)
    ones, zeros = np.ones(4, dtype), np.zeros(4, dtype)
    constants = [relax.const(value) for value in (ones, zeros, zeros, ones)]
    x = relax.Var("x", array(*shape, dtype=dtype))

    def make(builder, x):
        batch = norm(builder, x, 1, constants, training=True, momentum=momentum)
        along = relax.const(np.ones(32, dtype)), relax.const(np.zeros(32, dtype))
        return relax.Tuple([batch, builder.emit(op.nn.layer_norm(x, *along, [-1]))])

    results = evaluate(DecomposeOpsForTraining()(in_dataflow(x, make=make)), data)
    got, mean, variance, by_row = flat(results)
    exact = data.astype("float64")

    def normalised(axes):
        deviation = exact - exact.mean(axes, keepdims=True)
        return deviation / np.sqrt(exact.var(axes, keepdims=True) + 1e-5)

    step = float(ml_dtypes.finfo(dtype).eps)
    moved = momentum * exact.mean((0, 2)), 1 - momentum + momentum * exact.var((0, 2))
    wanted = [normalised((0, 2)), *moved, normalised(2)]
    for part, want in zip((got, mean, variance, by_row), wanted, strict=True):
        assert part.dtype == dtype
        assert (np.abs(part.astype("float64") - want) <= step * np.abs(want) + 1e-4).all()


def test_dropout_does_nothing_in_inference():
    x = relax.Var("x", array(N, 3))

    def make(builder, x):
        kept = builder.emit(relax.TupleGetItem(builder.emit(op.nn.dropout(x)), 0))
        return op.exp(kept)

    steps = [DecomposeOpsForInference(), CanonicalizeBindings(), DeadCodeElimination()]
    after = check(Sequential(steps), in_dataflow(x, make=make), values(2, 3))
    assert names_of(after["main"]) == ["exp"]


class TestFoldBatchnorm:
    SIMPLIFY = Sequential([CanonicalizeBindings(), FoldConstant(), DeadCodeElimination()])

    def network(self, between=lambda builder, value: value, axis=1, **layout):
        x = relax.Var("x", array(N, 2, 4, 4))
        params = [weight(3, seed=s) for s in range(4)]
        kernel = weight(3, 2, 3, 3) if layout.get("kernel_layout", "OIHW") == "OIHW" else None

        def make(builder, x):
            w = kernel if kernel is not None else weight(3, 3, 2, 3)
            data = builder.emit(op.permute_dims(x, [0, 2, 3, 1])) if layout else x
            y = builder.emit(op.nn.conv2d(data, w, padding=1, **layout))
            result = norm(builder, between(builder, y), axis, params)
            return builder.emit(relax.TupleGetItem(result, 0))

        return in_dataflow(x, make=make)

    def fold(self, before):
        folded = check(FoldBatchnormToConv2D(), before, values(1, 2, 4, 4), rtol=1e-4)
        return check(self.SIMPLIFY, folded, values(1, 2, 4, 4), rtol=1e-4)["main"]

    def test_the_factor_goes_into_the_weights(self):
        assert names_of(self.fold(self.network())) == ["nn.conv2d", "add"]

    def test_other_layouts(self):
        before = self.network(axis=3, data_layout="NHWC", kernel_layout="HWIO")
        assert names_of(self.fold(before)) == ["permute_dims", "nn.conv2d", "add"]

    def test_a_bias_in_between(self):
        before = self.network(lambda builder, y: builder.emit(op.add(y, weight(3, 1, 1, seed=9))))
        assert names_of(self.fold(before)) == ["nn.conv2d", "add"]

    def test_a_convolution_with_another_use_stays(self):
        def twice(builder, y):
            return builder.emit(op.add(y, y))

        assert_unchanged(FoldBatchnormToConv2D(), self.network(twice))

        def also_returned(builder, x):
            y = builder.emit(op.nn.conv2d(x, weight(3, 2, 1, 1)))
            return relax.Tuple([norm(builder, y, 1, [weight(3, seed=s) for s in range(4)]), y])

        x = relax.Var("x", array(1, 2, 2, 2))
        assert_unchanged(FoldBatchnormToConv2D(), in_dataflow(x, make=also_returned))

    def test_another_axis_stays(self):
        def make(builder, x):
            y = builder.emit(op.nn.conv2d(x, weight(3, 2, 1, 1)))
            return norm(builder, y, 2, [weight(4, seed=s) for s in range(4)])

        x = relax.Var("x", array(1, 2, 4, 4))
        assert_unchanged(FoldBatchnormToConv2D(), in_dataflow(x, make=make))


# --- products --------------------------------------------------------------------------------


def test_products_of_one_array():
    x = relax.Var("x", array(N, 4))

    def make(builder, x):
        q, k, v = (builder.emit(op.matmul(x, weight(4, c, seed=c))) for c in (2, 3, 1))
        other = builder.emit(op.matmul(q, weight(2, 2)))
        return relax.Tuple([q, k, v, other])

    before = in_dataflow(x, make=make)
    after = check(CombineParallelMatmul(), before, values(3, 4))
    folded = check(FoldConstant(), after, values(3, 4))
    names = names_of(folded["main"])
    assert (names.count("matmul"), names.count("split")) == (2, 1)
    assert_unchanged(CombineParallelMatmul(), after)


def test_linear_layers_of_one_array():
    x = relax.Var("x", array(N, 4))

    def make(builder, x):
        parts = [builder.emit(op.linear(x, weight(c, 4, seed=c), weight(c))) for c in (2, 3)]
        return op.concat(parts, axis=1)

    after = check(CombineParallelMatmul(), in_dataflow(x, make=make), values(3, 4))
    assert names_of(after["main"]).count("linear") == 1


def test_products_that_differ_stay_apart():
    x, w = relax.Var("x", array(N, 4)), relax.Var("w", array(4, 4))

    def make(builder, x, w):
        parts = [op.matmul(x, weight(4, 2)), op.matmul(x, w), op.matmul(w, weight(4, 2))]
        return relax.Tuple([builder.emit(part) for part in parts])

    assert_unchanged(CombineParallelMatmul(), in_dataflow(x, w, make=make))


@pytest.mark.parametrize(
    ("left", "right", "axes"),
    [((N, 4), (3, 4), None), ((2, N, 4), (2, 3, 4), [0, 2, 1]), ((2, N, 4), (3, 4), [-1, 0])],
)
def test_a_transposed_operand_is_read_as_it_is(left, right, axes):
    x, w = relax.Var("x", array(*left)), relax.Var("w", array(*right))

    def make(builder, x, w):
        return op.matmul(x, builder.emit(op.permute_dims(w, axes)))

    inputs = [values(*(5 if e is N else e for e in shape)) for shape in (left, right)]
    after = check(FuseTransposeMatmul(), in_dataflow(x, w, make=make), *inputs)
    assert names_of(DeadCodeElimination()(after)["main"]) == ["call_tir"]


@pytest.mark.parametrize(
    ("left", "right"),
    [((5, 4), (5, 3)), ((2, 5, 4), (2, 5, N)), ((5, 4), (5,)), ((700, 100), (700, 3))],
)
def test_a_transposed_left_operand_is_read_as_it_is(left, right):
    x, w = relax.Var("x", array(*left)), relax.Var("w", array(*right))

    def make(builder, x, w):
        axes = [*range(len(left) - 2), len(left) - 1, len(left) - 2]
        return op.matmul(builder.emit(op.permute_dims(x, axes)), w)

    inputs = [values(*(6 if e is N else e for e in shape)) for shape in (left, right)]
    after = check(FuseTransposeMatmul(), in_dataflow(x, w, make=make), *inputs)
    assert names_of(DeadCodeElimination()(after)["main"]) == ["call_tir"]


@pytest.mark.parametrize("columns", [33, N])
def test_a_large_left_operand_is_copied_for_many_columns(columns):
    x, w = relax.Var("x", array(700, 100)), relax.Var("w", array(700, columns))

    def make(builder, x, w):
        return op.matmul(builder.emit(op.permute_dims(x, [1, 0])), w)

    assert_unchanged(FuseTransposeMatmul(), in_dataflow(x, w, make=make))


@pytest.mark.parametrize(("steps", "rows", "copied"), [(4, 5, []), (700, 100, ["permute_dims"])])
def test_both_operands_are_read_transposed(steps, rows, copied):
    """Or the right one, where the left one is large."""
    x, w = relax.Var("x", array(steps, rows)), relax.Var("w", array(40, steps))

    def make(builder, x, w):
        return op.matmul(*(builder.emit(op.permute_dims(item, [1, 0])) for item in (x, w)))

    inputs = values(steps, rows), values(40, steps)
    after = check(FuseTransposeMatmul(), in_dataflow(x, w, make=make), *inputs)
    assert names_of(DeadCodeElimination()(after)["main"]) == [*copied, "call_tir"]


@pytest.mark.parametrize(
    ("left", "right", "axes"),
    [((4,), (3, 4), None), ((2, 5, 4), (4, 2, 3), [1, 0, 2]), ((5, 4), (2, 3, 4), [0, 2, 1])],
)
def test_other_products_stay(left, right, axes):
    x, w = relax.Var("x", array(*left)), relax.Var("w", array(*right))

    def make(builder, x, w):
        return op.matmul(x, builder.emit(op.permute_dims(w, axes)))

    assert_unchanged(FuseTransposeMatmul(), in_dataflow(x, w, make=make))


@pytest.mark.parametrize("swapped", [(0,), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("options", [{}, {"causal_mask": "TopLeft", "scale": 0.3}])
def test_attention_reads_heads_before_sequences(swapped, options):
    shapes = [(2, N, 3, 4), (2, 6, 3, 4), (2, 6, 3, 5)]
    given = [
        (b, n, i, h) if number in swapped else (b, i, n, h)
        for number, (b, i, n, h) in enumerate(shapes)
    ]
    operands = [relax.Var(name, array(*shape)) for name, shape in zip("qkv", given, strict=True)]

    def make(builder, *operands):
        parts = [
            builder.emit(op.permute_dims(x, [0, 2, 1, 3])) if number in swapped else x
            for number, x in enumerate(operands)
        ]
        return op.nn.attention(*parts, **options)

    inputs = [values(*(5 if e is N else e for e in shape)) for shape in given]
    after = check(FuseTransposeMatmul(), in_dataflow(*operands, make=make), *inputs)
    assert names_of(DeadCodeElimination()(after)["main"]) == ["call_tir"]


def test_other_attention_stays():
    q, k = relax.Var("q", array(2, N, 3, 4)), relax.Var("k", array(2, 3, 4, N))

    def make(builder, q, k):
        parts = [builder.emit(op.permute_dims(k, [0, 3, 1, 2])) for _ in range(2)]
        return op.nn.attention(q, *parts)

    assert_unchanged(FuseTransposeMatmul(), in_dataflow(q, k, make=make))


def test_the_order_of_products():
    x = relax.Var("x", array(N, 2))
    a, b = relax.Var("a", array(2, 9)), relax.Var("b", array(9, 2))

    def left_first(builder, x, a, b):
        return op.matmul(builder.emit(op.matmul(x, a)), b)

    def of_constants(builder, x):
        return op.matmul(builder.emit(op.matmul(x, weight(2, 9))), weight(9, 2, seed=1))

    def vector(builder, a, b):
        product = builder.emit(op.matmul(b, a))
        return op.matmul(weight(1, 9), product)

    inputs = [values(30, 2), values(2, 9), values(9, 2)]
    before = in_dataflow(x, a, b, make=left_first)
    assert_unchanged(AdjustMatmulOrder(), before)  # for few rows it is right
    many = relax.Var("x", array(30, 2))
    after = DeadCodeElimination()(
        check(AdjustMatmulOrder(), in_dataflow(many, a, b, make=left_first), *inputs)
    )
    assert shape_of(bindings_in(after["main"])[0].value) == (2, 2)
    after = check(AdjustMatmulOrder(), in_dataflow(x, make=of_constants), inputs[0])
    assert len(bindings_in(FoldConstant()(DeadCodeElimination()(after))["main"])) == 1
    after = DeadCodeElimination()(
        check(AdjustMatmulOrder(), in_dataflow(a, b, make=vector), *inputs[1:])
    )
    assert shape_of(bindings_in(after["main"])[0].value) == (1, 2)


def test_arrays_are_joined_before_they_are_transposed():
    a, b = relax.Var("a", array(N, 2)), relax.Var("b", array(3, 2))

    def make(builder, a, b):
        parts = [builder.emit(op.permute_dims(value)) for value in (a, b)]
        return op.concat(parts, axis=1)

    before = in_dataflow(a, b, make=make)
    after = check(ReorderPermuteDimsAfterConcat(), before, values(4, 2), values(3, 2))
    assert names_of(DeadCodeElimination()(after)["main"]) == ["concat", "permute_dims"]

    def other_axes(builder, a, b):
        parts = [builder.emit(op.permute_dims(a)), builder.emit(op.permute_dims(b, [0, 1]))]
        return op.concat(parts, axis=0)

    square = [relax.Var(name, array(2, 2)) for name in "ab"]
    assert_unchanged(ReorderPermuteDimsAfterConcat(), in_dataflow(*square, make=other_axes))


def test_fast_functions():
    x = relax.Var("x", array(N, 4))

    def make(builder, x):
        for function in (op.exp, op.tanh, op.erf, lambda x: op.nn.softmax(x, 0), op.sin):
            x = builder.emit(function(x))
        return x

    after = check(FastMathTransform(), in_dataflow(x, make=make), values(3, 4))
    assert names_of(after["main"]) == ["call_tir"] * 4 + ["sin", "DataflowVar"]
    assert {"fast_exp", "fast_tanh", "fast_erf", "fast_softmax"} < {
        var.name_hint for var in after.functions
    }
    assert_unchanged(FastMathTransform(), after)


class TestMixedPrecision:
    def network(self):
        x = relax.Var("x", array(N, 4))

        def make(builder, x):
            y = builder.emit(op.nn.relu(op.matmul(x, weight(4, 4))))
            return op.matmul(y, weight(4, 2))

        return in_dataflow(x, make=make)

    def test_products_read_half_precision(self):
        after = check(ToMixedPrecision(), self.network(), values(3, 4), rtol=1e-2)
        products = [
            b.value for b in bindings_in(after["main"]) if b.value.op.name == "relax.matmul"
        ]
        assert {str(a.struct_info.dtype) for p in products for a in p.args} == {"float16"}
        assert {str(p.struct_info.dtype) for p in products} == {"float32"}
        assert_unchanged(ToMixedPrecision(), after)

    def test_products_in_half_precision(self):
        after = check(ToMixedPrecision("float16"), self.network(), values(3, 4), rtol=1e-2)
        assert names_of(after["main"]).count("astype") == 6
        with pytest.raises(ArgumentValueError, match="out_dtype is 'float32' or 'float16'"):
            ToMixedPrecision("int8")
        with pytest.raises(ArgumentValueError, match="compute_dtype is"):
            ToMixedPrecision("float32", "float64")

    def test_a_value_that_was_widened_is_not_rounded_again(self):
        h = relax.Var("h", array(N, 4, dtype="float16"))

        def make(builder, h):
            return op.matmul(builder.emit(op.astype(h, "float32")), weight(4, 2))

        after = ToMixedPrecision()(in_dataflow(h, make=make))
        assert bindings_in(after["main"])[-1].value.args[0] is after["main"].params[0]


# --- reshape ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "make"),
    [
        ((N, 6), lambda x: op.reshape(x, (N, 2, 3))),
        ((N, 2, 3), lambda x: op.flatten(x)),
        ((N, 4), lambda x: op.expand_dims(x, [0, 2])),
        ((1, N, 1), lambda x: op.squeeze(x)),
        ((6,), lambda x: op.reshape(x, (3, 2))),
    ],
)
def test_copies_to_another_shape_become_views(shape, make):
    x = relax.Var("x", array(*shape))
    before = LegalizeOps()(in_dataflow(x, make=lambda builder, x: make(x)))
    (kernel,) = [f for f in before.functions.values() if isinstance(f, PrimFunc)]
    assert has_reshape_pattern(kernel)
    data = values(*(5 if extent is N else extent for extent in shape))
    after = check(RewriteDataflowReshape(), before, data)
    assert names_of(after["main"]) == ["reshape"]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: op.permute_dims(x),
        lambda x: op.flip(x, 0),
        lambda x: op.exp(x),
        lambda x: op.add(x, x),
        lambda x: op.broadcast_to(x, (2, 3, 3)),
        lambda x: op.strided_slice(x, [0], [0], [2]),
        lambda x: op.astype(x, "float64"),
        lambda x: op.sum(x, 0),
    ],
)
def test_other_tensor_programs_stay(make):
    x = relax.Var("x", array(3, 3))
    before = LegalizeOps()(in_dataflow(x, make=lambda builder, x: make(x)))
    assert_unchanged(RewriteDataflowReshape(), before)


X, Y = relax.Var("x", array(3, 4)), relax.Var("y", array(2, 4))
IMAGE = relax.Var("image", array(1, 3, 6, 6))
SCALES = [weight(4, seed=seed) for seed in range(4)]


def normalised(builder, image):
    return relax.TupleGetItem(builder.emit(op.nn.batch_norm(image, *SCALES)), 0)


@pytest.mark.parametrize("between", [relax.DataflowVar, relax.MatchCast])
@pytest.mark.parametrize(
    ("change", "params", "first", "second"),
    [
        (
            FoldBatchnormToConv2D(),
            [IMAGE],
            lambda image: op.nn.conv2d(image, weight(4, 3, 3, 3)),
            normalised,
        ),
        (FuseTransposeMatmul(), [X, Y], op.permute_dims, lambda b, t: op.matmul(Y, t)),
        (
            AdjustMatmulOrder(),
            [X],
            lambda x: op.matmul(x, weight(4, 90)),
            lambda b, product: op.matmul(product, weight(90, 2)),
        ),
        (
            ReorderPermuteDimsAfterConcat(),
            [X],
            op.permute_dims,
            lambda b, t: op.concat([t, t], axis=0),
        ),
        (
            ToMixedPrecision(),
            [X, Y],
            lambda x: op.astype(x, "float32"),
            lambda b, wide: op.matmul(Y, op.permute_dims(wide)),
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_cannot_be_used_any_more_is_not_looked_into(change, params, first, second, between):
    """The operand of `first` is known in another dataflow block, or its result is cast."""

    def body(builder):
        with builder.dataflow():
            half = change.name == "ToMixedPrecision"
            operand = op.astype(params[0], "float16") if half else op.exp(params[0])
            result = first(builder.emit(operand))
            if between is relax.MatchCast:
                size = Size("m", "int64")
                info = builder.normalize(result).struct_info
                extents = (size, *info.extents[1:])
                result = builder.match_cast(result, relax.TensorStructInfo(extents, info.dtype))
            known = builder.emit_output(result)
        builder.emit(op.exp(params[0]))
        with builder.dataflow():
            return builder.emit_output(second(builder, known))

    before = module_of(params, body)
    after = check(change, before, *(values(*map(int, shape_of(p))) for p in params), rtol=1e-2)
    assert names_of(after["main"])[:3] == names_of(before["main"])[:3]
