"""Which updates are recognised as reductions; their operators are checked by trying all values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.property.evaluate import evaluate

from tilewright.script import from_source
from tilewright.tir import substitute
from tilewright.tir.analysis.reduction import match_reduction
from tilewright.tir.interpreter import interpret


def block_of(body, dtype="int32", init=None):
    """A block that reduces over `k`; other buffers are C, D (outputs), X and Y."""
    lines = body.strip("\n").split("\n")
    if init is not None:
        lines = ["with T.init():", *("    " + line for line in init.split("\n")), *lines]
    text = "\n".join(" " * 12 + line for line in lines)
    buffers = ", ".join(f"{name}: T.Buffer((4,), {dtype!r})" for name in "CDIXY")
    return from_source(f"""
@T.prim_func
def f({buffers}, Z: T.Buffer((4, 8), {dtype!r})):
    for i, k in T.grid(4, 8):
        with T.block("b"):
            v, r = T.axis.remap("SR", [i, k])
{text}
""").body.block.body.body.body.block  # type: ignore


SINGLE = {
    "C[v] = C[v] + Z[v, r]": "x + y",
    "C[v] = Z[v, r] + C[v]": "x + y",
    "C[v] = X[v] + C[v] + Z[v, r]": "x + y",
    "C[v] = X[v] * (C[v] * Z[v, r])": "x * y",
    "C[v] = C[v] - Z[v, r]": "x + y",
    "C[v] = C[v] + X[v] - Z[v, r]": "x + y",
    "C[v] = C[v] * Z[v, r]": "x * y",
    "C[v] = T.min(C[v], Z[v, r])": "T.min(x, y)",
    "C[v] = T.max(Z[v, r], T.max(X[v], C[v]))": "T.max(x, y)",
    "C[v] = C[v] & Z[v, r]": "T.bitwise_and(x, y)",
    "C[v] = C[v] | Z[v, r]": "T.bitwise_or(x, y)",
    "C[v] = C[v] ^ Z[v, r]": "T.bitwise_xor(x, y)",
}


@pytest.mark.parametrize(("body", "result"), SINGLE.items(), ids=SINGLE)
def test_one_value(body, result):
    found = match_reduction(block_of(body))
    assert found is not None
    assert [repr(r) for r in found.combiner.result] == [result]
    assert found.condition is None
    assert found.is_order_free
    check_laws(found.combiner)
    check_update(found, body)


def combine(combiner, a, b):
    """The results of the operator for two tuples of numbers."""
    values = dict(zip((*combiner.lhs, *combiner.rhs), map(np.int32, (*a, *b)), strict=True))
    return tuple(int(evaluate(result, values)[0]) for result in combiner.result)


def check_laws(combiner, values=(-3, 0, 2)):
    """The operator is commutative and associative, and its identity is neutral."""
    count = len(combiner.lhs)
    identity = tuple(e.value for e in combiner.identity_element)
    tuples = list(itertools.product(values, repeat=count))
    for a, b in itertools.product(tuples, repeat=2):
        assert combine(combiner, a, b) == combine(combiner, b, a)
    for a, b, c in itertools.product(tuples[:3], repeat=3):
        left = combine(combiner, combine(combiner, a, b), c)
        assert left == combine(combiner, a, combine(combiner, b, c))
    for a in tuples:
        assert combine(combiner, a, identity) == a


def check_update(found, body):
    """``combine(target, value)`` is what the body stores."""
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-9, 9, n).astype("int32") for n in [(4,)] * 5 + [(4, 8)]]
    store = block_of(body).body
    values = dict(
        zip(
            (*found.combiner.lhs, *found.combiner.rhs), (*found.targets, *found.values), strict=True
        )
    )
    combined = substitute(found.combiner.result[0], values)
    results = []
    for value in (store.value, combined):
        text = f"C[v] = {value!r}"
        func = block_function(text)
        copies = [array.copy() for array in arrays]
        interpret(func, *copies)  # type: ignore
        results.append(copies[0])
    np.testing.assert_array_equal(*results)


def block_function(body):
    buffers = ", ".join(f"{name}: T.Buffer((4,), 'int32')" for name in "CDIXY")
    return from_source(f"""
@T.prim_func
def f({buffers}, Z: T.Buffer((4, 8), 'int32')):
    for v, r in T.grid(4, 8):
        {body}
