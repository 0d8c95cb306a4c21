"""Passes over graph modules: single ones, sequences, pipelines, and one of your own.

python examples/relax_transformation.py
"""

from __future__ import annotations

import numpy as np

import tilewright as tvm
from tilewright import relax
from tilewright.script import ir as I
from tilewright.script import relax as R


@I.ir_module
class Module:
    """A linear layer and an activation."""

    @R.function
    def main(x: R.Tensor((4, 64), "float32"), w: R.Tensor((64, 32), "float32")):
        with R.dataflow():
            product = R.matmul(x, w)
            active = R.nn.relu(product)
            unused = R.exp(active)  # noqa: F841
            R.output(active)
        return active


# A pass of one's own: a mutator says what becomes of each call, a module pass applies it.


@relax.expr_functor.mutator
class ReluToGelu(relax.PyExprMutator):
    """Replaces one operator by another."""

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = super().visit_call_(call)
        if call.op.name == "relax.nn.relu":
            return relax.op.nn.gelu(call.args[0])
        return call

    def transform(self) -> tvm.IRModule:
        for name, function in self.builder_.get().functions_items():
            if isinstance(function, relax.Function):
                self.builder_.update_func(name, self.visit_expr(function))
        return self.builder_.get()


@tvm.transform.module_pass(opt_level=0, name="UseGelu")
class UseGelu:
    """The pass."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        return ReluToGelu(mod).transform()


def kernels(mod: tvm.IRModule) -> list[str]:
    """The names of the tensor programs of a module."""
    return sorted(v.name_hint for v, f in mod.functions_items() if isinstance(f, tvm.tir.PrimFunc))


def main() -> None:
    # A pass takes a module and returns another one.
    legal = relax.transform.LegalizeOps()(Module)
    legal.show()
    print("legalised:", kernels(legal))

    # Several in a row. A context gives them options, and instruments look at each.
    fuse = tvm.ir.transform.Sequential([
        relax.transform.DeadCodeElimination(),
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    ])  # fmt: skip
    with tvm.transform.PassContext(opt_level=3):
        fused = fuse(Module)
    fused.show()
    print("fused:", kernels(fused))

    # A pipeline is a pass that has a name.
    print("zero:", kernels(relax.get_pipeline("zero")(Module)))

    # One's own.
    changed = UseGelu()(Module)
    changed.show()
    x = np.ones((4, 64), "float32")
    w = np.full((64, 32), -0.01, "float32")
    for name, mod in (("relu", Module), ("gelu", changed)):
        vm = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
        print(f"{name}: {vm['main'](x, w).numpy()[0, 0]:.4f}")


if __name__ == "__main__":
    main()
