"""Expressions: what Python knows is computed, the rest becomes IR."""

import pytest

from tilewright.error import ScriptError
from tilewright.ir import And, Call, CompareExpr, IntImm, Not, Or
from tilewright.script import from_source

HEADER = "@T.prim_func\ndef f(A: T.Buffer((64,), 'float32'), n: T.int32, b: T.bool):\n"


def value(text, **extra):
    """The IR of an expression."""
    return from_source(f"{HEADER}    T.evaluate({text})\n", extra).body.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("2 ** 10", 1024),
        ("7 // 2 + 7 % 4", 6),
        ("len([1, 2, 3])", 3),
        ("sum(k * k for k in range(4) if k % 2)", 10),
        ("[i + j for i in range(2) for j in range(3)][-1]", 3),
        ("{'a': 5}['a']", 5),
        ("(lambda x, y: x - y)(5, 3)", 2),
        ("len(f'{12:>5}' + 'x')", 6),
        ("3 if True else n", 3),
        ("max(*[1, 9], 4)", 9),
        ("dict(a=1, **{'b': 2})['b']", 2),
        ("SIZES[0]", 4),
        ("int(1 < 2 < 3) + int(not (1 in [1]))", 1),
        ("len({k: v for k, v in [(1, 2), (3, 4)]})", 2),
        ("-SIZES[1] + ~0", -9),
    ],
)
def test_values_that_python_knows(text, expected):
    constant = value(text, SIZES=[4, 8])
    assert isinstance(constant, IntImm)
    assert constant.value == expected


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("n + 1", "n + 1"),
        ("0 < n < 8", "0 < n and n < 8"),
        ("n > 0 and b or n == 3", "n > 0 and b or n == 3"),
        ("not b", "not b"),
        ("True and n > 0", "n > 0"),
        ("A[n] * 2 - 1", "A[n] * T.float32(2.0) - T.float32(1.0)"),
        ("1 if n > 0 else 2", "T.if_then_else(n > 0, 1, 2)"),
        ("T.max(n, 3) // 2", "T.max(n, 3) // 2"),
        ("n.astype('float32')", 'T.Cast("float32", n)'),
        ("A.shape[0] + n", "64 + n"),
        ("T.cast(n, 'int64')", 'T.Cast("int64", n)'),
    ],
)
def test_symbolic_expressions(text, printed):
    assert repr(value(text)) == printed


def test_logic_builds_nodes():
    assert isinstance(value("n > 0 and b"), And)
    assert isinstance(value("n > 0 or b"), Or)
    assert isinstance(value("not b"), Not)
    assert isinstance(value("n != 3"), CompareExpr)


def test_reducers_from_lambdas():
    reduce = value(
        "T.Reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), [A[n]], "
        "[T.iter_var('k', T.Range(0, 4), 'CommReduce', '')], True, 0)"
    )
    assert [v.name for v in (*reduce.combiner.lhs, *reduce.combiner.rhs)] == ["x", "y"]
    assert repr(reduce.combiner.result[0]) == "x + y"


def test_functions_of_python_build_expressions():
    def clamp(x):
        from tilewright.script import tir as T

        return T.max(T.min(x, 5), 0)

    call = value("clamp(n)", clamp=clamp)
    assert repr(call) == "T.max(T.min(n, 5), 0)"


def test_exact_constructors_do_not_fold():
    assert repr(value("T.Add(1, 2)")) == "T.Add(1, 2)"
    assert repr(value("T.Mul(n, 1)")) == "T.Mul(n, 1)"
    assert isinstance(value("T.call_intrin('float32', 'tir.exp', A[0])"), Call)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("open('x')", "undefined name `open`"),
        ("n.__class__", "not accessible"),
        ("(yield)", "`yield` is not possible"),
        ("(x := 3)", "`:=` is not possible"),
        ("10 ** 10 ** 8", "too large"),
        ("[1] * 10 ** 9", "too large"),
        ("'%999999999d' % 3", "f-string"),
        ("1j", "complex constants"),
        ("[k for k in n]", "runs over Python values"),
        ("list(A)", "not iterable"),
        ("max(*A)", "iterable"),
        ("sum(T.Buffer)", "not iterable"),
        ("n in A", "not (iterable|a container)|known while"),
        ("[k for k in A]", "runs over Python values"),
        ("n in [1, 2]", "known while the script is read"),
        ("[1, 2][5]", "index out of range"),
        ("{}['a']", "KeyError"),
        ("1 // 0", "ZeroDivisionError"),
        ("n // 0", "by zero"),
        ("n << 40", "below 32"),
        ("T.exp(A)", "number"),
        ("A[n](3)", "cannot be called"),
        ("n[0]", "single value"),
        ("T.float32('one')", "'inf'"),
        ("T.int8(1000)", "outside of dtype int8"),
    ],
)
def test_mistakes(text, message):
    with pytest.raises(ScriptError, match=message):
        value(text)


@pytest.mark.parametrize(
    "vector", ["T.broadcast(1, 4 * T.vscale())", "T.ramp(0, 1, 4 * T.vscale())"]
)
def test_vectors_of_unknown_length(vector):
    with pytest.raises(ScriptError, match="needs a constant number of lanes, got"):
        value(vector)
