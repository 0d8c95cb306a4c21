"""Index maps in the script: alone, and as attributes of blocks."""

import pytest
from hypothesis import given
from tests.tir.test_index_map import layouts

from tilewright import script, tir
from tilewright.error import ScriptError
from tilewright.ir import Var, assert_structural_equal
from tilewright.script import tir as T
from tilewright.tir import IndexMap


def check(index_map):
    again = eval(index_map.script(), {"T": T})
    assert_structural_equal(index_map, again)


@given(layouts(padded=True))
def test_printed_maps_read_back(layout):
    check(layout[1])


@pytest.mark.parametrize(
    "index_map",
    [
        IndexMap.from_func(lambda i: i),
        IndexMap.from_func(lambda: ()),
        IndexMap.from_func(lambda: 0),
        IndexMap.from_func(lambda i: ()),
        IndexMap.from_func(lambda i, j: (j, i // 8, 0, i % 8), index_dtype="int64"),
        IndexMap.from_func(lambda i, j: (j, i), index_dtype=["int64", "int32"]),
        IndexMap.from_func(lambda i: (i, tir.const(5, "int32"), -3), index_dtype="int64"),
        IndexMap.from_func(lambda i: (tir.const(5, "int64"), i, -3)),
        IndexMap.from_func(lambda i: tir.min(i, 3) + tir.if_then_else(i < 2, i, 1)),
        IndexMap.from_func(lambda i: 7 - i, inverse_index_map=lambda i: 7 - i),
        IndexMap.from_func(
            lambda i: (i, 0),
            inverse_index_map=IndexMap.from_func(
                lambda i, j: i, inverse_index_map=lambda i: (i, 0)
            ),
            index_dtype="int64",
        ),
        IndexMap((Var("range", "int32"), Var("T", "int32")), (Var("free", "int32"),)),
    ],
    ids=repr,
)
def test_every_form(index_map):
    if not index_map.free_variables():
        check(index_map)
    else:
        assert index_map.script() == "T.index_map(lambda range_1, T_1: (free,))"


def test_how_it_is_written():
    index_map = IndexMap.from_func(lambda i, j: (i // 4, j, i % 4))
    assert repr(index_map) == "T.index_map(lambda i, j: (i // 4, j, i % 4))"


SOURCE = """
from tilewright.script import tir as T

@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            T.block_attr({"layout_free_placeholders": [1], "layouts": [
                T.index_map(lambda i: (i // 4, i % 4)),
                T.index_map(lambda i: (7 - i,), inverse_index_map=lambda i: 7 - i),
            ]})
            B[vi] = A[vi]
"""


def test_in_the_attributes_of_a_block():
    function = script.from_source(SOURCE)
    text = function.script()
    assert "T.index_map(lambda i_1: (i_1 // 4, i_1 % 4))" in text
    assert_structural_equal(function, script.from_source(text))


def test_mistakes_are_shown_where_they_are():
    with pytest.raises(ScriptError, match="integer expressions, got 'x'") as caught:
        script.from_source(SOURCE.replace("(i // 4, i % 4)", "'x'"))
    assert "T.index_map(lambda i: 'x')" in str(caught.value)


def test_attributes_do_not_depend_on_the_body():
    with pytest.raises(ScriptError, match="the index map mentions vi"):
        script.from_source(SOURCE.replace("(i // 4, i % 4)", "(i, vi)"))
