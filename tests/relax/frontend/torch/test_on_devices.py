"""Whole models on an OpenCL device give what torch gives."""

import pytest
import torch
from examples.bert import random_bert, random_words
from tests.relax.frontend.torch.architectures import residual
from tests.relax.frontend.torch.programs import distance, imported
from tests.relax.vm.test_devices import DEVICE

from tilewright import relax


def bert():
    """BERT with two layers, and inputs."""
    model = random_bert(layers=2, hidden=24, heads=3, words=50, positions=16)
    return model, random_words(1, 5, 50)


def resnet():
    """A narrow ResNet, and an input."""
    return residual(), (torch.randn(1, 3, 16, 16),)


@pytest.mark.parametrize("make", [bert, resnet])
def test_a_model(make):
    torch.manual_seed(0)
    model, inputs = make()
    with torch.inference_mode():
        expected = model(*inputs)
    executable = relax.build(imported(model, inputs), "opencl")
    assert not executable.reasons
    assert not executable.compiled.graphs.kernels  # none has to run on the host
    outputs = relax.VirtualMachine(executable, DEVICE)["main"](*inputs)
    for ours, theirs in zip(outputs, expected if make is bert else (expected,), strict=True):
        assert ours.device == DEVICE
        assert distance(ours.numpy(), theirs.numpy()) < 1e-4
