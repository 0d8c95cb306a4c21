"""Rules that blocks name themselves, and constants."""

import pytest
from tests.tune.rule.sketching import names_of, sketches_of

import tilewright as tvm
from tilewright import te
from tilewright.error import ArgumentError, UnknownNameError
from tilewright.script import tir as T
from tilewright.tune.rule import ApplyCustomRule, InlineConstantScalars


def scale(rule):
    @T.prim_func
    def func(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"schedule_rule": rule})
                B[vi, vj] = A[vi, vj] * T.float32(2)

    return func


@pytest.fixture
def registered():
    names = []

    def register(name, function):
        tvm.register_func(name, function)
        names.append(name)

    yield register
    for name in names:
        tvm.remove_global_func(name)


def test_the_function_of_that_name_schedules_the_block(registered):
    def two_ways(sch, block):
        other = sch.copy()
        other.vectorize(other.get_loops(block)[-1])
        return [sch, other]

    registered("meta_schedule.cpu.test_two_ways", two_ways)
    plain, vectorized = sketches_of(scale("test_two_ways"), [ApplyCustomRule()])
    assert "T.vectorized" not in plain.mod.script()
    assert "T.vectorized" in vectorized.mod.script()


def test_none_is_no_rule():
    (sch,) = sketches_of(scale("None"), [ApplyCustomRule()])
    assert len(sch.trace.simplified()) == 0


def test_an_unknown_rule_is_refused():
    with pytest.raises(UnknownNameError, match=r"looked for meta_schedule\.cpu\.nobody"):
        sketches_of(scale("nobody"), [ApplyCustomRule()])


def test_a_rule_returns_schedules(registered):
    registered("meta_schedule.cpu.test_wrong", lambda sch, block: [1])
    with pytest.raises(ArgumentError, match="must return schedules"):
        sketches_of(scale("test_wrong"), [ApplyCustomRule()])


def test_constant_scalars_are_inlined():
    a = te.placeholder((4,), name="A")
    one = te.compute((1,), lambda i: te.const(3.0), name="one")
    table = te.compute((4,), lambda i: te.const(2.0), name="table")
    b = te.compute((4,), lambda i: a[i] * one[0] + table[i], name="B")
    func = te.create_prim_func([a, b])
    (sch,) = sketches_of(func, [InlineConstantScalars()])
    assert names_of(sch) == ["table", "B"]
    assert "T.float32(3.0)" in sch.mod.script()
