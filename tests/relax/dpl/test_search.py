"""Finding values of a dataflow block that use each other."""

import pytest
from tests.relax.builders import array

from tilewright import relax
from tilewright.error import ArgumentError
from tilewright.relax import op
from tilewright.relax.dpl import PatternContext, is_op, is_tuple, is_var, wildcard

MULTIPLY, SUBTRACT = is_op("relax.multiply"), is_op("relax.subtract")
RELU, EXP = is_op("relax.nn.relu"), is_op("relax.exp")


def block(make):
    """A dataflow block of two inputs."""
    builder = relax.BlockBuilder()
    params = [relax.Var(name, array(4)) for name in "xy"]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(make(builder, *params))
        builder.emit_func_output(result)
    return builder.get()["main"].body.blocks[0]


def diamond(builder, x, y):
    product = builder.emit(op.multiply(x, y))
    return op.subtract(builder.emit(op.nn.relu(product)), builder.emit(op.exp(product)))


def names(found, *patterns):
    return None if found is None else [found[pattern].name_hint for pattern in patterns]


def test_a_diamond():
    with PatternContext() as ctx:
        product, relu, exp = MULTIPLY(wildcard(), wildcard()), RELU(wildcard()), EXP(wildcard())
        difference = SUBTRACT(wildcard(), wildcard())
        product >> relu >> difference
        product >> exp >> difference
        found = ctx.match_dfb(block(diamond))
    assert names(found, product, relu, exp, difference) == ["lv", "lv1", "lv2", "gv"]


def test_a_part_of_two_patterns_is_one_value():
    def separate(builder, x, y):
        return op.subtract(builder.emit(op.nn.relu(x)), builder.emit(op.exp(y)))

    def match(make):
        with PatternContext() as ctx:
            source = wildcard()
            relu, exp = RELU(source), EXP(source)
            difference = SUBTRACT(wildcard(), wildcard())
            relu >> difference
            exp >> difference
            return names(ctx.match_dfb(block(make)), relu, exp, source)

    assert match(diamond) == ["lv1", "lv2", "lv"]
    assert match(separate) is None


def test_parts_have_variables_too():
    with PatternContext() as ctx:
        product = MULTIPLY(is_var("x"), is_var("y"))
        relu, difference = RELU(product), SUBTRACT(wildcard(), wildcard())
        relu >> difference
        found = ctx.match_dfb(block(diamond))
    assert names(found, product, relu) == ["lv", "lv1"]


def test_different_patterns_are_different_values():
    with PatternContext() as ctx:
        product, one, other = MULTIPLY(wildcard(), wildcard()), RELU(wildcard()), RELU(wildcard())
        product >> one
        product >> other
        assert ctx.match_dfb(block(diamond)) is None


def test_sequences_can_be_copied():
    def two(builder, x, y):
        sides = [builder.emit(op.nn.relu(builder.emit(op.exp(v)))) for v in (x, y)]
        return op.subtract(*sides)

    def one(builder, x, y):
        return op.subtract(builder.emit(op.nn.relu(builder.emit(op.exp(x)))), y)

    def match(make):
        with PatternContext() as ctx:
            left = EXP(wildcard()) ^ RELU(wildcard())
            right = left.dup()
            difference = SUBTRACT(wildcard(), wildcard())
            left.used_by(difference, 0)
            right.used_by(difference, 1)
            return names(ctx.match_dfb(block(make)), *left.patterns, *right.patterns)

    assert match(two) == ["lv", "lv1", "lv2", "lv3"]
    assert match(one) is None


def test_sequences_of_sequences():
    with PatternContext() as ctx:
        chain = MULTIPLY(wildcard(), wildcard()) >> (
            RELU(wildcard()) ^ SUBTRACT(wildcard(), wildcard())
        )
        assert [(use.argument, use.only) for use in ctx.uses] == [(-1, True), (-1, False)]
        assert names(ctx.match_dfb(block(diamond)), *chain.patterns) == ["lv", "lv1", "gv"]
        copy = chain.dup()
        assert [link.only for link in copy.links] == [False, True]


def test_used_only_as_one_argument():
    def match(make, index):
        with PatternContext() as ctx:
            relu, difference = RELU(wildcard()), SUBTRACT(wildcard(), wildcard())
            relu.only_used_by(difference, index)
            return ctx.match_dfb(block(make)) is not None

    def twice(builder, x, y):
        value = builder.emit(op.nn.relu(x))
        return op.subtract(value, value)

    assert match(diamond, 0)
    assert not match(diamond, 1)
    assert match(twice, -1)
    assert not match(twice, 0)


def test_what_is_used_after_the_block_is_not_only_used_in_it():
    def make(builder, x, y):
        value = builder.emit_output(op.nn.relu(x))
        return op.exp(value)

    with PatternContext() as ctx:
        RELU(wildcard()) >> EXP(wildcard())
        assert ctx.match_dfb(block(make)) is not None
    with PatternContext() as ctx:
        RELU(wildcard()) ^ EXP(wildcard())
        assert ctx.match_dfb(block(make)) is None


def test_casts_are_not_looked_through():
    def make(builder, x, y):
        cast = builder.match_cast(builder.emit(op.nn.relu(x)), array(4))
        return op.exp(cast)

    with PatternContext() as ctx:
        RELU(wildcard()) >> EXP(wildcard())
        assert ctx.match_dfb(block(make)) is None
    with PatternContext() as ctx:
        is_var() >> EXP(wildcard())
        assert ctx.match_dfb(block(make)) is not None


@pytest.mark.parametrize("incremental", [True, False])
def test_contexts_in_contexts(incremental):
    relu, exp, difference = RELU(wildcard()), EXP(wildcard()), SUBTRACT(wildcard(), wildcard())
    with PatternContext() as outer:
        relu.used_by(difference, 1)
        with PatternContext(incremental=incremental) as inner:
            exp >> difference
            found = inner.match_dfb(block(diamond))
        assert (found is None) is incremental
        assert len(outer.uses) == 1


def test_tuples_use_their_fields():
    def make(builder, x, y):
        return relax.Tuple([builder.emit(op.exp(x)), builder.emit(op.nn.relu(y))])

    with PatternContext() as ctx:
        relu, pair = RELU(wildcard()), is_tuple([wildcard(), wildcard()])
        relu.used_by(pair, 1)
        assert names(ctx.match_dfb(block(make)), relu) == ["lv1"]


def test_mistakes():
    with PatternContext() as ctx:
        with pytest.raises(ArgumentError, match="expect a pattern, got 3"):
            RELU(wildcard()).used_by(3)
        RELU(wildcard()) >> EXP(wildcard())
        with pytest.raises(ArgumentError, match="expected a dataflow block"):
            ctx.match_dfb(3)
