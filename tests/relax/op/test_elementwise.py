"""Operators that compute element by element, against numpy."""

import math

import numpy as np
import pytest
from tests.relax.op.evaluate import KNOWN, evaluate, infer, tensor

from tilewright import relax
from tilewright.error import StructInfoError
from tilewright.ir import Var
from tilewright.relax import op

UNARY = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "ceil": np.ceil, "cos": np.cos,
    "cosh": np.cosh, "erf": np.vectorize(math.erf), "exp": np.exp, "floor": np.floor,
    "log": np.log, "log2": np.log2, "log10": np.log10, "negative": np.negative,
    "round": np.round, "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "square": np.square,
    "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc, "isfinite": np.isfinite,
    "isinf": np.isinf, "isnan": np.isnan,
}  # fmt: skip
ROUNDING_OF_INTEGERS = ("abs", "ceil", "floor", "negative", "round", "sign", "square", "trunc")
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "power": np.power, "floor_divide": np.floor_divide, "mod": np.fmod, "floor_mod": np.mod,
    "maximum": np.maximum, "minimum": np.minimum, "equal": np.equal, "not_equal": np.not_equal,
    "greater": np.greater, "greater_equal": np.greater_equal, "less": np.less,
    "less_equal": np.less_equal, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor, "left_shift": np.left_shift, "right_shift": np.right_shift,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}  # fmt: skip
FLOATS_ONLY = ("divide", "power")
INTEGERS_ONLY = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
BOOLS = (
    "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
    "equal", "not_equal", "maximum", "minimum",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", UNARY)
def test_unary_operators_of_floats(name, dtype):
    x = np.array([[-2.5, -1, -0.25, 0, 0.5], [1, 1.5, np.nan, np.inf, -np.inf]], dtype)
    result = evaluate(getattr(op, name), x)
    expected = UNARY[name](x.astype("float64"))
    np.testing.assert_allclose(result, expected, rtol=3e-3 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", ROUNDING_OF_INTEGERS)
def test_unary_operators_of_integers(name, dtype):
    x = np.array([-3, 0, 7], dtype)
    np.testing.assert_array_equal(evaluate(getattr(op, name), x), UNARY[name](x))


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 1, 3)], ids=str)
def test_unary_operators_of_any_shape(shape, known):
    x = np.ones(shape, "float32")
    np.testing.assert_array_equal(evaluate(op.negative, x, known=known), -x)


def test_bits_and_truth():
    flags, x = np.array([True, False]), np.array([0, 200], "uint8")
    np.testing.assert_array_equal(evaluate(op.logical_not, flags), ~flags)
    np.testing.assert_array_equal(evaluate(op.bitwise_not, x), ~x)
    np.testing.assert_array_equal(evaluate(op.bitwise_not, flags), ~flags)


@pytest.mark.parametrize("known", KNOWN)
def test_clip(known):
    x = np.array([-1, 0.5, 7, np.nan], "float32")
    result = evaluate(lambda a: op.clip(a, 0, 6), x, known=known)
    np.testing.assert_array_equal(result, np.clip(x, 0, 6))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: op.exp(tensor(2, dtype="int32")), r"R\.exp: argument `x` must have a float dtype"),
        (lambda: op.logical_not(tensor(2)), r"R\.logical_not: .* must have dtype bool, it has"),
        (lambda: op.negative(tensor(2, dtype="uint8")), r"R\.negative: .* a signed dtype"),
        (lambda: op.abs(tensor(2, dtype="bool")), r"R\.abs: .* must have numbers.*astype"),
        (lambda: op.exp(relax.ShapeExpr([2])), r"R\.exp: argument `x` must be an array"),
        (lambda: op.clip(tensor(2), tensor(2), 1), r"R\.clip: argument `min` must be a scalar"),
    ],
)
def test_wrong_arguments_of_unary_operators(call, message):
    with pytest.raises(StructInfoError, match=message):
        infer(call())


