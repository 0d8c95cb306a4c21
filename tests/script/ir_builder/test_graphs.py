"""Graph functions built frame by frame."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax, topi
from tilewright.error import DiagnosticError
from tilewright.script import relax as R_script
from tilewright.script.ir_builder import IRBuilder
from tilewright.script.ir_builder import ir as I
from tilewright.script.ir_builder import relax as R
from tilewright.script.ir_builder import tir as T


def run(module, *arrays):
    return relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())["main"](*arrays).numpy()


def test_a_function_with_a_dataflow_block_and_a_symbolic_size():
    with IRBuilder() as builder, R.function():
        R.func_name("main")
        R.func_attr({"note": 1})
        x = R.arg("x", R.Tensor(("n", 4), "float32"))
        with R.dataflow() as block:
            y = R.emit(R.add(x, x))
            R.output(R.emit(R.exp(y)))
        R.func_ret_value(block.output_vars[0])
    function = builder.get()

    @R_script.function
    def main(x: R_script.Tensor(("n", 4), "float32")):
        R_script.func_attr({"note": 1})
        with R_script.dataflow():
            y = R_script.add(x, x)
            e = R_script.exp(y)
            gv = e
            R_script.output(gv)
        return gv

    tvm.ir.assert_structural_equal(function, main)
    a = np.random.default_rng(0).random((3, 4), "float32")
    np.testing.assert_allclose(run(tvm.IRModule({"main": function}), a), np.exp(2 * a), rtol=1e-6)


def test_a_module_of_graphs_and_tensor_programs():
    with IRBuilder() as builder, I.ir_module():
        with T.prim_func():
            T.func_name("double")
            A = T.arg("A", T.Buffer((8,), "float32"))
            B = T.arg("B", T.Buffer((8,), "float32"))
            with T.serial(8) as i, T.block("B"):
                vi = T.axis.spatial(8, i)
                T.buffer_store(B, A[vi] * T.float32(2), [vi])
        double = I.decl_function("double")
        with R.function(is_private=True):
            R.func_name("shift")
            x = R.arg("x", R.Tensor((8,), "float32"))
            R.func_ret_value(R.emit(R.add(x, R.const(1.0))))
        with R.function():
            R.func_name("main")
            x = R.arg("x", R.Tensor((8,), "float32"))
            y = R.emit(R.call_tir(double, (x,), R.Tensor((8,), "float32")))
            z = R.emit(R.Call(I.decl_function("shift"), (y,)))
            R.func_ret_value(R.emit_te(topi.exp, z))
    module = builder.get()
    assert sorted(v.name_hint for v in module.functions) == ["double", "exp", "main", "shift"]
    assert "global_symbol" not in module["shift"].attrs
    a = np.random.default_rng(0).random(8, "float32")
    np.testing.assert_allclose(run(module, a), np.exp(2 * a + 1), rtol=1e-6)


def test_a_conditional_gives_what_its_branch_binds_last():
    with IRBuilder() as builder, R.function():
        R.func_name("main")
        c = R.arg("c", R.Tensor((), "bool"))
        x = R.arg("x", R.Tensor((2,), "float32"))
        with R.If(c) as choice:
            with R.Then():
                R.emit(R.add(x, x))
            with R.Else():
                y = R.emit(R.multiply(x, x))
                R.emit(R.negative(y))
        R.func_ret_value(choice.var)
    module = tvm.IRModule({"main": builder.get()})
    x = np.array([3.0, 5.0], "float32")
    assert run(module, np.array(True), x).tolist() == [6.0, 10.0]
    assert run(module, np.array(False), x).tolist() == [-9.0, -25.0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda x: None, "ends with R.func_ret_value"),
        (lambda x: (R.emit(x), R.arg("y", R.Tensor((2,), "int32"))), "ahead of the first"),
        (lambda x: R.output(x), "belongs inside of `with R.dataflow"),
        (lambda x: R.Then().__enter__(), "belongs inside of R.If"),
        (lambda x: R.emit_te(topi.exp, x), "open I.ir_module"),
        (lambda x: (R.func_ret_value(x), R.func_ret_value(x)), "result already"),
    ],
)
def test_mistakes_are_named(body, message):
    with pytest.raises(DiagnosticError, match=message), IRBuilder(), R.function():
        R.func_name("main")
        body(R.arg("x", R.Tensor((2,), "float32")))
    with pytest.raises(DiagnosticError, match="inside of"):
        R.emit(R.const(1.0))
    with pytest.raises(DiagnosticError, match="needs a name"), IRBuilder(), R.function():
        R.emit(R.const(1.0))
