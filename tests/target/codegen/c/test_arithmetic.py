"""Operators on every dtype: C against numpy."""

import numpy as np
import pytest
from tests.target.codegen.c.compiled import (
    compile_source,
    needs_compiler,
    source_of,
    strict_options,
)
from tests.target.ties import TYPES, fma_ties

from tilewright import te, tir
from tilewright.ir.dtype import DType
from tilewright.tir.interpreter import interpret

pytestmark = needs_compiler

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def compiled(program, directory):
    """The module of a program, in which undefined behaviour is looked for before any optimisation.

    That compiles sooner, too. Programs of other tests are optimised.
    """
    return compile_source(source_of(program), directory, [*strict_options(), "-O0"])


def elementwise(shape, formula, *inputs, name="C"):
    """A tensor with `formula` of the elements of `inputs`."""
    return te.compute(shape, lambda *i: formula(*(tensor[i] for tensor in inputs)), name=name)


def binary_function(dtype, formulas):
    """A function of two vectors with one output per formula, and the dtypes of the outputs."""
    n = te.var("n")
    a, b = te.placeholder((n,), dtype, "A"), te.placeholder((n,), dtype, "B")
    outputs = [elementwise((n,), formula, a, b) for formula in formulas]
    return te.create_prim_func([a, b, *outputs]), [DType(c.dtype).numpy for c in outputs]


def run(function, dtypes, directory, *inputs):
    """The outputs of the compiled function."""
    outputs = [np.zeros(inputs[0].shape, dtype) for dtype in dtypes]
    compiled(function, directory)(*inputs, *outputs)
    return outputs


def integer_samples(dtype):
    limits = np.iinfo(dtype)
    values = {0, 1, 2, 3, 5, 7, 100, limits.max, limits.max - 1, limits.min, limits.min + 1}
    if limits.min < 0:
        values |= {-1, -2, -3, -5, -7, -100}
    grid = np.array(sorted(values), dtype)
    a, b = np.meshgrid(grid, grid)
    return a.ravel().copy(), b.ravel().copy()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_arithmetic_wraps(dtype, tmp_path):
    a, b = integer_samples(dtype)
    formulas = [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: (x + y) * (x - y) + x * 3 - y,
        lambda x, y: te.min(x, y) ^ te.max(x, y),
        lambda x, y: (x & y) | (x ^ y),
        lambda x, _: ~x,
        lambda x, y: te.if_then_else(x < y, x, y - x),
    ]
    function, dtypes = binary_function(dtype, formulas)
    outputs = run(function, dtypes, tmp_path, a, b)
    with np.errstate(over="ignore"):
        three = a.dtype.type(3)
        expected = [
            a + b, a - b, a * b, (a + b) * (a - b) + a * three - b,
            np.minimum(a, b) ^ np.maximum(a, b), (a & b) | (a ^ b), ~a, np.where(a < b, a, b - a),
        ]  # fmt: skip
    for got, want in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisions(dtype, tmp_path):
    a, b = integer_samples(dtype)
    a, b = a[b != 0].copy(), b[b != 0].copy()
    formulas = [te.floordiv, te.floormod, te.truncdiv, te.truncmod]
    function, dtypes = binary_function(dtype, formulas)
    outputs = run(function, dtypes, tmp_path, a, b)
    floor = [int(x) // int(y) for x, y in zip(a, b, strict=True)]
    truncated = [
        abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1)
        for x, y in zip(a, b, strict=True)
    ]
    for got, quotient in ((outputs[0], floor), (outputs[2], truncated)):
        # The smallest number divided by -1 wraps around.
        np.testing.assert_array_equal(got, wrapped(quotient, dtype))
    for got, quotient in ((outputs[1], floor), (outputs[3], truncated)):
        remainder = [int(x) - q * int(y) for x, y, q in zip(a, b, quotient, strict=True)]
        np.testing.assert_array_equal(got, wrapped(remainder, dtype))


