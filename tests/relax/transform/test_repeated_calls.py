"""Which calls of operators share the work of making a tensor program."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in, module_of

from tilewright import relax
from tilewright.ir import Var as Size
from tilewright.relax import op
from tilewright.relax.interpreter import evaluate
from tilewright.relax.op.table import OPERATORS
from tilewright.relax.transform import LegalizeOps

N = Size("n", "int64")
X, Y = relax.Var("x", array(N, 4)), relax.Var("y", array(N, 4))
DATA = [np.array(values, "float32").reshape(-1, 4) for values in (range(8), range(-8, 0))]


@pytest.fixture
def made(monkeypatch):
    """The names of the operators for which a tensor program was made."""
    names = []

    def counting(entry):
        def legalize(builder, call):
            names.append(entry.op.name.removeprefix("relax."))
            return entry.legalize(builder, call)

        return entry._replace(legalize=legalize)

    for key in [key for key, entry in OPERATORS.items() if entry.legalize is not None]:
        monkeypatch.setitem(OPERATORS, key, counting(OPERATORS[key]))
    return names


def legalized(*calls, names):
    """What computes all of `calls`, legalised, with the same numbers.

    What was made for that stays in the list `names`.
    """
    before = module_of([X, Y], lambda b: relax.Tuple([b.emit(make(b)) for make in calls]))
    after = LegalizeOps()(before)
    in_pass = list(names)
    for one, other in zip(evaluate(after, *DATA), evaluate(before, *DATA), strict=True):
        np.testing.assert_array_equal(one, other)
    names[:] = in_pass
    return after["main"]


def test_layers_that_repeat(made):
    def layer(x, y):
        return lambda b: op.reshape(b.emit(op.add(b.emit(op.sum(x, 1, keepdims=True)), y)), (N, 4))

    main = legalized(layer(X, Y), layer(Y, X), layer(X, Y), names=made)
    assert made == ["sum", "add", "reshape"]
    first, second = (bindings_in(main)[k].value.args[1].fields[0] for k in (0, 3))
    assert (first, second) == (X, Y)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda b: op.sum(X, 0), lambda b: op.sum(X, 1)),
        (lambda b: op.add(X, X), lambda b: op.add(X, Y)),
        (lambda b: op.add(X, relax.const(0.0)), lambda b: op.add(X, relax.const(1.0))),
        (lambda b: op.divide(X, relax.const(0.5)), lambda b: op.divide(X, relax.const(-0.5))),
        (lambda b: op.full((N, 4), 1.0), lambda b: op.full((N, 2), 1.0)),
        (lambda b: op.astype(X, "int32"), lambda b: op.astype(X, "int64")),
        (lambda b: op.concat([X, Y], 0), lambda b: op.concat([X, X], 0)),
    ],
)
def test_calls_that_differ_in_more_than_their_arrays(made, first, second):
    legalized(first, second, names=made)
    assert len(made) == 2


def test_zeros_of_both_signs_differ(made):
    def multiplied(zero):
        return lambda b: op.multiply(X, relax.const(zero))

    main = legalized(multiplied(0.0), multiplied(-0.0), multiplied(0.0), names=made)
    first, second, third = (binding.value.args[0] for binding in bindings_in(main))
    assert first is third
    assert first is not second
    assert made == ["multiply", "multiply"]
