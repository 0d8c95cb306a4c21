"""Ranges as users write them."""

import copy
import pickle

import pytest

import tilewright as tvm
from tilewright import tir
from tilewright.error import DTypeError
from tilewright.script import ir as I
from tilewright.script import tir as T


def ends(item):
    return int(item.min), int(item.extent)


def test_one_class_for_scripts_and_programs():
    assert tvm.ir.Range is tir.Range is T.Range is I.Range
    assert isinstance(tvm.te.reduce_axis((2, 6)).dom, tvm.ir.Range)


def test_two_arguments_are_begin_and_end():
    assert ends(tvm.ir.Range(2, 8)) == (2, 6)
    assert ends(tvm.ir.Range(end=8, begin=2)) == (2, 6)
    assert ends(tvm.ir.Range.from_min_extent(2, 8)) == (2, 8)


def test_one_argument_is_the_end():
    assert ends(tvm.ir.Range(10)) == (0, 10)


def test_ends_have_one_dtype():
    n = tir.Var("n", "int64")
    assert tvm.ir.Range(0, n).min.dtype == "int64"
    assert tvm.ir.Range(n, n + 4).extent.dtype == "int64"
    assert tvm.ir.Range(n).min.dtype == "int64"


@pytest.mark.parametrize("bounds", [(1.5,), (0, 2.5), (True,), ("i",)])
def test_a_bound_is_an_integer(bounds):
    with pytest.raises(DTypeError, match="a bound of a Range is a scalar integer"):
        tvm.ir.Range(*bounds)


def test_copies():
    item = tvm.ir.Range(2, 8)
    assert ends(pickle.loads(pickle.dumps(item))) == (2, 6)
    assert ends(copy.deepcopy(item)) == (2, 6)
    assert ends(item.replace(extent=3)) == (2, 3)
    assert ends(item.map_children(lambda end: end + 1)) == (3, 7)
    for form in ("tilewright", "tvm"):
        assert ends(tvm.ir.load_json(tvm.ir.save_json(item, form))) == (2, 6)
