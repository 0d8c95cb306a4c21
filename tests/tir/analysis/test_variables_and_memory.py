"""Variables from outside, sameness of expressions, and allocated memory."""

import pytest

import tilewright as tvm
from tilewright import tir
from tilewright.error import ArgumentError
from tilewright.script import tir as T


def test_variables_from_outside():
    x, y, z = (tir.Var(name, "int32") for name in "xyz")
    assert tir.analysis.undefined_vars(x + y * x, [y]) == [x]
    loop = tir.For(x, 0, z, tir.ForKind.SERIAL, tir.Evaluate(x + y))
    assert tir.analysis.undefined_vars(loop) == [z, y]
    with pytest.raises(ArgumentError, match="undefined_vars: expected"):
        tir.analysis.undefined_vars("x")


def test_iterators_of_blocks_and_variables_of_reductions_are_bound():
    @T.prim_func
    def func(A: T.Buffer((4, 4)), B: T.Buffer((4,))):
        for i, k in T.grid(4, 4):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                B[vi] += A[vi, vk]

    assert [v for v in tir.analysis.undefined_vars(func.body) if v.dtype == "int32"] == []


def test_memory_that_is_accessed_comes_from_outside_and_the_axes_of_kernels_do_not():
    @T.prim_func
    def func(A: T.Buffer((4,)), B: T.Buffer((4,))):
        local = T.allocate([1], "float32", "local")
        cell = T.Buffer((1,), data=local, scope="local")
        i = T.launch_thread("threadIdx.x", 4)
        cell[0] = A[i]
        B[i] = cell[0]

    pointers = [buffer.data for buffer in func.buffer_map.values()]
    assert tir.analysis.undefined_vars(func.body) == pointers


def test_sizes_of_what_is_accessed_come_from_outside():
    size, index = tir.Var("size", "int32"), tir.Var("index", "int32")
    buffer = tir.decl_buffer((2, size), "float32")
    store = tir.BufferStore(buffer, 0.0, (0, index))
    assert tir.analysis.undefined_vars(store) == [buffer.data, size, index]


def test_sameness_of_expressions():
    x, y = tir.Var("x", "int32"), tir.Var("x", "int32")
    assert tir.analysis.expr_deep_equal(x + 1, x + 1)
    assert not tir.analysis.expr_deep_equal(x + 1, y + 1)


def test_memory_of_allocations():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        a = T.allocate([3], "float32", "global")
        buffer = T.Buffer((3,), "float32", data=a)
        buffer[0] = A[0]
        for i in range(2):
            b = T.allocate([5], "int8", "global")
            inner = T.Buffer((5,), "int8", data=b)
            inner[i] = T.int8(1)
        for i in range(2):
            c = T.allocate([7], "int8", "global")
            other = T.Buffer((7,), "int8", data=c)
            other[i] = T.int8(1)

    assert tir.analysis.calculate_workspace_bytes(func) == 12 + 7
    assert tir.analysis.calculate_workspace_bytes(func, 16) == 32


def test_memory_of_a_symbolic_size():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32"), n: T.int32):
        a = T.allocate([n], "float32", "global")
        buffer = T.Buffer((n,), "float32", data=a)
        buffer[0] = A[0]

    with pytest.raises(ArgumentError, match="symbolic size n"):
        tir.analysis.calculate_workspace_bytes(func)
    with pytest.raises(ArgumentError, match="expected a PrimFunc"):
        tir.analysis.calculate_workspace_bytes(tvm.IRModule({"main": func}))
