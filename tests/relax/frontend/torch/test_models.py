"""Small models with the structure of real ones, compiled, give what torch gives."""

import numpy as np
import pytest
import torch
from examples.bert import random_bert, random_words
from examples.resnet18 import random_resnet18
from tests.relax.frontend.torch.programs import distance, imported

from tilewright import relax
from tilewright.relax.interpreter import evaluate


def compiled(module):
    """The main function of a module as native code."""
    return relax.VirtualMachine(relax.build(module, target="llvm"))["main"]


def apart(run, model, inputs):
    """The largest difference of any output."""
    with torch.inference_mode():
        expected = model(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    outputs = run(*inputs)
    return max(
        distance(np.from_dlpack(ours), theirs.numpy())
        for ours, theirs in zip(outputs, expected, strict=True)
    )


@pytest.fixture(scope="module")
def resnet():
    """A narrow ResNet-18, and its module for any batch."""
    model = random_resnet18(classes=5, width=4)
    return model, imported(model, (torch.randn(2, 3, 32, 32),), ({0: torch.export.Dim("batch")},))


def test_resnet_of_any_batch(resnet):
    model, module = resnet
    run = compiled(module)
    for batch in (1, 3):
        assert apart(run, model, (torch.randn(batch, 3, 32, 32),)) < 1e-5


def test_resnet_without_passes(resnet):
    model, module = resnet
    inputs = (torch.randn(1, 3, 32, 32),)
    assert apart(lambda x: evaluate(module, x.numpy()), model, inputs) < 1e-5


def test_bert_of_any_batch_and_sequence():
    model = random_bert(layers=2, hidden=24, heads=3, words=50, positions=16)
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=16)}
    run = compiled(imported(model, random_words(2, 8, 50), (sizes,) * 3))
    for batch, sequence in ((1, 16), (3, 9), (2, 1)):
        assert apart(run, model, random_words(batch, sequence, 50)) < 1e-5
