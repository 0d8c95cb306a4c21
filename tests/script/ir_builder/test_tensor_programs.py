"""Tensor programs and modules built frame by frame."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright.error import DiagnosticError
from tilewright.ir import structural_equal
from tilewright.script import ir as I_script
from tilewright.script import tir as T_script
from tilewright.script.ir_builder import IRBuilder
from tilewright.script.ir_builder import ir as I
from tilewright.script.ir_builder import tir as T


@T_script.prim_func
def row_sums(A: T_script.Buffer((8, 16), "float32"), B: T_script.Buffer((8,), "float32")):
    T_script.func_attr({"tir.noalias": True})
    C = T_script.alloc_buffer((8, 16))
    for i, j in T_script.grid(8, 16):
        with T_script.block("C"):
            vi, vj = T_script.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T_script.float32(2)
    for i, k in T_script.grid(8, 16):
        with T_script.block("B"):
            vi, vk = T_script.axis.remap("SR", [i, k])
            with T_script.init():
                B[vi] = T_script.float32(0)
            B[vi] = B[vi] + C[vi, vk]


def build_row_sums():
    with T.prim_func():
        T.func_name("row_sums")
        T.func_attr({"tir.noalias": True})
        A = T.arg("A", T.Buffer((8, 16), "float32"))
        B = T.arg("B", T.Buffer((8,), "float32"))
        C = IRBuilder.name("C", T.alloc_buffer((8, 16)))
        with T.grid(8, 16) as (i, j), T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.buffer_store(C, A[vi, vj] * T.float32(2), [vi, vj])
        with T.grid(8, 16) as (i, k), T.block("B"):
            vi = IRBuilder.name("vi", T.axis.spatial(8, i))
            vk = T.axis.reduce(16, k)
            with T.init():
                T.buffer_store(B, T.float32(0), [vi])
            T.buffer_store(B, B[vi] + C[vi, vk], [vi])


def test_the_frames_build_what_a_script_says():
    with IRBuilder() as builder:
        build_row_sums()
    function = builder.get()
    tvm.ir.assert_structural_equal(function, row_sums)
    a, b = np.random.default_rng(1).random((8, 16), "float32"), np.zeros(8, "float32")
    tvm.build(function, target="llvm")(a, b)
    np.testing.assert_allclose(b, 2 * a.sum(1), rtol=1e-6)


def test_what_has_no_name_gets_one():
    with IRBuilder() as builder:
        build_row_sums()
    text = builder.get().script()
    assert "for v, v_1 in T.grid(8, 16):" in text
    assert structural_equal(tvm.script.from_source(text), row_sums)


def test_a_module_has_several_functions():
    with IRBuilder() as builder, I.ir_module():
        I.module_attrs({"version": 3})
        later = I.decl_function("helper")
        build_row_sums()
        I.def_function("helper", row_sums.with_attr("global_symbol", "helper"))
    module = builder.get()
    assert sorted(var.name_hint for var in module.functions) == ["helper", "row_sums"]
    assert later in module.functions
    assert int(module.attrs["version"]) == 3

    @I_script.ir_module
    class Expected:
        I_script.module_attrs({"version": 3})

        @T_script.prim_func
        def main(A: T_script.Buffer((2,), "int32")):
            A[0] = 1

    assert structural_equal(module.attrs["version"], Expected.attrs["version"])


def test_branches_loops_and_allocations():
    with IRBuilder() as builder, T.prim_func():
        T.func_name("main")
        A = T.arg("A", T.Buffer((8,), "int32"))
        n = T.arg("n", T.int32())
        with T.serial(8) as i, T.If(i < n):
            with T.Then():
                T.buffer_store(A, i * 2, [i])
            with (
                T.Else(),
                T.allocate([1], "int32", "global") as data,
                T.decl_buffer((1,), "int32", data=data) as x,
            ):
                T.buffer_store(x, -i, [0])
                T.buffer_store(A, x[0], [i])
    a = np.zeros(8, "int32")
    tvm.build(builder.get(), target="llvm")(a, 3)
    assert a.tolist() == [0, 2, 4, -3, -4, -5, -6, -7]


def test_mistakes_are_named():
    with pytest.raises(DiagnosticError, match="with IRBuilder"):
        I.decl_function("f")
    builder = IRBuilder()
    with builder, pytest.raises(DiagnosticError, match="inside of `with I"):
        I.decl_function("f")
    with pytest.raises(DiagnosticError, match="nothing was built"):
        builder.get()
    with pytest.raises(DiagnosticError, match="builds one function"), IRBuilder():
        build_row_sums()
        build_row_sums()
    with (
        pytest.raises(DiagnosticError, match="needs a name"),
        IRBuilder(),
        I.ir_module(),
        T.prim_func(),
    ):
        T.evaluate(0)
    with (
        pytest.raises(DiagnosticError, match="declared, but not defined"),
        IRBuilder(),
        I.ir_module(),
    ):
        I.decl_function("f")
    assert not IRBuilder.is_in_scope()


def test_an_error_inside_leaves_nothing_open():
    with pytest.raises(ZeroDivisionError), IRBuilder(), T.prim_func(), T.grid(2, 2):
        _ = 1 // 0
    assert not IRBuilder.is_in_scope()
    with IRBuilder() as builder:
        build_row_sums()
    assert structural_equal(builder.get(), row_sums)
