"""Models that join a hundred tensors."""

import numpy as np
import torch
from tests.relax.frontend.torch.programs import Functions, difference, imported

import tilewright as tvm
from tilewright import relax

COUNT = 100


def test_cat_stack_and_sum_of_a_hundred_tensors():
    inputs = tuple(torch.rand(2, 3) for _ in range(COUNT))
    model = Functions(
        [
            lambda *tensors: torch.cat(tensors, 1),
            lambda *tensors: torch.stack(tensors),
            lambda *tensors: sum(tensors),
        ]
    )
    assert max(difference(imported(model, inputs), model, inputs)) < 1e-6


def test_joined_tensors_of_several_shapes_are_compiled():
    inputs = tuple(torch.rand(2, 1 + number % 3) for number in range(COUNT))
    model = Functions(
        [lambda *tensors: torch.cat(tensors, 1), lambda *tensors: sum(t.sum() for t in tensors)]
    )
    machine = relax.VirtualMachine(relax.build(imported(model, inputs), "llvm"), tvm.cpu())
    results = machine["main"](*(tensor.numpy() for tensor in inputs))
    for ours, theirs in zip(results, model(*inputs), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)
