"""`te.trace`: values of a running program, shown to a function."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import ArgumentError, DTypeError
from tilewright.ir import assert_structural_equal
from tilewright.script import from_source
from tilewright.tir.interpreter import interpret

COUNT = 5


@pytest.fixture
def seen():
    """What the functions ``test.show`` and ``test.replace`` were called with."""
    calls = []
    tvm.register_func("test.show", lambda *args: calls.append(args), override=True)

    @tvm.register_func("test.replace", override=True)
    def replace(value):
        calls.append((value,))
        return 7 if value == 2 else None

    yield calls
    tvm.remove_global_func("test.show")
    tvm.remove_global_func("test.replace")


def traced(dtype, make):
    a = te.placeholder((COUNT,), dtype, "A")
    return te.create_prim_func([a, te.compute((COUNT,), lambda i: make(i, a[i]), name="B")])


def outputs(function, dtype):
    """What compiled code and the interpreter make of 0, 1, 2, ..."""
    values = np.arange(COUNT).astype(dtype)
    native, interpreted = np.zeros(COUNT, dtype), np.zeros(COUNT, dtype)
    with tvm.transform.PassContext(config={"tir.default_schedule": False}):  # keeps the order
        tvm.build(function, target="llvm")(values, native)
    names = ("test.show", "test.replace", "tvm.default_trace_action")
    known = {name: tvm.get_global_func(name, allow_missing=True) for name in names}
    interpret(function, values, interpreted, functions=known)
    return native.tolist(), interpreted.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
def test_the_value_goes_on(seen, dtype):
    function = traced(dtype, lambda i, x: te.trace([i, "x", x * 2], "test.show") + 1)
    expected = [1, 3, 5, 7, 9]
    assert outputs(function, dtype) == (expected, expected)
    assert seen == [(i, "x", 2 * i) for i in range(COUNT)] * 2


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_the_function_may_replace_it(seen, dtype):
    function = traced(dtype, lambda i, x: te.trace([x], "test.replace"))
    expected = [0, 1, 7, 3, 4]
    assert outputs(function, dtype) == (expected, expected)
    assert len(seen) == 2 * COUNT


def test_the_default_prints(capsys):
    outputs(traced("int32", lambda i, x: te.trace([i, x + 10])), "int32")
    assert capsys.readouterr().out.splitlines() == [f"[{i}, {i + 10}]" for i in range(COUNT)] * 2


def test_the_script_parses_back():
    function = traced("float32", lambda i, x: tir.trace([i, x]))
    assert_structural_equal(function, from_source(function.script()))
    text = "@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(T.trace([n, n + 1]))\n"
    parsed = from_source(text)
    assert_structural_equal(parsed, from_source(parsed.script()))


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((3,), ArgumentError, "a list of expressions, got 3"),
        (([],), ArgumentError, "a list of expressions"),
        (([1], 5), ArgumentError, "the name of a function, got 5"),
        (([1, "x"],), DTypeError, "must be a number"),
        (([tir.Broadcast(tir.const(1.0), 4)],), DTypeError, "must be a number"),
        (([tir.decl_buffer((4,))],), DTypeError, "must be a number"),
    ],
)
def test_mistakes(args, error, message):
    with pytest.raises(error, match=message):
        tir.trace(*args)
