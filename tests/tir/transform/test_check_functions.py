"""Functions with many arguments, which are checked by calls of shared functions."""

import re

import numpy as np
import pytest

import tilewright as tvm
from tilewright import tir
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.script import tir as T
from tilewright.target.codegen.llvm.compile import MOST_BLOCKS
from tilewright.tir.call_boundary import make_packed_api
from tilewright.tir.call_boundary.return_results import RETURNS


@T.prim_func
def mixed(
    a: T.handle, flag: T.bool, small: T.int8, real: T.float32, address: T.handle, b: T.handle,
    c: T.handle, d: T.handle, out: T.handle,
):  # fmt: skip
    n, m, stride = T.int32(), T.int64(), T.int32()
    A = T.match_buffer(a, (n, 2), "float32")
    B = T.match_buffer(b, (n + 1,), "float32")
    C = T.match_buffer(c, (n, m), "int32", strides=(stride, 1))
    D = T.match_buffer(d, (n, 2), "float32", align=16)
    Out = T.match_buffer(out, (6,), "float64")
    Out[0] = T.Cast("float64", A[0, 1])
    Out[1] = T.if_then_else(flag, T.float64(10), T.float64(20))
    Out[2] = T.Cast("float64", small)
    Out[3] = T.Cast("float64", real)
    Out[4] = T.Cast("float64", B[n]) + T.Cast("float64", C[n - 1, m - T.int64(1)])
    Out[5] = T.Cast("float64", D[0, 0]) + T.Cast("float64", T.isnullptr(address))


def arguments():
    return [
        np.array([[1, 2]], "float32"), True, -3, 0.5, None, np.array([4, 5], "float32"),
        np.array([[7, 8, 9]], "int32"), np.zeros((1, 2), "float32"), np.zeros(6),
    ]  # fmt: skip


WRONG = [
    (0, 3), (0, np.zeros((1, 2))), (0, np.zeros(2, "float32")), (0, np.zeros((1, 3), "float32")),
    (1, "yes"), (1, 2), (2, 200), (2, 1.5), (3, "x"), (4, 1.5), (5, None),
    (5, np.zeros(3, "float32")), (6, np.zeros((2, 3), "int32")), (6, np.zeros((1, 6), "int32").T),
    (7, np.zeros((1, 5), "float32")[:, ::3]), (7, np.zeros(20, "float32")[1:3].reshape(1, 2)),
    (8, np.zeros(7)),
]  # fmt: skip


@pytest.fixture
def both(monkeypatch):
    """The function with its checks inline, and with each in a function."""
    inline = tvm.build(mixed, target="llvm")
    monkeypatch.setattr(make_packed_api, "MANY_ARGUMENTS", 0)
    return inline, {target: tvm.build(mixed, target=target) for target in ("llvm", "c")}


def test_arguments_are_read_as_by_inline_checks(both):
    inline, called = both
    for module in (inline, *called.values()):
        args = arguments()
        module(*args)
        np.testing.assert_array_equal(args[-1], [2, 10, -3, 0.5, 14, 1])


def test_errors_are_those_of_inline_checks(both):
    inline, called = both
    for position, wrong in WRONG:
        args = arguments()
        args[position] = wrong
        messages = []
        for module in (inline, *called.values()):
            with pytest.raises((ArgumentError, ArgumentValueError)) as error:
                module(*args)
            messages.append((type(error.value), re.sub("0x[0-9a-f]+", "", str(error.value))))
        assert len(set(messages)) == 1, messages
        assert f"argument {position + 1} (" in messages[0][1]


def test_the_first_error_counts():
    count = make_packed_api.MANY_ARGUMENTS + 1
    module = tvm.build(sum_of(count), target="llvm")
    args = [np.ones(4, "float32") for _ in range(count)]
    args[7], args[20] = np.ones(5, "float32"), None
    with pytest.raises(ArgumentValueError, match=r"argument 8 \(x7\): shape\[0\] is 5, expected 4"):
        module(*args, np.ones(4, "float32"))


def test_a_thousand_arrays_share_a_function_and_need_no_branches():
    function = sum_of(1000)
    module = tvm.build(function, target="llvm")
    source = module.get_source()
    assert source.count("define internal") == 2  # the function itself, and one check
    blocks = max(text.count(":\n") for text in source.split("define "))
    assert blocks < 100 < MOST_BLOCKS
    out = np.zeros(4, "float32")
    module(*(np.full(4, number, "float32") for number in range(1000)), out)
    np.testing.assert_array_equal(out, np.full(4, 1 + 999, "float32"))


def test_a_function_that_returns_a_thousand_arrays_does_not_nest():
    buffers = [tir.decl_buffer((4,), "float32", f"y{number}") for number in range(1000)]
    handles = [tir.Var(f"h{number}", "handle") for number in range(1000)]
    body = tir.SeqStmt([tir.BufferStore(buffer, 1.0, [0]) for buffer in buffers])
    function = tir.PrimFunc(handles, body, buffer_map=dict(zip(handles, buffers, strict=True)))
    numbers = str(list(range(1000)))
    function = function.with_attrs({RETURNS: numbers, "global_symbol": "main"})
    lowered = tvm.lower(tvm.IRModule({"main": function}))
    packed = make_packed_api.make_packed_api(lowered)["__tvm_ffi_main"]
    assert depth(packed.body) < 20
    results = tvm.build(function, target="llvm")()
    assert len(results) == 1000
    assert all(result.numpy()[0] == 1 for result in results)


def sum_of(count):
    """A function that adds the second and the last of many arrays."""
    buffers = [tir.decl_buffer((4,), "float32", f"x{number}") for number in range(count + 1)]
    handles = [tir.Var(f"h{number}", "handle") for number in range(count + 1)]
    i = tir.Var("i", "int32")
    total = buffers[1][i] + buffers[-2][i]
    body = tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.BufferStore(buffers[-1], total, [i]))
    function = tir.PrimFunc(handles, body, buffer_map=dict(zip(handles, buffers, strict=True)))
    return function.with_attr("global_symbol", "main")


def depth(stmt):
    """How deep statements nest, without recursion of the test."""
    deepest, pending = 0, [(stmt, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending += [(child, level + 1) for child in node.children() if isinstance(child, tir.Stmt)]
    return deepest