# --- binary ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "int64", "uint8"])
@pytest.mark.parametrize("name", BINARY)
def test_binary_operators_of_numbers(name, dtype):
    is_float = dtype.startswith("float")
    if name.startswith("logical") or name in (FLOATS_ONLY if not is_float else INTEGERS_ONLY):
        with pytest.raises(StructInfoError, match=rf"R\.{name}: .* they have {dtype}"):
            infer(getattr(op, name)(tensor(2, dtype=dtype), tensor(2, dtype=dtype)))
        return
    low = 0 if dtype == "uint8" else -4
    x = np.random.default_rng(1).integers(low, 9, (2, 3)).astype(dtype)
    y = np.random.default_rng(2).integers(1, 5, (3,)).astype(dtype)
    result = evaluate(getattr(op, name), x, y)
    np.testing.assert_allclose(result, BINARY[name](x, y), rtol=2e-3)


@pytest.mark.parametrize("name", BOOLS)
def test_binary_operators_of_bools(name):
    x, y = np.array([[False], [True]]), np.array([False, True])
    np.testing.assert_array_equal(evaluate(getattr(op, name), x, y), BINARY[name](x, y))


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize(
    "shapes",
    [((), (2, 3)), ((2, 1), (3,)), ((2, 3), (2, 3)), ((0, 3), (1, 1)), ((4, 1, 2), (3, 1))],
    ids=str,
)
def test_operands_broadcast(shapes, known):
    x, y = (
        np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape) for shape in shapes
    )
    np.testing.assert_array_equal(evaluate(op.subtract, x, y, known=known), x - y)
    np.testing.assert_array_equal(evaluate(op.subtract, y, x, known=known), y - x)


@pytest.mark.parametrize("known", ["symbolic", "rank"])
def test_shapes_that_do_not_fit_are_found_at_run_time(known):
    x, y = np.ones((2, 3), "float32"), np.ones((2, 4), "float32")
    with pytest.raises(ValueError, match=r"must be|differ|expected"):
        evaluate(op.add, x, y, known=known)


def test_the_dtype_and_the_shape_of_results():
    n = Var("n", "int64")
    info = infer(op.add(tensor(n, 1), tensor(4)))
    assert [str(extent) for extent in info.extents] == ["n", "T.int64(4)"]
    assert info.dtype == "float32"
    assert infer(op.less(tensor(n), tensor(n))).dtype == "bool"
    unknown = relax.Var("u", relax.TensorStructInfo(None, "float32", ndim=3))
    assert infer(op.add(unknown, tensor(2))).ndim == 3
    assert infer(op.add(relax.Var("u", relax.TensorStructInfo()), tensor(2))).ndim == -1


def test_extents_that_are_equal_in_another_form():
    n = Var("n", "int64")
    info = infer(op.add(tensor(n * 2), tensor(n + n)))
    assert "Select" not in repr(info)


def test_python_numbers_take_the_dtype_of_the_array():
    for dtype in ("float16", "int32", "uint8"):
        x = np.array([1, 2], dtype)
        result = evaluate(lambda a: op.add(op.multiply(2, a), 1), x)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, x * 2 + 1)


def test_python_numbers_meet_calls_of_which_the_dtype_is_not_known_yet():
    x = np.array([1.5, 2], "float16")
    result = evaluate(lambda a: (a + a) * 2 - 1, x)
    assert result.dtype == "float16"
    np.testing.assert_array_equal(result, x * 4 - 1)


def test_python_operators():
    x, y = np.array([7, -7, 4], "int32"), np.array([2, 2, 3], "int32")
    for formula in (
        lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a // b,
        lambda a, b: a % b, lambda a, b: a << b, lambda a, b: a >> b, lambda a, b: a & b,
        lambda a, b: a | b, lambda a, b: a ^ b, lambda a, b: a < b, lambda a, b: a >= b,
        lambda a, b: -a, lambda a, b: ~a, lambda a, b: abs(a), lambda a, b: 3 - a,
    ):  # fmt: skip
        np.testing.assert_array_equal(evaluate(formula, x, y), formula(x, y))
    z = np.array([1, 4], "float32")
    np.testing.assert_array_equal(evaluate(lambda a: 2 / a, z), 2 / z)
    half = evaluate(lambda a: a.astype("float16"), z)
    assert half.dtype == "float16"


