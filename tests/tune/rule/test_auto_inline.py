"""Blocks that are computed where they are read."""

import pytest
from tests.schedule_rules.programs import conv2d, matmul_relu, softmax
from tests.tune.rule.sketching import names_of, sketches_of

import tilewright as tvm
from tilewright import te
from tilewright.error import UnknownNameError
from tilewright.tune.rule import AutoInline


def rule(into_producer=False, into_consumer=True, **options):
    given = {
        "inline_const_tensor": True,
        "disallow_if_then_else": True,
        "require_injective": True,
        "require_ordered": True,
    }
    return AutoInline(into_producer, into_consumer, **{**given, **options})


def chain(first, second=lambda a, i, j: a[i, j] + 1.0):
    """A reduction, so that not all blocks are element-wise, then two more stages."""
    a = te.placeholder((4, 6), name="A")
    b = te.compute((4, 6), lambda i, j: first(a, i, j), name="B")
    c = te.compute((4, 6), lambda i, j: second(b, i, j), name="C")
    k = te.reduce_axis((0, 6), name="k")
    d = te.compute((4,), lambda i: te.sum(c[i, k], axis=k), name="D")
    return te.create_prim_func([a, d])


def left(func, *rules):
    (sch,) = sketches_of(func, rules)
    return names_of(sch)


def test_the_sketch_is_the_program_with_the_bodies_put_in():
    (sch,) = sketches_of(chain(lambda a, i, j: a[i, j] * 2.0), [rule()])
    a = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 6), name="k")
    d = te.compute((4,), lambda i: te.sum(a[i, k] * 2.0 + 1.0, axis=k), name="D")
    tvm.ir.assert_structural_equal(sch.mod["main"], te.create_prim_func([a, d]))


def test_both_directions():
    func = matmul_relu(4, 4, 4)
    assert left(func, rule()) == ["C", "E"]
    assert left(func, rule(into_consumer=False, into_producer=True)) == ["C", "D"]
    assert left(func, rule(into_consumer=False)) == ["C", "D", "E"]


def test_conditions_stay_if_wanted():
    func = conv2d(2, 4, 2, 3, 1)
    assert left(func, rule()) == ["P", "Y"]
    assert left(func, rule(disallow_if_then_else=False)) == ["Y"]


def test_operators_stay_if_wanted():
    func = chain(lambda a, i, j: te.exp(a[i, j]))
    assert left(func, rule()) == ["D"]
    assert left(func, rule(disallow_op=["tir.exp"])) == ["B", "D"]
    with pytest.raises(UnknownNameError):
        rule(disallow_op=["tir.exq"])


def test_reads_in_another_order_stay_if_wanted():
    func = chain(lambda a, i, j: a[j // 2, i])
    assert left(func, rule()) == ["B", "D"]
    assert left(func, rule(require_ordered=False)) == ["B", "D"]
    assert left(func, rule(require_ordered=False, require_injective=False)) == ["D"]


def test_constants_are_inlined_whatever_else_they_are():
    func = chain(lambda a, i, j: te.if_then_else(i < 2, 1.0, 2.0))
    assert left(func, rule()) == ["D"]
    assert left(func, rule(inline_const_tensor=False)) == ["B", "D"]


def test_in_programs_without_reductions_nothing_holds_it_back():
    a = te.placeholder((4, 6), name="A")
    b = te.compute((6, 4), lambda i, j: te.exp(a[j, i]), name="B")
    c = te.compute((6, 4), lambda i, j: te.if_then_else(i < 2, b[i, j], 0.0), name="C")
    d = te.compute((6, 4), lambda i, j: c[i, j] + 1.0, name="D")
    assert left(te.create_prim_func([a, d]), rule(disallow_op=["tir.exp"])) == ["D"]


def test_reductions_and_outputs_stay():
    assert left(softmax(3, 4), rule()) == ["M", "S", "O"]