def wrapped(values, dtype):
    """Whole numbers of any size, modulo the size of `dtype`."""
    bits = np.iinfo(dtype).bits
    unsigned = np.array([value % 2**bits for value in values], f"uint{bits}")
    return unsigned.view(dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_division_by_zero_does_not_stop_the_process(dtype, tmp_path):
    function, dtypes = binary_function(dtype, [te.floordiv, te.floormod, te.truncdiv, te.truncmod])
    a = np.array([1, 2], dtype)
    run(function, dtypes, tmp_path, a, np.zeros_like(a))


def test_division_by_constants(tmp_path):
    formulas = [
        lambda x, y, d=d, f=f: f(x, d)
        for d in (1, 2, 7, -1, -3)
        for f in (te.floordiv, te.floormod, te.truncdiv, te.truncmod)
    ]
    function, dtypes = binary_function("int32", formulas)
    a = np.array([-(2**31), -100, -7, -1, 0, 1, 6, 7, 2**31 - 1], "int32")
    outputs = iter(run(function, dtypes, tmp_path, a, a))
    for d in (1, 2, 7, -1, -3):
        floor = [int(x) // d for x in a]
        truncated = [int(abs(int(x)) // abs(d)) * (1 if (x < 0) == (d < 0) else -1) for x in a]
        for quotient in (floor, truncated):
            np.testing.assert_array_equal(next(outputs), wrapped(quotient, "int32"))
            remainder = [int(x) - q * d for x, q in zip(a, quotient, strict=True)]
            np.testing.assert_array_equal(next(outputs), wrapped(remainder, "int32"))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16", "uint64"])
def test_shifts_and_counts(dtype, tmp_path):
    bits = np.iinfo(dtype).bits
    a, _ = integer_samples(dtype)
    b = np.resize(np.arange(bits, dtype=dtype), a.shape)
    formulas = [lambda x, y: x << y, lambda x, y: x >> y, lambda x, _: tir.popcount(x),
                lambda x, _: tir.clz(x)]  # fmt: skip
    function, dtypes = binary_function(dtype, formulas)
    outputs = run(function, dtypes, tmp_path, a, b)
    np.testing.assert_array_equal(outputs[0], np.left_shift(a, b))
    np.testing.assert_array_equal(outputs[1], np.right_shift(a, b))
    patterns = [int(x) % 2**bits for x in a]
    np.testing.assert_array_equal(outputs[2], [p.bit_count() for p in patterns])
    np.testing.assert_array_equal(outputs[3], [bits - p.bit_length() for p in patterns])


@pytest.mark.parametrize("dtype", TYPES)
def test_fma_rounds_once(dtype, tmp_path):
    *operands, expected = fma_ties(dtype)
    tensors = [te.placeholder((8,), dtype, name) for name in "abc"]
    output = elementwise((8,), tir.fma, *tensors)
    function = te.create_prim_func([*tensors, output])
    (result,) = run(function, [expected.dtype], tmp_path, *operands)
    np.testing.assert_array_equal(result.astype("float64"), expected.astype("float64"))


def assert_same_floats(got, want, message=""):
    # numpy compares NaNs of its own types only.
    with np.errstate(invalid="ignore"):
        got, want = got.astype("float64"), want.astype("float64")
    np.testing.assert_array_equal(got, want, err_msg=message)
    signs = [np.signbit(np.where(np.isnan(x), 0, x)) for x in (got, want)]
    np.testing.assert_array_equal(*signs, err_msg=message)


def float_samples(dtype):
    rng = np.random.default_rng(0)
    special = [0.0, -0.0, 1.0, -1.0, 0.1, 65504.0, 3e38, 1e-7, 1e-40, np.inf, -np.inf, np.nan]
    with np.errstate(over="ignore"):
        grid = np.concatenate([special, rng.normal(0, 10, 20)]).astype(DType(dtype).numpy)
    a, b = np.meshgrid(grid, grid)
    return a.ravel().copy(), b.ravel().copy()


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_arithmetic(dtype, tmp_path):
    a, b = float_samples(dtype)
    zero = a.dtype.type(0)
    formulas = [
        lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y,
        # Which of two zeros is the smaller one is not specified; adding 0 makes both positive.
        lambda x, y: te.min(x, y) + te.const(0, dtype),
        lambda x, y: te.max(x, y) + te.const(0, dtype),
        lambda x, _: te.abs(x), lambda x, _: te.floor(x), lambda x, _: te.sqrt(x),
        lambda x, _: te.round(x), lambda x, y: x < y, lambda x, y: x.equal(y),
        lambda x, _: tir.isnan(x), lambda x, y: tir.copysign(x, y),
        lambda x, y: x // y, lambda x, y: x % y,
    ]  # fmt: skip
    function, dtypes = binary_function(dtype, formulas)
    outputs = run(function, dtypes, tmp_path, a, b)
    with np.errstate(all="ignore"):
        expected = [
            a + b, a - b, a * b, a / b, np.minimum(a, b) + zero, np.maximum(a, b) + zero,
            np.abs(a), np.floor(a),
            np.sqrt(a), np.rint(a), a < b, a == b, np.isnan(a), np.copysign(a, b),
            a // b, a % b,
        ]  # fmt: skip
    for number, (got, want) in enumerate(zip(outputs, expected, strict=True)):
        assert_same_floats(got, want.astype(got.dtype), f"formula {number}")


def test_casts_between_all_types(tmp_path):
    values = np.array([0, 1, 2, 3, 100, 127], "float64")
    for source in ["bool", *INTEGERS, *FLOATS]:
        a = te.placeholder((6,), source, "A")
        targets = ["bool", *INTEGERS, *FLOATS]
        outputs = [elementwise((6,), converter(t), a) for t in targets]
        array = values.astype(DType(source).numpy)
        results = [np.zeros(6, DType(t).numpy) for t in targets]
        directory = tmp_path / source
        directory.mkdir()
        compiled(te.create_prim_func([a, *outputs]), directory)(array, *results)
        for target, got in zip(targets, results, strict=True):
            np.testing.assert_array_equal(
                got, array.astype(got.dtype), err_msg=f"{source}->{target}"
            )


def converter(dtype):
    return lambda x: x.astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_value_of_a_half_type_survives(dtype, tmp_path):
    a = te.placeholder((65536,), dtype, "A")
    same = te.compute((65536,), lambda i: a[i] * te.const(1, dtype), name="same")
    wide = te.compute((65536,), lambda i: a[i].astype("float32"), name="wide")
    every = np.arange(65536, dtype="uint16").view(DType(dtype).numpy)
    outputs = [np.zeros_like(every), np.zeros(65536, "float32")]
    compiled(te.create_prim_func([a, same, wide]), tmp_path)(every, *outputs)
    np.testing.assert_array_equal(outputs[1], every.astype("float32"))
    assert_same_floats(outputs[0], every)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_to_a_half_type(dtype, tmp_path):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 100_000, np.uint32)
    x = np.concatenate([bits.view("float32"), rng.normal(0, 1e-6, 5000).astype("float32")])
    a = te.placeholder(x.shape, "float32", "A")
    b = te.compute(x.shape, lambda i: a[i].astype(dtype), name="B")
    got = np.zeros(x.shape, DType(dtype).numpy)
    compiled(te.create_prim_func([a, b]), tmp_path)(x, got)
    with np.errstate(all="ignore"):
        assert_same_floats(got, x.astype(got.dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_mathematical_functions(dtype, tmp_path):
    names = ["exp", "log", "tanh", "sigmoid", "erf", "sin", "cos", "tan", "atan", "rsqrt"]
    a = te.placeholder((100,), dtype, "A")
    outputs = [elementwise((100,), getattr(te, n), a) for n in names]
    function = te.create_prim_func([a, *outputs])
    x = np.random.default_rng(0).uniform(0.1, 9, 100).astype(dtype)
    results = [np.zeros(100, dtype) for _ in names]
    compiled(function, tmp_path)(x, *results)
    expected = [np.zeros(100, dtype) for _ in names]
    interpret(function, x, *expected)
    for name, got, want in zip(names, results, expected, strict=True):
        steps = np.abs(got.astype("float64") - want) / np.spacing(np.abs(want)).astype("float64")
        assert steps.max() <= 3, name


def test_index_arithmetic_is_not_disturbed_by_data(tmp_path):
    n = te.var("n", "int64")
    keys = te.placeholder((n,), "int32", "keys")
    table = te.placeholder((256,), "int32", "table")
    out = te.compute((n,), lambda i: table[(keys[i] * 2654435 + 12345) & 255], name="out")
    k = np.random.default_rng(0).integers(-(2**31), 2**31, 1000).astype("int32")
    t = np.arange(256, dtype="int32")
    got = np.zeros(1000, "int32")
    compiled(te.create_prim_func([keys, table, out]), tmp_path)(k, t, got)
    np.testing.assert_array_equal(got, (k.astype("int64") * 2654435 + 12345) & 255)
