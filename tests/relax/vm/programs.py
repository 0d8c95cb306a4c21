"""Modules of graph functions and tensor programs, for tests of how they run."""

import numpy as np
from tests.relax.builders import array

import tilewright as tvm
from tilewright import relax
from tilewright.ir.expr import Var as Size
from tilewright.relax.op.base import call_dps_packed
from tilewright.script import tir as T


@tvm.script.ir_module
class Layers:
    @T.prim_func
    def linear(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
        m, n = T.int64(), T.int64()
        X = T.match_buffer(x, (1, m), "float32")
        W = T.match_buffer(w, (n, m), "float32")
        B = T.match_buffer(b, (n,), "float32")
        Z = T.match_buffer(z, (1, n), "float32")
        for i, j, k in T.grid(1, n, m):
            with T.block("Z"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Z[vi, vj] = B[vj]
                Z[vi, vj] = Z[vi, vj] + X[vi, vk] * W[vj, vk]

    @T.prim_func
    def relu(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (1, n), "float32")
        Y = T.match_buffer(y, (1, n), "float32")
        for i, j in T.grid(1, n):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))


def perceptron(relu="relu"):
    """Two layers of symbolic sizes, which call tensor programs or registered functions by name."""
    m, n, k = (Size(name, "int64") for name in "mnk")
    builder = relax.BlockBuilder(Layers)
    x, w0, b0 = (relax.Var(v, array(*s)) for v, s in (("x", (1, m)), ("w0", (n, m)), ("b0", (n,))))
    w1, b1 = relax.Var("w1", array(k, n)), relax.Var("b1", array(k))
    with builder.function("main", [x, w0, b0, w1, b1]):
        with builder.dataflow():
            hidden = builder.emit(call_dps_packed("linear", (x, w0, b0), array(1, n)))
            active = builder.emit(call_dps_packed(relu, (hidden,), array(1, n)))
            last = call_dps_packed("linear", (active, w1, b1), array(1, k))
            result = builder.emit_output(last)
        builder.emit_func_output(result)
    return builder.get()


def perceptron_inputs(m=5, n=7, k=3):
    """Arrays for `perceptron`, and its result."""
    random = np.random.default_rng(0)
    shapes = ((1, m), (n, m), (n,), (k, n), (k,))
    x, w0, b0, w1, b1 = inputs = [random.standard_normal(s).astype("float32") for s in shapes]
    return inputs, np.maximum(x @ w0.T + b0, 0) @ w1.T + b1
