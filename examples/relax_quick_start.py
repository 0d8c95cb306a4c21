"""A model from a Python class to results: define, export, optimise, build, run.

python examples/relax_quick_start.py
"""

from __future__ import annotations

import numpy as np

import tilewright as tvm
from tilewright import relax
from tilewright.relax.frontend import nn


class MLP(nn.Module):
    """Two linear layers; images of 28 x 28 pixels in, ten scores out."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 256)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(256, 10, bias=False)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.fc2(self.relu1(self.fc1(x)))


def main() -> None:
    # 1. The method becomes a graph function. Parameters are its last arguments; there is a list of
    #    them with their names, shapes and dtypes. "n" makes the batch size symbolic.
    model = MLP()
    mod, param_spec = model.export_tvm({"forward": {"x": nn.spec.Tensor(("n", 784), "float32")}})
    mod.show()

    # 2. The pipeline "zero" makes few and large tensor programs of the operators.
    optimised = relax.get_pipeline("zero")(mod)
    kernels = [v.name_hint for v, f in optimised.functions.items() if v.name_hint != "forward"]
    print("kernels:", ", ".join(kernels))

    # 3. Native code for this machine, and a virtual machine that runs it.
    executable = relax.build(optimised, target=tvm.target.Target("llvm"))
    device = tvm.cpu()
    vm = relax.VirtualMachine(executable, device)
    random = np.random.default_rng(0)
    values = [(random.random(param.shape) - 0.5).astype("float32") for _, param in param_spec]
    params = [tvm.nd.array(value, device=device) for value in values]
    images = random.random((3, 784)).astype("float32")
    scores = vm["forward"](tvm.nd.array(images, device=device), *params).numpy()

    weight, bias, last = values
    expected = np.maximum(images @ weight.T + bias, 0) @ last.T
    print(f"scores {scores.shape}, difference to numpy {abs(scores - expected).max():.0e}")

    # 4. The same in one step, with the parameters inside of the model.
    model.load_state_dict(dict(zip([name for name, _ in param_spec], values, strict=True)))
    spec = {"forward": {"x": nn.spec.Tensor(("n", 784), "float32")}}
    compiled = model.jit(spec, out_format="numpy")
    print("jit gives the same:", np.allclose(compiled["forward"](images), scores, atol=1e-4))


if __name__ == "__main__":
    main()
