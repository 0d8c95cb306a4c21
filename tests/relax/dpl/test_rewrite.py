"""Replacing what looks like a pattern."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in

from tilewright import relax
from tilewright.error import ArgumentError
from tilewright.relax import op
from tilewright.relax.dpl import (
    PatternContext,
    is_op,
    is_tuple,
    is_tuple_get_item,
    rewrite_bindings,
    rewrite_call,
    wildcard,
)
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


def test_fields_and_tuples_are_replaced():
    def make(bb, x, y, z):
        halves = bb.emit(op.split(x, 2, axis=0))
        pair = bb.emit(relax.Tuple([halves[1], y]))
        return op.add(bb.emit(relax.TupleGetItem(halves, 0)), bb.emit(relax.TupleGetItem(pair, 0)))

    func = bound(make)
    x, y = wildcard(), wildcard()
    first = is_tuple_get_item(is_op("relax.split")(x), 0)

    def sliced(value, found):
        return op.strided_slice(found[x], [0], [0], [2])

    after = rewrite_call(first, sliced, func)
    assert sorted(operators(after)) == ["add", "split", "strided_slice"]
    assert_same(func, after)
    swapped = rewrite_call(
        is_tuple([x, y]), lambda value, found: relax.Tuple([found[x], found[x]]), func
    )
    assert_same(func, swapped)


def test_casts_are_not_looked_through():
    def make(bb, x, *_):
        return op.negative(bb.match_cast(bb.emit(op.negative(x)), array(4, 4)))

    func = bound(make)
    x = wildcard()
    twice = is_op("relax.negative")(is_op("relax.negative")(x))
    assert rewrite_call(twice, lambda call, found: found[x], func) is func


def test_new_values_may_use_what_comes_later():
    def make(bb, x, y, z):
        first = bb.emit(op.matmul(x, y))
        return op.subtract(first, bb.emit(op.matmul(x, bb.emit(op.negative(z)))))

    func = bound(make)
    with PatternContext() as ctx:
        x, w1, w2 = wildcard(), wildcard(), wildcard()
        first, second = is_op("relax.matmul")(x, w1), is_op("relax.matmul")(x, w2)
        x.used_by(first, 0)
        x.used_by(second, 0)

    def combined(found, values):
        both = op.matmul(found[x], op.concat([found[w1], found[w2]], axis=1))
        halves = op.split(both, 2, axis=1)
        return {found[first]: halves[0], found[second]: halves[1]}

    after = rewrite_bindings(ctx, combined, func)
    assert operators(after) == ["negative", "concat", "matmul", "split", "subtract"]
    assert_same(func, after)


def test_matches_that_share_an_input_are_all_replaced():
    def make(bb, x, y, z):
        products = [bb.emit(op.matmul(x, w)) for w in (y, z, y, z)]
        return op.add(op.add(*products[:2]), op.add(*products[2:]))

    func = bound(make)
    with PatternContext() as ctx:
        x, product = wildcard(), is_op("relax.matmul")(wildcard(), wildcard())
        x.used_by(product, 0)

    def negated(found, values):
        return {found[product]: op.negative(values[found[product]])}

    assert operators(rewrite_bindings(ctx, negated, func)).count("negative") == 4


def test_what_has_one_user_is_asked_of_the_block_as_it_is_now():
    def make(bb, x, y, z):
        first, second = bb.emit(op.negative(x)), bb.emit(op.negative(y))
        return op.add(bb.emit(op.exp(first)), bb.emit(op.exp(second)))

    func = bound(make)
    with PatternContext() as ctx:
        source, result = is_op("relax.negative")(wildcard()), is_op("relax.exp")(wildcard())
        source ^ result

    def using_the_second(found, values):
        (second,) = [v for v in values if v.name_hint == "lv1"]
        return {found[result]: op.multiply(found[source], second)}

    # The first change gives the second value another user.
    assert operators(rewrite_bindings(ctx, using_the_second, func)).count("multiply") == 1


@pytest.mark.parametrize(
    ("rewriter", "message"),
    [
        (lambda found, product: {found[product]: op.negative(found[product])}, "lv depends on it"),
        (lambda found, product: None, "must return a dictionary"),
        (lambda found, product: {relax.Var("other", array(4, 4)): found[product]}, "does not bind"),
        (lambda found, product: {found[product]: 3}, "3 for lv is not an expression"),
    ],
)
def test_mistakes_of_rewriters(rewriter, message):
    func = bound(lambda bb, x, y, z: op.exp(bb.emit(op.matmul(x, y))))
    with PatternContext() as ctx:
        product = is_op("relax.matmul")(wildcard(), wildcard())
        product >> is_op("relax.exp")(wildcard())
    with pytest.raises(ArgumentError, match=message):
        rewrite_bindings(ctx, lambda found, _: rewriter(found, product), func)


def test_functions_are_expected():
    with pytest.raises(ArgumentError, match="expected a graph function"):
        rewrite_call(wildcard(), lambda call, _: call, 3)
    func = bound(lambda bb, x, y, z: op.exp(x))
    with pytest.raises(ArgumentError, match="expected a pattern"):
        rewrite_call(3, lambda call, _: call, func)
    with pytest.raises(ArgumentError, match="the rewriter returned None"):
        rewrite_call(is_op("relax.exp")(wildcard()), lambda call, _: None, func)
