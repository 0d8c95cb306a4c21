"""Small models with the structure of real ones give what torch gives."""

import numpy as np
import pytest
import torch
from examples.bert import random_bert, random_words
from tests.relax.frontend.torch.architectures import (
    Decoder,
    Mobile,
    Recurrent,
    UNet,
    VisionTransformer,
    residual,
)
from tests.relax.frontend.torch.programs import difference, distance, imported

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
    """A narrow ResNet, and its module for any batch."""
    model = residual()
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


AUTO = torch.export.Dim.AUTO
CACHE = {0: AUTO, 2: AUTO}


def _words_and_cache(batch, length, past):
    """Words, and the keys and values of those before."""
    cache = (torch.randn(batch, 2, past, 4) for _ in range(2))
    return torch.randint(0, 20, (batch, length)), *cache


ARCHITECTURES = {
    "decoder": (
        Decoder, ({0: AUTO, 1: AUTO}, CACHE, CACHE), _words_and_cache(2, 3, 4),
        _words_and_cache(1, 1, 6),
    ),
    "mobile": (Mobile, ({0: AUTO},), (torch.randn(2, 3, 9, 8),), (torch.randn(1, 3, 9, 8),)),
    "vision": (
        VisionTransformer, ({0: AUTO},), (torch.randn(2, 3, 8, 8),), (torch.randn(1, 3, 8, 8),)
    ),
    "u-net": (
        UNet, ({0: AUTO, 2: AUTO, 3: AUTO},), (torch.randn(2, 1, 6, 8),),
        (torch.randn(1, 1, 4, 10),),
    ),
    "recurrent": (Recurrent, None, (torch.randn(2, 3, 3),), (torch.randn(2, 3, 3),)),
}  # fmt: skip


# torch warns of how its own recurrent layers keep their weights.
@pytest.mark.filterwarnings("ignore:The tensor attributes self.cells._flat_weights:UserWarning")
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architecture(name):
    torch.manual_seed(0)
    make, dynamic, inputs, others = ARCHITECTURES[name]
    model = make().eval()
    module = imported(model, inputs, dynamic)
    for given in (inputs, others):
        assert max(difference(module, model, given)) < 1e-5
