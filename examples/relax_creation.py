"""Four ways to write the same graph module.

python examples/relax_creation.py
"""

from __future__ import annotations

import numpy as np

import tilewright as tvm
from tilewright import relax, te, topi
from tilewright.relax.frontend import nn
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T

# --- 1. A script of operators -----------------------------------------------------------------


@I.ir_module
class Operators:
    """Operators on whole arrays."""

    @R.function
    def forward(
        data: R.Tensor(("n", 784), "float32"),
        w0: R.Tensor((128, 784), "float32"),
        b0: R.Tensor((128,), "float32"),
        w1: R.Tensor((10, 128), "float32"),
    ):
        with R.dataflow():
            hidden = R.matmul(data, R.permute_dims(w0)) + b0
            active = R.nn.relu(hidden)
            scores = R.matmul(active, R.permute_dims(w1))
            R.output(scores)
        return scores


# --- 2. A script with tensor programs ---------------------------------------------------------


@I.ir_module
class WithTensorPrograms:
    """A graph function, and a tensor program that it calls."""

    @T.prim_func
    def relu(x: T.handle, y: T.handle):
        n, m = T.int64(), T.int64()
        X = T.match_buffer(x, (n, m), "float32")
        Y = T.match_buffer(y, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.block("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @R.function
    def forward(
        data: R.Tensor(("n", 784), "float32"),
        w0: R.Tensor((128, 784), "float32"),
        b0: R.Tensor((128,), "float32"),
        w1: R.Tensor((10, 128), "float32"),
    ):
        n = T.int64()
        cls = WithTensorPrograms
        with R.dataflow():
            hidden = R.matmul(data, R.permute_dims(w0)) + b0
            active = R.call_tir(cls.relu, (hidden,), out_sinfo=R.Tensor((n, 128), "float32"))
            scores = R.matmul(active, R.permute_dims(w1))
            R.output(scores)
        return scores


# --- 3. A class of layers ---------------------------------------------------------------------


class Layers(nn.Module):
    """Layers keep their parameters; operators may be written as tensor expressions, too."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 128)
        self.fc2 = nn.Linear(128, 10, bias=False)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        hidden = nn.op.tensor_expr_op(topi.nn.relu, "relu", [self.fc1(x)])
        return self.fc2(hidden)


# --- 4. A builder -----------------------------------------------------------------------------


def built() -> tvm.IRModule:
    """Expressions are emitted one by one, from Python."""
    n = tvm.tir.Var("n", "int64")
    data = relax.Var("data", relax.TensorStructInfo((n, 784), "float32"))
    w0 = relax.Var("w0", relax.TensorStructInfo((128, 784), "float32"))
    b0 = relax.Var("b0", relax.TensorStructInfo((128,), "float32"))
    w1 = relax.Var("w1", relax.TensorStructInfo((10, 128), "float32"))

    def relu(x: te.Tensor) -> te.Tensor:
        return te.compute(x.shape, lambda *i: te.max(x(*i), tvm.tir.const(0, "float32")), "relu")

    bb = relax.BlockBuilder()
    with bb.function("forward", params=[data, w0, b0, w1]):
        with bb.dataflow():
            product = bb.emit(relax.op.matmul(data, relax.op.permute_dims(w0)))
            hidden = bb.emit(relax.op.add(product, b0))
            active = bb.emit_te(relu, hidden)
            scores = bb.emit(relax.op.matmul(active, relax.op.permute_dims(w1)))
            output = bb.emit_output(scores)
        bb.emit_func_output(output)
    return bb.get()


def main() -> None:
    exported, _ = Layers().export_tvm({"forward": {"x": nn.spec.Tensor(("n", 784), "float32")}})
    modules = {
        "operators": Operators, "tensor programs": WithTensorPrograms, "layers": exported,
        "builder": built(),
    }  # fmt: skip
    random = np.random.default_rng(0)
    shapes = [(5, 784), (128, 784), (128,), (10, 128)]
    arrays = [random.standard_normal(shape).astype("float32") for shape in shapes]
    data, w0, b0, w1 = arrays
    expected = np.maximum(data @ w0.T + b0, 0) @ w1.T
    for name, module in modules.items():
        print(f"--- {name}")
        module.show()
        vm = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
        result = vm["forward"](*arrays).numpy()
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-2)
        print(f"{name}: equal to numpy")


if __name__ == "__main__":
    main()
