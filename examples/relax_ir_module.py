"""A graph module: where it comes from, what is in it, how it is changed, and where it runs.

python examples/relax_ir_module.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch

import tilewright as tvm
from tilewright import relax
from tilewright.relax.frontend import nn
from tilewright.relax.frontend.torch import from_exported_program
from tilewright.script import ir as I
from tilewright.script import relax as R


class TorchModel(torch.nn.Module):
    """Two linear layers in torch."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = torch.nn.Linear(784, 256)
        self.fc2 = torch.nn.Linear(256, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(torch.relu(self.fc1(x)))


# --- functions from elsewhere -----------------------------------------------------------------
# Registered functions write into the last argument. Here torch computes.


@tvm.register_func("env.linear", override=True)
def torch_linear(x: tvm.nd.NDArray, w: tvm.nd.NDArray, b: tvm.nd.NDArray, out: tvm.nd.NDArray):
    x, w, b, out = (torch.from_dlpack(array) for array in (x, w, b, out))
    torch.mm(x, w.T, out=out)
    out.add_(b)


@tvm.register_func("env.relu", override=True)
def torch_relu(x: tvm.nd.NDArray, out: tvm.nd.NDArray):
    torch.from_dlpack(out).copy_(torch.relu(torch.from_dlpack(x)))


@I.ir_module
class WithLibrary:
    """The same model with calls of registered functions."""

    @R.function
    def main(
        x: R.Tensor((1, 784), "float32"),
        w0: R.Tensor((256, 784), "float32"),
        b0: R.Tensor((256,), "float32"),
        w1: R.Tensor((10, 256), "float32"),
        b1: R.Tensor((10,), "float32"),
    ):
        with R.dataflow():
            hidden = R.call_dps_packed("env.linear", (x, w0, b0), R.Tensor((1, 256), "float32"))
            active = R.call_dps_packed("env.relu", (hidden,), R.Tensor((1, 256), "float32"))
            scores = R.call_dps_packed("env.linear", (active, w1, b1), R.Tensor((1, 10), "float32"))
            R.output(scores)
        return scores


class Linear(nn.Module):
    """A layer that calls the registered function."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter((out_features, in_features))
        self.bias = nn.Parameter((out_features,))

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        out = nn.Tensor.placeholder((x.shape[0], self.weight.shape[0]), x.dtype)
        return nn.op.extern("env.linear", [x, self.weight, self.bias], out=out)


class LayersWithLibrary(nn.Module):
    """The model of such layers."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = Linear(784, 256), Linear(256, 10)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.fc2(nn.op.relu(self.fc1(x)))


def main() -> None:
    torch.manual_seed(0)
    model, x = TorchModel().eval(), torch.randn(1, 784)
    expected = model(x).detach().numpy()

    # From torch. The weights become arguments, whose values are taken out of the module.
    program = torch.export.export(model, (x,))
    imported = from_exported_program(
        program, keep_params_as_input=True, unwrap_unit_return_tuple=True
    )
    mod, params = relax.frontend.detach_params(imported)
    mod.show()

    # A module is a dictionary of functions; a name and a GlobalVar find the same one.
    (main_var,) = mod.get_global_vars()
    print("functions:", [v.name_hint for v in mod.get_global_vars()], type(mod["main"]).__name__)
    print("by name and by variable:", mod["main"] is mod[main_var])

    # Passes make new modules.
    mod = tvm.transform.Sequential([
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    ])(mod)  # fmt: skip
    print("after fusion:", sorted(v.name_hint for v in mod.get_global_vars()))

    # On the CPU, and as a library that is loaded again.
    executable = tvm.compile(mod, target="llvm")
    weights = params["main"]
    vm = relax.VirtualMachine(executable, tvm.cpu())
    check("built", vm["main"](tvm.nd.array(x.numpy()), *weights), expected)
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "model.so")
        executable.export_library(path)
        loaded = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())
        check("loaded", loaded["main"](tvm.nd.array(x.numpy()), *weights), expected)

    # With functions from elsewhere.
    values = [weight.detach().numpy() for weight in model.parameters()]
    vm = relax.VirtualMachine(relax.build(WithLibrary, "llvm"), tvm.cpu())
    check("with a library", vm["main"](x.numpy(), *values), expected)
    layers = LayersWithLibrary()
    layers.load_state_dict(model.state_dict())
    compiled = layers.jit({"forward": {"x": nn.spec.Tensor((1, 784), "float32")}})
    check("layers with a library", compiled["forward"](x), expected)


def check(name: str, result: object, expected: np.ndarray) -> None:
    """Print how far a result is from that of torch."""
    difference = abs(np.asarray(result) - expected).max()
    print(f"{name}: equal to torch" if difference < 1e-4 else f"{name}: differs by {difference}")


if __name__ == "__main__":
    main()
