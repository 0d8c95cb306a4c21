"""A model of torch, imported, optimised for this machine, built, and compared with torch.

python examples/relax_end_to_end.py [--trials N]

Without trials, kernels get the default schedule; with them, the best that a search finds.
"""

from __future__ import annotations

import argparse
import tempfile

import numpy as np
import torch

import tilewright as tvm
from tilewright import relax
from tilewright.relax.frontend import detach_params
from tilewright.relax.frontend.torch import from_exported_program


class Network(torch.nn.Module):
    """A small residual network for images of 3 x 32 x 32."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(16)
        self.block = torch.nn.Sequential(
            torch.nn.Conv2d(16, 16, 3, padding=1), torch.nn.ReLU(),
            torch.nn.Conv2d(16, 16, 3, padding=1),
        )  # fmt: skip
        self.pool = torch.nn.AdaptiveAvgPool2d(1)
        self.scores = torch.nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.stem(x)))
        x = torch.relu(x + self.block(x))
        return self.scores(self.pool(x).flatten(1))


def imported(model: torch.nn.Module, example: torch.Tensor) -> tuple[tvm.IRModule, dict]:
    """The graph of a model, and its weights."""
    with torch.no_grad():
        program = torch.export.export(model, (example,))
        mod = from_exported_program(program, keep_params_as_input=True)
    return detach_params(mod)


def optimised(
    mod: tvm.IRModule, params: dict, target: tvm.target.Target, trials: int
) -> tvm.IRModule:
    """The module after all passes, for a machine."""
    weights = mod["main"].params[-len(params["main"]) :]
    bound = relax.transform.BindParams("main", dict(zip(weights, params["main"], strict=True)))(mod)
    if not trials:
        return relax.get_pipeline("zero")(bound)
    with tempfile.TemporaryDirectory() as logs:
        pipeline = relax.get_pipeline(
            "static_shape_tuning", target=target, total_trials=trials, work_dir=logs
        )
        return pipeline(bound)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=0, help="candidates to measure")
    options = parser.parse_args()
    torch.manual_seed(0)
    model, image = Network().eval(), torch.randn(1, 3, 32, 32)

    mod, params = imported(model, image)
    print(f"{len(params['main'])} weights; operators:")
    calls = [
        b.value for b in mod["main"].body.blocks[0].bindings if isinstance(b.value, relax.Call)
    ]
    print("  " + ", ".join(call.op.name.removeprefix("relax.") for call in calls))

    target = tvm.target.Target("llvm")
    mod = optimised(mod, params, target, options.trials)
    print("kernels:", sorted(v.name_hint for v in mod.get_global_vars() if v.name_hint != "main"))

    vm = relax.VirtualMachine(relax.build(mod, target=target), tvm.cpu())
    (scores,) = vm["main"](tvm.nd.array(image.numpy()))
    difference = np.abs(scores.numpy() - model(image).detach().numpy()).max()
    print(f"difference to torch: {difference:.0e}")
    timer = vm.time_evaluator("main", tvm.cpu(), number=10, repeat=5)
    print(f"time: {timer(tvm.nd.array(image.numpy())).median * 1e3:.3f} ms")
    assert difference < 1e-4


if __name__ == "__main__":
    main()
