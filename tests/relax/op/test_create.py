"""Operators that make arrays of shapes and formulas."""

import numpy as np
import pytest
from tests.relax.op.evaluate import KNOWN, evaluate, infer, tensor

from tilewright import relax
from tilewright.error import StructInfoError
from tilewright.ir import Var
from tilewright.relax import op


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)], ids=str)
def test_constant_arrays(shape):
    for dtype in ("float16", "int64", "bool"):
        result = evaluate(lambda s, d=dtype: op.zeros(s, d), shape)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, np.zeros(shape, dtype))
        np.testing.assert_array_equal(evaluate(lambda s, d=dtype: op.ones(s, d), shape), 1)
    result = evaluate(lambda s: op.full(s, 2.5, "float32"), shape)
    np.testing.assert_array_equal(result, np.full(shape, 2.5, "float32"))


@pytest.mark.parametrize("known", KNOWN)
def test_arrays_like_others(known):
    x = np.arange(6, dtype="int32").reshape(2, 3)
    for function, expected in (
        (op.zeros_like, np.zeros_like(x)),
        (op.ones_like, np.ones_like(x)),
        (lambda a: op.ones_like(a, "float16"), np.ones_like(x, "float16")),
        (lambda a: op.full_like(a, 7), np.full_like(x, 7)),
        (lambda a: op.full_like(a, 0.5, "float32"), np.full((2, 3), 0.5, "float32")),
    ):
        result = evaluate(function, x, known=known)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


def test_the_fill_value_may_be_an_array_without_dimensions():
    value = np.array(3, "float16")
    result = evaluate(lambda v: op.full((2,), v), value)
    np.testing.assert_array_equal(result, np.full(2, 3, "float16"))
    assert result.dtype == "float16"
    result = evaluate(lambda v: op.full((2,), v, "int32"), value)
    assert result.dtype == "int32"


def test_shapes_of_symbolic_sizes():
    n = Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n,), "float32"))
    info = infer(op.add(op.zeros((n, 2), "float32"), op.ones((n, 1), "float32")))
    assert [str(extent) for extent in info.extents] == ["n", "T.int64(2)"]
    rows = evaluate(
        lambda a: op.zeros(relax.ShapeExpr([a.struct_info.extents[0], 2]), "float32"),
        np.zeros(3, "float32"),
        known="symbolic",
    )
    assert rows.shape == (3, 2)
    del x


@pytest.mark.parametrize("bounds", [(5,), (2, 8), (2, 9, 3), (5, 0, -2), (3, 1), (0.5, 2, 0.5)])
def test_arange(bounds):
    result = evaluate(lambda: op.arange(*bounds))
    expected = np.arange(*bounds)
    assert result.dtype == ("float32" if expected.dtype.kind == "f" else "int64")
    np.testing.assert_array_equal(result, expected)


def test_arange_of_symbolic_sizes():
    result = evaluate(
        lambda a: op.arange(1, a.struct_info.extents[0], 2, "int32"),
        np.zeros(8, "float32"),
        known="symbolic",
    )
    np.testing.assert_array_equal(result, [1, 3, 5, 7])
    assert result.dtype == "int32"


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("k", [-1, 0, 2])
def test_triangles(k, known):
    x = np.arange(24, dtype="float32").reshape(2, 3, 4) + 1
    np.testing.assert_array_equal(evaluate(lambda a: op.tril(a, k), x, known=known), np.tril(x, k))
    np.testing.assert_array_equal(evaluate(lambda a: op.triu(a, k), x, known=known), np.triu(x, k))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: op.tril(tensor(3)), r"R\.tril: argument `x` must have at least 2 dimensions"),
        (lambda: op.full((2,), tensor(3)), r"R\.full: .* a number or an array without dimensions"),
        (lambda: op.zeros(tensor(2), "float32"), r"R\.zeros: argument `shape` must be a shape"),
        (lambda: op.arange(0, 5, 0), r"R\.arange: the step is 0"),
        (lambda: op.arange(0, tensor(1)), r"R\.arange: argument `end` must be a scalar"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(StructInfoError, match=message):
        infer(call())
