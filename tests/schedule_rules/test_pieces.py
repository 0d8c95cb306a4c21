"""Loops over a dimension of which pieces come from different places are cut where that changes."""

import numpy as np
import pytest
from tests.passes import lower
from tests.schedule_rules.programs import LARGE, TWO_CORES, scheduled

import tilewright as tvm
from tilewright import te, tir, topi
from tilewright.ir import Call, walk
from tilewright.tir.interpreter import interpret
from tilewright.tir.stmt import For, ForKind

DTYPES = ["float32", "float16", "int8", "int64", "bool"]


def joined(shapes, axis, dtype="float32"):
    inputs = [te.placeholder(shape, dtype, name=f"X{n}") for n, shape in enumerate(shapes)]
    return te.create_prim_func([*inputs, topi.concatenate(inputs, axis)])


def loops(sch, kind):
    return [
        node for node in walk(sch.mod["main"].body) if isinstance(node, For) and node.kind is kind
    ]


def conditions(sch):
    body = lower(sch.mod["main"]).body
    return [
        node
        for node in walk(body)
        if isinstance(node, Call) and getattr(node.op, "name", "") == "tir.if_then_else"
    ]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_each_piece_is_copied_without_conditions(axis):
    shapes = [(2, 3, 18), (2, 3, 18)]
    sch = scheduled(joined(shapes, axis), LARGE)
    assert len(loops(sch, ForKind.VECTORIZED)) >= 2
    assert conditions(sch) == []


def test_a_piece_of_one_row_is_copied_like_the_others():
    A, B = te.placeholder((9, 18), name="A"), te.placeholder((3, 18), name="B")

    def element(i, j):
        inner = te.if_then_else(i < 4, B[i - 1, j], A[i, j])
        return te.if_then_else(i < 1, A[0, j], inner)

    sch = scheduled(te.create_prim_func([A, B, te.compute((9, 18), element)]), LARGE)
    assert len(loops(sch, ForKind.VECTORIZED)) >= 3
    assert conditions(sch) == []


def test_pieces_of_outer_dimensions_are_divided_among_cores():
    sch = scheduled(joined([(20, 7), (12, 7)], 0), TWO_CORES)
    assert [loop.extent.value for loop in loops(sch, ForKind.PARALLEL)] == [8, 5]


def test_rows_of_whole_vectors_stay_in_one_loop():
    sch = scheduled(joined([(20, 8), (12, 8)], 0), LARGE)
    assert len(loops(sch, ForKind.VECTORIZED)) == 1


def test_many_pieces_stay_one_loop():
    sch = scheduled(joined([(1, 18)] * 20, 0), LARGE)
    assert len(loops(sch, ForKind.VECTORIZED)) == 1


def test_a_condition_on_data_is_no_border():
    X = te.placeholder((3, 24), name="X")
    Y = te.compute((3, 24), lambda i, j: te.if_then_else(X[i, j] < 0.5, 0.0, X[i, 23 - j]))
    sch = scheduled(te.create_prim_func([X, Y]), LARGE)
    assert len(loops(sch, ForKind.VECTORIZED)) == 1


def test_borders_of_comparisons():
    X = te.placeholder((40,), "int32", name="X")

    def element(i):
        value = te.if_then_else(i <= 6, X[i] + 1, X[i])
        value = te.if_then_else(i > 20, value * 3, value)
        return te.if_then_else(tir.all(i <= 30, i >= 9), value - 5, value)

    func = te.create_prim_func([X, te.compute((40,), element)])
    sch = scheduled(func, LARGE)
    assert conditions(sch) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("extents", [(1, 2, 3), (31, 33), (64, 7, 100, 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_concatenation(axis, extents, dtype):
    shapes = [(extent, 5) if axis == 0 else (5, extent) for extent in extents]
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 2, shape).astype(dtype) for shape in shapes]
    expected = np.concatenate(arrays, axis)
    found = np.empty_like(expected)
    tvm.build(joined(shapes, axis, dtype), target="llvm")(*arrays, found)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(
    ("pad", "mode"),
    [
        (lambda x, low, high: topi.nn.mirror_pad(x, low, high, "REFLECT"), "reflect"),
        (lambda x, low, high: topi.nn.mirror_pad(x, low, high, "SYMMETRIC"), "symmetric"),
        (topi.nn.replicate_pad, "edge"),
        (topi.nn.circular_pad, "wrap"),
        (topi.nn.pad, "constant"),
    ],
)
@pytest.mark.parametrize("shape", [(5, 7), (31, 33)])
def test_padding(pad, mode, shape, dtype):
    X = te.placeholder(shape, dtype, name="X")
    func = te.create_prim_func([X, pad(X, (1, 3), (2, 4))])
    x = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    expected = np.pad(x, ((1, 2), (3, 4)), mode)
    found, interpreted = np.empty_like(expected), np.empty_like(expected)
    interpret(func, x, interpreted)
    tvm.build(func, target="llvm")(x, found)
    np.testing.assert_array_equal(interpreted, expected)
    np.testing.assert_array_equal(found, expected)
