"""Torch programs beside what they are imported as."""

import numpy as np
import torch

from tilewright.relax.frontend.torch import from_exported_program
from tilewright.relax.interpreter import evaluate

BATCH, LENGTH = torch.export.Dim("batch"), torch.export.Dim("length")


class Functions(torch.nn.Module):
    """A model that returns what each of several functions gives for the inputs."""

    def __init__(self, functions, modules=()):
        super().__init__()
        self.functions = functions
        self.modules_used = torch.nn.ModuleList(modules)

    def forward(self, *inputs):
        return tuple(function(*inputs) for function in self.functions)


def imported(model, inputs, dynamic=None, **options):
    """The module that a model is imported as."""
    shapes = None if dynamic is None else {"inputs": dynamic}
    if not isinstance(model, Functions):
        shapes = dynamic
    program = torch.export.export(model.eval(), inputs, dynamic_shapes=shapes)
    return from_exported_program(program, **options)


def difference(module, model, inputs):
    """For each output, the largest difference, relative to the largest element."""
    results = evaluate(module, *(x.numpy() for x in inputs))
    expected = model(*inputs)
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    assert len(results) == len(expected)
    return [
        distance(np.asarray(ours), theirs.detach().numpy())
        for ours, theirs in zip(results, expected, strict=True)
    ]


def distance(ours, theirs):
    """The largest difference, relative to the largest element; infinite where nothing compares."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if theirs.dtype.kind not in "f":
        return 0.0 if np.array_equal(ours, theirs) else float("inf")
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0, np.abs(ours.astype("float64") - theirs))
    if np.isnan(apart).any():
        return float("inf")
    finite = np.abs(theirs[np.isfinite(theirs)])
    return float(apart.max(initial=0) / max(1.0, finite.max(initial=0)))
