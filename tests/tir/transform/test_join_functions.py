"""Several tensor programs as one."""

import numpy as np
import pytest
from tests.schedule_rules import programs

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import LoweringError
from tilewright.tir.analysis import verify_well_formed
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.join_functions import FunctionCall, join_functions


def joined(params, *calls):
    func = join_functions(params, [FunctionCall(*call) for call in calls], {"tir.noalias": True})
    verify_well_formed(func)
    return func


def buffers(**shapes):
    return [tir.decl_buffer(shape, "float32", name) for name, shape in shapes.items()]


def blocks_of(func):
    nodes = tvm.ir.walk(func.body)
    return [node.name_hint for node in nodes if isinstance(node, tir.Block)][1:]


def test_what_one_writes_the_next_one_reads():
    a, b, c, d = buffers(a=(3, 5), b=(5, 4), c=(3, 4), d=(3, 4))
    func = joined([a, b, d], (programs.matmul(3, 4, 5), (a, b, c)), (twice(3, 4), (c, d)))
    x, y, result = np.ones((3, 5), "float32"), np.ones((5, 4), "float32"), np.empty((3, 4), "f4")
    interpret(func, x, y, result, check_reads=True)
    np.testing.assert_array_equal(result, np.full((3, 4), 10))
    assert blocks_of(func) == ["C", "T"]
    assert [buffer.name for buffer in func.body.block.alloc_buffers] == ["c"]


def twice(*shape):
    a = te.placeholder(shape, name="A")
    return te.create_prim_func([a, te.compute(shape, lambda *i: a(*i) * 2.0, name="T")])


def test_one_function_may_be_called_several_times():
    a, b, c = buffers(a=(3, 4), b=(3, 4), c=(3, 4))
    func = joined(
        [a, c], (programs.elementwise(3, 4), (a, b)), (programs.elementwise(3, 4), (b, c))
    )
    same = programs.elementwise(3, 4)
    again = joined([a, c], (same, (a, b)), (same, (b, c)))
    for candidate in (func, again):
        result = np.empty((3, 4), "float32")
        interpret(candidate, np.ones((3, 4), "float32"), result, check_reads=True)
        np.testing.assert_array_equal(result, np.full((3, 4), 10))
    assert blocks_of(again) == ["B", "C", "B_1", "C_1"]
    tvm.ir.assert_structural_equal(func, again)


def test_sizes_take_the_values_of_the_arguments():
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    a = te.placeholder((n,), name="A")
    func = te.create_prim_func([a, te.compute((n,), lambda i: a[i] + n, name="B")])
    x, y, z = buffers(x=(m * 2,), y=(m * 2,), z=(m * 2,))
    given = tir.decl_buffer((m,), "float32", "given")
    result = np.empty(6, "float32")
    both = joined([given, x, z], (func, (x, y)), (func, (y, z)))
    interpret(both, np.empty(3, "float32"), np.zeros(6, "float32"), result, check_reads=True)
    np.testing.assert_array_equal(result, np.full(6, 12))


def test_scalars_are_arguments_too():
    a, n = te.placeholder((4,), name="A"), tir.Var("n", "int64")
    func = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + n), n])
    x, y, z = buffers(x=(4,), y=(4,), z=(4,))
    size = tir.Var("size", "int64")
    result = np.empty(4, "float32")
    both = joined([x, z, size], (func, (x, y, size)), (func, (y, z, size + 1)))
    interpret(both, np.zeros(4, "float32"), result, 10)
    np.testing.assert_array_equal(result, np.full(4, 21))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"a": (3, 4), "b": (4, 4)}, "does not fit"),
        ({"a": (3, 4), "b": (12,)}, "does not fit"),
        ({"a": (3, 4)}, "takes 2 arguments, 1 are given"),
    ],
)
def test_arguments_must_fit(shapes, message):
    arguments = buffers(**shapes)
    with pytest.raises(LoweringError, match=message):
        joined(arguments, (twice(3, 4), tuple(arguments)))


def test_sizes_that_may_differ_are_refused():
    n, p, q = (tir.Var(name, "int64") for name in "npq")
    a, b = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    func = te.create_prim_func([a, b, te.compute((n * 2,), lambda i: a[i // 2] + b[i // 2])])
    x, y, z = buffers(x=(p,), y=(p,), z=(p + p,))
    joined([x, y, z], (func, (x, y, z)))
    for shapes in ({"x": (p,), "y": (q,), "z": (p * 2,)}, {"x": (p,), "y": (p,), "z": (q,)}):
        arguments = buffers(**shapes)
        with pytest.raises(LoweringError, match="does not fit an extent of"):
            joined(arguments, (func, tuple(arguments)))


def test_functions_without_a_root_block_are_refused():
    func = twice(4)
    flat = func.with_body(func.body.block.body)
    a, b = buffers(a=(4,), b=(4,))
    with pytest.raises(LoweringError, match="no root block"):
        joined([a, b], (flat, (a, b)))
