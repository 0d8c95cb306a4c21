"""All ways in which a pattern may fit are tried."""

import pytest
from tests.relax.builders import array

from tilewright import relax
from tilewright.relax import op
from tilewright.relax.dpl import has_shape, is_op, is_tuple, is_var, wildcard
from tilewright.relax.dpl.matching import Matching

X, Y, Z = (relax.Var(name, array(4)) for name in "xyz")
ADD, SUBTRACT, RELU = (is_op(f"relax.{name}") for name in ("add", "subtract", "nn.relu"))


def found(pattern, expr):
    return Matching({}.get).match(pattern, expr)


@pytest.mark.parametrize("operands", [(X, Y), (Y, X)])
def test_an_order_that_does_not_fit_the_rest_is_given_up(operands):
    a, b = wildcard(), wildcard()
    ways = found(SUBTRACT(ADD(a, b), RELU(a)), op.subtract(op.add(*operands), op.nn.relu(Y)))
    assert ways[a] is Y
    assert ways[b] is X
    assert found(SUBTRACT(ADD(a, b), RELU(a)), op.subtract(op.add(X, Y), op.nn.relu(Z))) is None


def test_the_other_choice_is_tried_where_the_first_does_not_fit_the_rest():
    a, b = wildcard(), wildcard()
    pattern = SUBTRACT(RELU(a) | RELU(ADD(a, b)), a)
    expr = op.subtract(op.nn.relu(op.add(X, Y)), X)
    assert found(pattern, expr)[a] is X
    assert found(pattern, op.subtract(op.nn.relu(X), X))[a] is X


def test_a_choice_stands_for_what_was_chosen():
    relu, other = RELU(wildcard()), is_var("x")
    choice = other | relu
    result = found(SUBTRACT(other, choice), op.subtract(X, op.nn.relu(Y)))
    assert result[choice] is result[relu]


def test_fields_in_any_order_fit_the_rest():
    a, b = wildcard(), wildcard()
    pattern = is_tuple([is_tuple([a, RELU(b)], unordered=True), b])
    tuples = relax.Tuple([relax.Tuple([op.nn.relu(X), op.nn.relu(Y)]), X])
    result = found(pattern, tuples)
    assert result[b] is X
    assert result[a].args[0] is Y


def test_conditions_stand_for_no_value_of_their_own():
    value = op.nn.relu(X).replace(struct_info=array(4))
    values = {Y: value}
    pattern = RELU(wildcard() & has_shape([4]))
    result = Matching(values.get).match(pattern, op.nn.relu(Y))
    assert value not in result.values()


def test_a_rejected_pattern_stands_for_nothing():
    a = wildcard()
    assert found(SUBTRACT(~RELU(a), a), op.subtract(X, Y))[a] is Y
    assert found(SUBTRACT(a, ~a), op.subtract(X, X)) is None
    assert found(SUBTRACT(a, ~a), op.subtract(X, Y)) is not None


def test_shapes_that_are_written_again_are_the_same():
    shape = wildcard()
    broadcast = is_op("relax.broadcast_to")
    pattern = SUBTRACT(broadcast(wildcard(), shape), broadcast(wildcard(), shape))
    same = op.subtract(op.broadcast_to(X, (2, 4)), op.broadcast_to(Y, (2, 4)))
    other = op.subtract(op.broadcast_to(X, (2, 4)), op.broadcast_to(Y, (1, 4)))
    assert found(pattern, same) is not None
    assert found(pattern, other) is None


def test_same_shapes_whatever_is_found_first():
    a, b = wildcard(), wildcard()
    small = relax.Var("small", array(1))
    for pattern in (SUBTRACT(a.has_same_shape_as(b), b), SUBTRACT(a, b.has_same_shape_as(a))):
        assert found(pattern, op.subtract(X, Y)) is not None
        assert found(pattern, op.subtract(X, small)) is None
    assert found(RELU(a.has_same_shape_as(b)), op.nn.relu(X)) is None


def test_long_tuples():
    parts = [wildcard() for _ in range(2000)]
    assert len(found(is_tuple(parts), relax.Tuple([X] * 2000))) == 2001


def test_copies_stand_for_other_values():
    x = wildcard()
    total = ADD(x, RELU(x))
    other = total.dup()
    result = found(
        SUBTRACT(total, other),
        op.subtract(op.add(X, op.nn.relu(X)), op.add(op.nn.relu(Y), Y)),
    )
    assert result[x] is X
    assert result[other.args[0]] is Y
    assert found(other, op.add(X, op.nn.relu(Y))) is None
