"""Models as tutorials write them: scripts, kernels and libraries by name, bound parameters."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax
from tilewright.script import relax as R
from tilewright.script import tir as T


@tvm.script.ir_module
class Mixed:
    """A layer that is a tensor program, and two functions that are registered."""

    @T.prim_func
    def dense(
        X: T.Buffer((1, 6), "float32"),
        W: T.Buffer((4, 6), "float32"),
        B: T.Buffer((4,), "float32"),
        Z: T.Buffer((1, 4), "float32"),
    ):
        T.func_attr({"global_symbol": "dense", "tir.noalias": True})
        Y = T.alloc_buffer((1, 4), "float32")
        for i, j, k in T.grid(1, 4, 6):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
        for i, j in T.grid(1, 4):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @R.function
    def main(
        x: R.Tensor((1, 6), "float32"),
        w0: R.Tensor((4, 6), "float32"),
        b0: R.Tensor((4,), "float32"),
        w1: R.Tensor((3, 4), "float32"),
        b1: R.Tensor((3,), "float32"),
    ):
        with R.dataflow():
            lv0 = R.call_tir(dense, (x, w0, b0), (1, 4), dtype="float32")  # noqa: F821
            lv1 = R.call_tir("test.scripts.relu", (lv0,), (1, 4), dtype="float32")
            out = R.call_tir("test.scripts.dense", (lv1, w1, b1), (1, 3), dtype="float32")
            R.output(out)
        return out


@pytest.fixture
def library():
    """The registered functions."""

    @tvm.register_func("test.scripts.relu", override=True)
    def relu(x, out):
        np.maximum(np.from_dlpack(x), 0, out=np.from_dlpack(out))

    @tvm.register_func("test.scripts.dense", override=True)
    def dense(x, w, b, out):
        np.matmul(np.from_dlpack(x), np.from_dlpack(w).T, out=np.from_dlpack(out))
        out.copyfrom(out.numpy() + b.numpy())

    yield
    tvm.remove_global_func("test.scripts.relu")
    tvm.remove_global_func("test.scripts.dense")


def parameters():
    random = np.random.default_rng(1)
    shapes = {"w0": (4, 6), "b0": (4,), "w1": (3, 4), "b1": (3,)}
    return {name: random.standard_normal(s).astype("float32") for name, s in shapes.items()}


def expected(x, p):
    return np.maximum(x @ p["w0"].T + p["b0"], 0) @ p["w1"].T + p["b1"]


def test_parameters_are_bound_and_the_model_is_timed(library):
    given = parameters()
    arrays = {name: tvm.nd.array(value) for name, value in given.items()}
    bound = relax.transform.BindParams("main", arrays)(Mixed)
    vm = relax.VirtualMachine(relax.vm.build(bound, target="llvm"), tvm.cpu())
    x = np.random.default_rng(2).standard_normal((1, 6)).astype("float32")
    result = vm["main"](tvm.nd.array(x))
    np.testing.assert_allclose(result.numpy(), expected(x, given), rtol=1e-5, atol=1e-5)
    timer = vm.module.time_evaluator("main", tvm.cpu(), number=5)
    assert timer(tvm.nd.array(x)).mean > 0


def test_a_kernel_is_replaced_by_one_with_a_schedule(library):
    given = parameters()
    bound = relax.transform.BindParams("main", given)(Mixed)
    module = tvm.IRModule.from_expr(bound["dense"].with_attr("global_symbol", "main"))
    sch = tvm.tir.Schedule(module)
    _, j, k = sch.get_loops(sch.get_block("Y"))
    outer, inner = sch.split(j, [2, 2])
    sch.reorder(outer, k, inner)
    new = sch.mod["main"].with_attr("global_symbol", "dense")
    bound.update_func(bound.get_global_var("dense"), new)
    x = np.ones((1, 6), "float32")
    result = relax.VirtualMachine(relax.build(bound))["main"](x)
    np.testing.assert_allclose(result.numpy(), expected(x, given), rtol=1e-5, atol=1e-5)
