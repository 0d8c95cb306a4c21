"""Data types: parsing, interning, facts, promotion."""

import pickle

import numpy as np
import pytest

from tilewright.error import DTypeError
from tilewright.ir.dtype import DType, promote, represents


@pytest.mark.parametrize(
    ("name", "code", "bits", "lanes"),
    [
        ("bool", "bool", 1, 1),
        ("int8", "int", 8, 1),
        ("uint64", "uint", 64, 1),
        ("float16", "float", 16, 1),
        ("bfloat16", "bfloat", 16, 1),
        ("e4m3_float8", "float8", 8, 1),
        ("float32x4", "float", 32, 4),
        ("int64x16", "int", 64, 16),
        ("boolx8", "bool", 1, 8),
        ("handle", "handle", 64, 1),
        ("void", "void", 0, 1),
    ],
)
def test_parts_of_a_name(name, code, bits, lanes):
    dtype = DType(name)
    assert (dtype.code, dtype.bits, dtype.lanes) == (code, bits, lanes)
    assert dtype == name
    assert DType(name) is dtype


@pytest.mark.parametrize(
    "name",
    ["float31", "int3", "flaot32", "handlex2", "float32x0", "x4", "int32x99999999", "uint-8"],
)
def test_unknown_names_are_refused(name):
    with pytest.raises(DTypeError, match="unknown dtype"):
        DType(name)


def test_aliases_and_one_lane_are_the_same_object():
    assert DType("boolean") is DType("bool") is DType("uint1")
    assert DType("float") is DType("float32x1") is DType("float32")
    assert DType("int") is DType("int32")


def test_numpy_dtypes_are_accepted_and_given_back():
    assert DType(np.float32) is DType("float32")
    assert DType(np.dtype("int64")) is DType("int64")
    assert DType("float32x4").numpy == np.float32
    assert DType("bfloat16").numpy.itemsize == 2
    with pytest.raises(DTypeError, match="no numpy equivalent"):
        _ = DType("handle").numpy
    with pytest.raises(DTypeError, match="expected a dtype name"):
        DType(object())


def test_vector_and_element():
    vector = DType("int8").with_lanes(16)
    assert vector is DType("int8x16")
    assert vector.element is DType("int8")
    assert vector.with_lanes(1) is DType("int8")
    assert vector.itemsize == 16
    assert vector.is_vector
    assert not vector.element.is_vector


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("int8", -128, 127), ("uint8", 0, 255), ("int64", -(2**63), 2**63 - 1), ("bool", 0, 1)],
)
def test_integer_limits(name, low, high):
    assert (DType(name).min_int, DType(name).max_int) == (low, high)


def test_pickling_keeps_identity():
    assert pickle.loads(pickle.dumps(DType("float16x8"))) is DType("float16x8")


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("int32", "float16", "float16"),
        ("int32", "int64", "int64"),
        ("int8", "uint8", "int8"),
        ("uint16", "int8", "uint16"),
        ("bool", "int8", "int8"),
        ("float32", "float64", "float64"),
        ("bfloat16", "float32", "float32"),
        ("int32", "float32x4", "float32x4"),
        ("float64x2", "float32", "float64x2"),
    ],
)
def test_promotion_is_symmetric(left, right, result):
    assert promote(DType(left), DType(right)) is DType(result)
    assert promote(DType(right), DType(left)) is DType(result)


@pytest.mark.parametrize(
    ("left", "right"),
    [("handle", "int32"), ("float16", "bfloat16"), ("float32x4", "float32x8"), ("void", "int8")],
)
def test_what_cannot_be_combined(left, right):
    with pytest.raises(DTypeError, match="cannot combine"):
        promote(DType(left), DType(right))


@pytest.mark.parametrize(
    ("wide", "narrow", "whether"),
    [
        ("float32", "float16", True),
        ("float32", "bfloat16", True),
        ("float16", "bfloat16", False),
        ("bfloat16", "float16", False),
        ("bfloat16", "e4m3_float8", True),
        ("float16", "float32", False),
        ("float32", "uint16", True),
        ("float32", "int32", False),
        ("float64", "int32", True),
        ("bfloat16", "int8", True),
        ("float16", "int16", False),
        ("int16", "uint8", True),
        ("int8", "uint8", False),
        ("int32", "float16", False),
        ("float32", "handle", False),
        ("handle", "handle", True),
    ],
)
def test_a_type_represents_all_values_of_another_one(wide, narrow, whether):
    assert represents(DType(wide), DType(narrow)) == whether
