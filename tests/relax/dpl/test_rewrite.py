"""Replacing what looks like a pattern."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in

from tilewright import relax
from tilewright.error import ArgumentError
from tilewright.relax import op
from tilewright.relax.dpl import PatternContext, is_op, rewrite_bindings, rewrite_call, wildcard
from tilewright.relax.interpreter import evaluate


def bound(make):
    builder = relax.BlockBuilder()
    params = [relax.Var(name, array(4, 4)) for name in "xyz"]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(make(builder, *params))
        builder.emit_func_output(result)
    return builder.get()["main"]


def operators(func):
    values = [binding.value for binding in bindings_in(func)]
    return [value.op.name.removeprefix("relax.") for value in values if hasattr(value, "op")]


def assert_same(before, after):
    arrays = [np.arange(16, dtype="float32").reshape(4, 4) * n for n in (1, -2, 3)]
    np.testing.assert_array_equal(evaluate(before, *arrays), evaluate(after, *arrays))


def test_calls_are_replaced():
    func = bound(lambda bb, x, y, z: op.add(op.multiply(x, z), op.multiply(y, z)))
    a, b, common = wildcard(), wildcard(), wildcard()
    multiply = is_op("relax.multiply")
    pattern = is_op("relax.add")(multiply(a, common), multiply(b, common))

    def factored(call, found):
        return op.multiply(op.add(found[a], found[b]), found[common])

    after = rewrite_call(pattern, factored, func)
    assert operators(func) == ["multiply", "multiply", "add"]
    assert operators(after) == ["add", "multiply"]
    assert_same(func, after)


def test_a_replacement_may_be_replaced_with_what_follows():
    func = bound(lambda bb, x, *_: op.negative(op.negative(op.negative(x))))
    x = wildcard()
    pattern = is_op("relax.negative")(is_op("relax.negative")(x))
    after = rewrite_call(pattern, lambda call, found: found[x], func)
    assert operators(after) == ["negative"]
    assert_same(func, after)


def test_no_change():
    func = bound(lambda bb, x, y, z: op.add(x, y))
    after = rewrite_call(is_op("relax.add")(wildcard(), wildcard()), lambda call, _: call, func)
    assert after is func


def test_values_of_a_block_are_replaced_together():
    def make(bb, x, y, z):
        return op.subtract(bb.emit(op.matmul(x, y)), bb.emit(op.matmul(x, z)))

    func = bound(make)
    with PatternContext() as ctx:
        x, w1, w2 = wildcard(), wildcard(), wildcard()
        first, second = is_op("relax.matmul")(x, w1), is_op("relax.matmul")(x, w2)
        x.used_by(first, 0)
        x.used_by(second, 0)
        w1.used_by(first, 1)
        w2.used_by(second, 1)

    def combined(found, values):
        weights = op.concat([found[w1], found[w2]], axis=1)
        both = op.split(op.matmul(found[x], weights), 2, axis=1)
        return {
            found[first]: relax.TupleGetItem(both, 0),
            found[second]: relax.TupleGetItem(both, 1),
        }

    after = rewrite_bindings(ctx, combined, func)
    assert operators(after).count("matmul") == 1
    assert_same(func, after)


def test_functions_are_expected():
    with pytest.raises(ArgumentError, match="expected a graph function"):
        rewrite_call(wildcard(), lambda call, _: call, 3)
