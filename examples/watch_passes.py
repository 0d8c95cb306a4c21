"""What happens between a program and its code: each pass with its time, and the size of the result.

python examples/watch_passes.py
"""

from __future__ import annotations

import time

import tilewright as tvm
from tilewright import relax, te
from tilewright.ir.rewrite import walk_once
from tilewright.script import ir as I
from tilewright.script import relax as R


@tvm.instrument.pass_instrument
class Watch:
    """Prints a line for each pass, under the lines of the passes inside of it."""

    def enter_pass_ctx(self) -> None:
        self._starts: list[float] = []

    def run_before_pass(self, mod: tvm.IRModule, info: tvm.transform.PassInfo) -> None:
        self._starts.append(time.perf_counter())

    def run_after_pass(self, mod: tvm.IRModule, info: tvm.transform.PassInfo) -> None:
        seconds = time.perf_counter() - self._starts.pop()
        size = sum(1 for func in mod.functions.values() for _ in walk_once(func))
        name = "  " * len(self._starts) + info.name
        print(f"  {name:<44} {seconds * 1e3:8.2f} ms {size:8} nodes")


def product(size: int) -> tvm.IRModule:
    """``exp(A @ B)`` as a tensor program."""
    a = te.placeholder((size, size), name="A")
    b = te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), name="k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((size, size), lambda i, j: te.exp(c[i, j]), name="D")
    return tvm.IRModule({"main": te.create_prim_func([a, b, d])})


@I.ir_module
class Layer:
    @R.function
    def main(x: R.Tensor((8, 64), "float32"), w: R.Tensor((64, 32), "float32")) -> R.Tensor(
        (8, 32), "float32"
    ):
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            R.output(y)
        return y


print("tvm.build:")
with tvm.transform.PassContext(instruments=[Watch()]):
    tvm.build(product(256), target="llvm")

print("relax.build:")
with tvm.transform.PassContext(instruments=[Watch()]):
    relax.build(Layer, target="llvm")

print("tvm.build with opt_level=0:")
with tvm.transform.PassContext(opt_level=0, instruments=[Watch()]):
    tvm.build(product(256), target="llvm")
