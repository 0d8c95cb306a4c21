"""Reductions of nothing are the neutral element, in the interpreter as in compiled code."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, tir
from tilewright.tir.interpreter import interpret


def program(extents, reducer=te.sum):
    """Two reductions, along k and j, of an array of three dimensions."""
    a = te.placeholder(extents, "float32", "a")
    k, j = te.reduce_axis((0, extents[1]), "k"), te.reduce_axis((0, extents[2]), "j")
    c = te.compute((extents[0],), lambda i: reducer(a[i, k, j], axis=[k, j]), "c")
    return te.create_prim_func([a, c])


def results(func, shape):
    """What the interpreter and compiled code leave in an array."""
    found = []
    for run in (lambda *a: interpret(func, *a), tvm.build(func, target="llvm")):
        result = np.full(shape[0], 77, "float32")
        run(np.ones(shape, "float32"), result)
        found.append(result.tolist())
    return found


SHAPES = [(3, 0, 2), (3, 2, 0), (3, 0, 0), (0, 0, 2), (3, 1, 1), (2, 3, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("symbolic", [False, True])
def test_sums(shape, symbolic):
    extents = [te.var(name, "int64") for name in "nkj"] if symbolic else shape
    expected = [float(shape[1] * shape[2])] * shape[0]
    assert results(program(extents), shape) == [expected, expected]


@pytest.mark.parametrize("order", ["ikj", "kij", "kji", "jik"])
@pytest.mark.parametrize("shape", SHAPES)
def test_loops_in_any_order(order, shape):
    schedule = tir.Schedule(program([te.var(name, "int64") for name in "nkj"]))
    loops = dict(zip("ikj", schedule.get_loops(schedule.get_block("c")), strict=True))
    schedule.reorder(*(loops[name] for name in order))
    expected = [float(shape[1] * shape[2])] * shape[0]
    assert results(schedule.mod["main"], shape) == [expected, expected]


@pytest.mark.parametrize("factor", [2, 4])
@pytest.mark.parametrize("outermost", [False, True])
def test_of_tiles_that_do_not_divide(factor, outermost):
    for shape in SHAPES:
        schedule = tir.Schedule(program([te.var(name, "int64") for name in "nkj"]))
        i, k, _ = schedule.get_loops(schedule.get_block("c"))
        tiles, _ = schedule.split(k, [None, factor])
        if outermost:
            schedule.reorder(tiles, i)
        expected = [float(shape[1] * shape[2])] * shape[0]
        assert results(schedule.mod["main"], shape) == [expected, expected]


def test_the_least_of_nothing_is_infinite():
    sizes = [te.var(name, "int64") for name in "nkj"]
    assert results(program(sizes, te.min), (2, 0, 1)) == [[np.inf, np.inf]] * 2