def test_constants_and_scalars_become_part_of_the_kernel():
    x = np.array([1, 2], "float32")
    result = evaluate(lambda a: op.add(a, relax.const(2.0)), x)
    np.testing.assert_array_equal(result, x + 2)
    np.testing.assert_array_equal(evaluate(lambda: op.add(relax.const(2), relax.const(3))), 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: op.add(tensor(2), tensor(3)), r"R\.add: the shapes \(2,\) and \(3,\) do not"),
        (lambda: op.add(tensor(2), tensor(2, dtype="float16")), r"R\.add: the dtypes differ: .*x1"),
        (lambda: op.add(tensor(2, dtype="int32"), 0.5), r"R\.add: argument `x2` is 0\.5, which is"),
        (
            lambda: op.add(tensor(2, dtype="uint8"), 300),
            r"is 300, which is not a value of the dtype",
        ),
        (lambda: op.divide(tensor(2, dtype="int32"), 2), r"R\.divide: .* use floor_divide"),
        (lambda: op.add(tensor(2), relax.ShapeExpr([2])), r"argument `x2` must be an array"),
    ],
)
def test_wrong_arguments_of_binary_operators(call, message):
    with pytest.raises(StructInfoError, match=message):
        infer(call())


# --- others ---------------------------------------------------------------------------------


@pytest.mark.parametrize("known", KNOWN)
def test_ewise_fma(known):
    x, y, z = (np.arange(6, dtype="float32").reshape(2, 3) + n for n in range(3))
    np.testing.assert_array_equal(evaluate(op.ewise_fma, x, y, z[:1], known=known), x * y + z[:1])
    np.testing.assert_array_equal(evaluate(lambda a: op.ewise_fma(a, 2, 1), x), x * 2 + 1)


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("target", ["float16", "int64", "uint8", "bool"])
def test_astype(target, known):
    x = np.array([0, 1.75, 3], "float32")
    result = evaluate(lambda a: op.astype(a, target), x, known=known)
    np.testing.assert_array_equal(result, x.astype(target))
    np.testing.assert_array_equal(evaluate(lambda a: op.wrap_param(a, target), x), x.astype(target))


@pytest.mark.parametrize("known", KNOWN)
def test_masked_fill(known):
    x, mask = np.arange(6, dtype="float32").reshape(2, 3), np.array([True, False, True])
    result = evaluate(lambda a, m: op.masked_fill(a, m, -np.inf), x, mask, known=known)
    np.testing.assert_array_equal(result, np.where(mask, -np.inf, x))
    with pytest.raises(StructInfoError, match=r"`mask` must have dtype bool"):
        infer(op.masked_fill(tensor(2), tensor(2), 0))
    with pytest.raises(StructInfoError, match=r"0\.5 is not a value of the dtype int32"):
        infer(op.masked_fill(tensor(2, dtype="int32"), tensor(2, dtype="bool"), 0.5))


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("axis", [0, -1])
def test_quantize_and_dequantize(axis, known):
    x = np.array([[-2, -0.3, 0.2], [0.5, 1, 300]], "float32")
    count = x.shape[axis]
    scale, zero = np.linspace(0.1, 0.5, count, dtype="float32"), np.arange(count, dtype="int8")
    along = [1, 1]
    along[axis] = count
    steps = np.round(x / scale.reshape(along)) + zero.reshape(along)
    short = evaluate(
        lambda a, s, z: op.quantize(a, s, z, axis, "int8"), x, scale, zero, known=known
    )
    np.testing.assert_array_equal(short, np.clip(steps, -128, 127).astype("int8"))
    back = evaluate(lambda a, s, z: op.dequantize(a, s, z, axis), short, scale, zero, known=known)
    expected = (short.astype("float32") - zero.reshape(along)) * scale.reshape(along)
    np.testing.assert_allclose(back, expected, rtol=1e-6)


def test_one_scale_for_all_elements():
    x = np.array([0, 0.26, 9], "float16")
    one = np.array(0.25, "float16"), np.array(3, "int32")
    short = evaluate(lambda a, s, z: op.quantize(a, s, z, out_dtype="uint8"), x, *one)
    np.testing.assert_array_equal(short, [3, 4, 39])
    with pytest.raises(StructInfoError, match=r"`scale` has 3 elements, axis 0 of the data 2"):
        infer(op.quantize(tensor(2), tensor(3), tensor(2), 0))
    with pytest.raises(StructInfoError, match="integers must have an integer dtype"):
        infer(op.dequantize(tensor(2), tensor(2), tensor(2)))
