"""Calls with effects that nobody knows are made in the order of the program."""

import numpy as np
import pytest
from tests.tune.rule.sketches import TWO_CORES, sketches

import tilewright as tvm
from tilewright import te, tir
from tilewright.schedule_rules.default import schedule_module
from tilewright.tir.stmt import For, ForKind

SHAPE = (64, 32)


def traced(x):
    return te.trace([x], "test.order")


def packed(x):
    return tir.call_packed("test.order", x).astype("float32")


def extern(x):
    return tir.call_extern("float32", "test_order", x)


def program(value):
    """The values of all elements, between two blocks that are computed element by element."""
    a = te.placeholder(SHAPE, "float32", "A")
    b = te.compute(SHAPE, lambda i, j: a[i, j] + 1.0, "B")
    c = te.compute(SHAPE, lambda i, j: value(b[i, j]), "C")
    d = te.compute(SHAPE, lambda i, j: c[i, j] * 2.0, "D")
    return te.create_prim_func([a, d])


def loops_around(sch, block):
    return [sch.get(loop) for loop in sch.get_loops(block)]


def assert_in_order(sch):
    """The loops of C are as they were; those of D are not."""
    found = loops_around(sch, "C")
    assert [loop.kind for loop in found] == [ForKind.SERIAL] * 2
    assert [int(loop.extent.value) for loop in found] == [*SHAPE]


@pytest.mark.parametrize("value", [traced, packed, extern])
def test_loops_around_calls_stay_as_they_are(value):
    func = program(value)
    sch = schedule_module(tvm.IRModule({"main": func}), TWO_CORES)
    sch.work_on("main")
    assert_in_order(sch)
    assert loops_around(sch, "D")[0].kind is ForKind.PARALLEL
    for sketch in sketches(func, TWO_CORES):
        sketch.work_on("main")
        assert_in_order(sketch)


def test_pure_calls_have_no_order():
    func = program(lambda x: tir.call_pure_extern("float32", "sqrtf", x))
    sch = schedule_module(tvm.IRModule({"main": func}), TWO_CORES)
    kinds = {node.kind for node in tvm.ir.walk(sch.mod["main"]) if isinstance(node, For)}
    assert ForKind.PARALLEL in kinds


def test_compiled_calls_come_in_order():
    seen = []
    tvm.register_func("test.order", lambda x: seen.append(x), override=True)
    try:
        a, d = np.arange(64 * 32, dtype="float32").reshape(SHAPE), np.empty(SHAPE, "float32")
        tvm.build(program(traced), target="llvm -num-cores=4")(a, d)
    finally:
        tvm.remove_global_func("test.order")
    assert seen == (a + 1).ravel().tolist()
    np.testing.assert_array_equal(d, (a + 1) * 2)
