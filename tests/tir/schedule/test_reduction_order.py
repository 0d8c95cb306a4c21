"""Primitives that change the order of updates, on reducers for which it matters."""

from __future__ import annotations

import pytest
from tests.tir.schedule.checking import assert_refused, assert_same_meaning

from tilewright.script import from_source
from tilewright.tir import Schedule

FIRST = "{most} >= {value}"
LAST = "{most} > {value}"
PROVED = "{most} > {value} or {most} == {value} and {best} < {index}"

TWO_LOOPS = "i, k = T.grid(4, 24)", "vi, vk = T.axis.remap('SR', [i, k])"


def argmax(condition, start='T.min_value("float32")', only="True"):
    """The argument of the maximum of each row of numbers, many of which are equal."""
    value = "T.floor(V[vi, vk] * T.float32(0.1))"
    names = {"most": "most[vi]", "best": "best[vi]", "value": value, "index": "vk"}
    holds = condition.format(**names)
    return from_source(f"""
@T.prim_func
def argmax(
    V: T.Buffer((4, 24), "float32"), best: T.Buffer((4,), "int32"), most: T.Buffer((4,), "float32")
):
    for i, k in T.grid(4, 24):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                best[vi] = -1
                most[vi] = {start}
            if {only}:
                v_best: T.int32 = T.Select({holds}, best[vi], vk)
                v_most: T.float32 = T.Select({holds}, most[vi], {value})
                best[vi] = v_best
                most[vi] = v_most
""")


def swapped(sch):
    _, k = sch.get_loops("argmax")
    outer, inner = sch.split(k, [None, 8])
    return lambda: sch.reorder(inner, outer)


def factored(which, factors):
    def prepare(sch):
        _, k = sch.get_loops("argmax")
        loops = sch.split(k, factors)
        return lambda: sch.rfactor(loops[which], 0)

    return prepare


@pytest.mark.parametrize("condition", [FIRST, LAST])
@pytest.mark.parametrize("prepare", [swapped, factored(1, [None, 8]), factored(2, [2, 3, None])])
def test_another_order_is_refused(condition, prepare):
    text = assert_refused(argmax(condition), prepare, "reorder|rfactor", differs=True)
    assert "(best 0, most 0.0) and (best 1, most 0.0): combined in this order they give" in text
    assert "compare the indices, too, where the values are equal" in text


@pytest.mark.parametrize("condition", [FIRST, LAST, PROVED])
@pytest.mark.parametrize("factors", [[None, 8], [5, None], [1, 24], [None, 7]])
def test_the_outermost_loop_keeps_the_order(condition, factors):
    func = argmax(condition)
    sch = Schedule(func)
    factored(0, factors)(sch)()
    assert_same_meaning(func, sch)


@pytest.mark.parametrize("prepare", [swapped, factored(1, [None, 8]), factored(1, [None, 7])])
def test_comparing_indices_frees_the_order(prepare):
    func = argmax(PROVED)
    sch = Schedule(func)
    prepare(sch)()
    assert_same_meaning(func, sch)


def test_loops_of_results_may_change_places_with_those_of_the_reduction():
    func = argmax(FIRST)
    sch = Schedule(func)
    i, k = sch.get_loops("argmax")
    outer, inner = sch.split(k, [None, 8])
    sch.reorder(outer, inner, i)
    sch.vectorize(i)
    assert_same_meaning(func, sch)


def test_a_start_that_wins_against_equal_values():
    """Each part may not start from 0, which would replace an equal maximum of an earlier part."""
    func = argmax(LAST, start="T.float32(0)")
    sch = Schedule(func)
    factored(0, [None, 2])(sch)()
    assert_same_meaning(func, sch)


def test_parts_without_values_need_a_neutral_element():
    prepare = factored(0, [None, 2])
    assert_refused(argmax(LAST, only="vk < 3"), prepare, "no value from which its partial results")
    for condition in (FIRST, PROVED):
        func = argmax(condition, only="vk < 3")
        sch = Schedule(func)
        prepare(sch)()
        assert_same_meaning(func, sch)


def test_threads_combine_in_any_order():
    def bound(sch):
        return lambda: sch.bind(sch.get_loops("argmax")[1], "threadIdx.x")

    assert_refused(argmax(FIRST), bound, "cannot run by threads")
    bound(Schedule(argmax(PROVED)))()


TWO_AXES = """
@T.prim_func
def f(A: T.Buffer((4, 6, 5), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,))
    for i, {loops} in T.grid(4, {extents}):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            v0 = T.axis.reduce(6, {v0})
            v1 = T.axis.reduce(5, {v1})
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = {value}
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi] + T.float32(1)
"""
SHIFTED = "B[vi] * T.float32(0.5) + A[vi, v0, v1]"
SUM = "B[vi] + A[vi, v0, v1]"
ROW_MAJOR = {"loops": "k0, k1", "extents": "6, 5", "v0": "k0", "v1": "k1"}
TRANSPOSED = {"loops": "k1, k0", "extents": "5, 6", "v0": "k0", "v1": "k1"}
FUSED = {"loops": "k", "extents": "30", "v0": "k // 5", "v1": "k % 5"}


def computed_at(sch):
    (i,) = sch.get_loops("C")
    return lambda: sch.compute_at("B", i)


@pytest.mark.parametrize("loops", [ROW_MAJOR, FUSED], ids=["two loops", "one loop"])
@pytest.mark.parametrize("value", [SHIFTED, SUM])
def test_new_loops_in_the_order_of_the_iterators(loops, value):
    func = from_source(TWO_AXES.format(**loops, value=value))
    sch = Schedule(func)
    computed_at(sch)()
    assert_same_meaning(func, sch)


def test_new_loops_in_another_order():
    func = from_source(TWO_AXES.format(**TRANSPOSED, value=SUM))
    sch = Schedule(func)
    computed_at(sch)()
    assert_same_meaning(func, sch)
    func = from_source(TWO_AXES.format(**TRANSPOSED, value=SHIFTED))
    assert_refused(func, computed_at, "updates elements in another order", differs=True)