""")


NOT_REDUCTIONS = [
    "C[v] = Z[v, r]",
    "C[v] = C[v]",
    "C[v] = C[v] + C[v]",
    "C[v] = C[v] + C[v + 1]",
    "C[v] = C[v + 1] + Z[v, r]",
    "C[v] = Z[v, r] - C[v]",
    "C[v] = C[v] // Z[v, r]",
    "C[v] = C[v] * Z[v, r] + X[v]",
    "C[v] = T.max(C[v] + Z[v, r], 0)",
    "C[C[v]] = C[C[v]] + 1",
    "C[v] = C[v] + D[v]\nD[v] = D[v] + C[v]",
    "C[v] = C[v] + Z[v, r]\nC[v + 1] = C[v + 1] + 1",
    "C[v] = C[v] + T.call_extern('int32', 'next')",
    "if C[v] < 3:\n    C[v] = C[v] + Z[v, r]",
    "if Z[v, r] < 3:\n    C[v] = C[v] + Z[v, r]\nelse:\n    C[v] = C[v] - 1",
]


@pytest.mark.parametrize("body", NOT_REDUCTIONS)
def test_what_is_no_reduction(body):
    assert match_reduction(block_of(body)) is None


def test_a_condition():
    found = match_reduction(block_of("if Z[v, r] > 0:\n    C[v] = C[v] + Z[v, r]"))
    assert found is not None
    assert repr(found.condition) == "Z[v, r] > 0"


def test_several_values():
    found = match_reduction(block_of("C[v] = C[v] + Z[v, r]\nD[v] = T.max(D[v], Z[v, r])"))
    assert found is not None
    assert [repr(r) for r in found.combiner.result] == ["x0 + y0", "T.max(x1, y1)"]
    assert [t.buffer.name for t in found.targets] == ["C", "D"]
    check_laws(found.combiner)


ARGMAX = """
a: T.int32 = T.Select({condition}, I[v], r)
b: T.int32 = {key}
I[v] = a
C[v] = b
"""
TIES = "C[v] > Z[v, r] or C[v] == Z[v, r] and I[v] < r"


@pytest.mark.parametrize("condition", ["C[v] >= Z[v, r]", "C[v] > Z[v, r]", "Z[v, r] <= C[v]"])
@pytest.mark.parametrize("plain", [False, True])
def test_the_argument_of_a_maximum(condition, plain):
    key = "T.max(C[v], Z[v, r])" if plain else f"T.Select({condition}, C[v], Z[v, r])"
    found = match_reduction(block_of(ARGMAX.format(condition=condition, key=key)))
    assert found is not None
    assert found.laws.associative is True
    assert not found.is_order_free
    assert [t.buffer.name for t in found.targets] == ["I", "C"]
    assert [repr(value) for value in found.values] == ["r", "Z[v, r]"]
    assert combine(found.combiner, (1, 5), (2, 7)) == (2, 7)
    assert combine(found.combiner, (1, 7), (2, 5)) == (1, 7)


def test_ties_that_are_broken():
    key = f"T.Select({TIES}, C[v], Z[v, r])"
    found = match_reduction(block_of(ARGMAX.format(condition=TIES, key=key)))
    assert found is not None
    assert found.is_order_free
    check_laws_up_to_identity(found.combiner)


def check_laws_up_to_identity(combiner):
    tuples = list(itertools.product((0, 1, 2), repeat=2))
    for a, b in itertools.product(tuples, repeat=2):
        assert combine(combiner, a, b) == combine(combiner, b, a)
    identity = tuple(e.value for e in combiner.identity_element)
    assert all(combine(combiner, a, identity) == a for a in tuples)


@pytest.mark.parametrize(
    ("condition", "key"),
    [
        ("C[v] >= Z[v, r]", "T.Select(C[v] < Z[v, r], C[v], Z[v, r])"),
        ("C[v] >= Z[v, r]", "T.min(C[v], Z[v, r])"),
        ("C[v] >= X[v]", "T.max(C[v], Z[v, r])"),
        ("C[v] >= Z[v, r] or I[v] < r", "T.max(C[v], Z[v, r])"),
    ],
)
def test_choices_that_are_no_maximum(condition, key):
    found = match_reduction(block_of(ARGMAX.format(condition=condition, key=key)))
    assert found is None or not found.is_order_free


def test_an_argument_that_is_updated_too_late():
    body = "C[v] = T.max(C[v], Z[v, r])\nI[v] = T.Select(C[v] >= Z[v, r], I[v], r)"
    assert match_reduction(block_of(body)) is None


def test_identities_of_floats():
    found = match_reduction(block_of("C[v] = T.max(C[v], Z[v, r])", dtype="float32"))
    assert found is not None
    assert found.combiner.identity_element[0].value == float("-inf")  # type: ignore


def test_an_index_that_reads_what_is_written():
    body = "x: T.int32 = C[v]\nC[x] = C[x] + Z[v, r]"
    assert match_reduction(block_of(body)) is None


@pytest.mark.parametrize("body", ["C[v] = C[v] + Z[v, r]", "C[v] = Z[v, r]"])
def test_blocks_are_examined_once(body, monkeypatch):
    block = block_of(body)
    found = match_reduction(block)
    monkeypatch.setattr("tilewright.tir.analysis.reduction._matched", None)
    assert match_reduction(block) is found
