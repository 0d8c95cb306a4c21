"""Macros."""

import pytest

from tilewright.error import ScriptError
from tilewright.script import from_source
from tilewright.script import tir as T
from tilewright.tir import For, LetStmt

SCALE = 2.0


@T.macro
def scale(buffer, count, factor=SCALE):
    for q in range(count):
        buffer[q] = buffer[q] * factor


@T.macro(hygienic=False)
def store_outer(position):
    A[position] = value  # noqa: F821


def test_a_macro_adds_its_statements():
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        scale(A, 4)
        scale(A, 3, factor=A[0])

    first, second = f.body.seq
    assert isinstance(first, For)
    assert first.loop_var.name == "q"
    assert first.body.value.b.value == 2.0
    assert repr(second.body.value) == "A[q] * A[0]"


def test_free_names_of_hygienic_macros_mean_what_they_mean_at_the_definition():
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        SCALE = A[3]  # noqa: F841
        scale(A, 4)

    assert isinstance(f.body, LetStmt)
    assert f.body.body.body.value.b.value == 2.0


def test_unhygienic_macros_see_the_names_of_the_call():
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        value = A[1] + 1.0  # noqa: F841
        store_outer(2)

    assert f.body.body.value is f.body.var


def test_macros_inside_of_functions():
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        @T.macro
        def twice(position):
            A[position] = A[position] + A[position]

        twice(0)
        twice(position=1)

    assert [int(s.indices[0]) for s in f.body.seq] == [0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("m()", "needs a value for 'x'"),
        ("m(1, 2)", "takes 1 arguments"),
        ("m(1, x=2)", "two values for 'x'"),
        ("m(y=2, x=1)", "no parameter 'y'"),
        ("m(missing)", "undefined name `missing`"),
    ],
)
def test_mistakes_in_calls(call, message):
    text = f"@T.macro\ndef m(x):\n    T.evaluate(x)\n@T.prim_func\ndef f():\n    {call}\n"
    with pytest.raises(ScriptError, match=message):
        from_source(text)


def test_mistakes_inside_are_shown_there():
    text = "@T.macro\ndef m(x):\n    T.evaluate(x + oops)\n@T.prim_func\ndef f():\n    m(1)\n"
    with pytest.raises(ScriptError, match=r"(?s)undefined name `oops`.*:3:20"):
        from_source(text)


def test_macros_return_nothing():
    text = "@T.macro\ndef m(x):\n    return x\n@T.prim_func\ndef f():\n    m(1)\n"
    with pytest.raises(ScriptError, match="returns nothing"):
        from_source(text)
