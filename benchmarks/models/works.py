"""The models that are measured. torch is imported when one is made."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any


def of_this_size(module: Any, inputs: tuple[Any, ...]) -> Any:
    """The program that torch exports for inputs of these sizes."""
    import torch

    return torch.export.export(module, inputs)


@dataclass(frozen=True)
class Model:
    """A model with the inputs that it is measured with.

    Attributes:
        name: unique, with the sizes.
        make: makes the torch module, in evaluation mode, and its inputs.
        flop: floating-point operations of one run.
        aim: the fastest peer's time over ours, at least; 0 if nothing is aimed at.
        error: the largest difference of an output that is tolerated, relative to its largest
            element.
        export: the exported program that we compile, given the module and its inputs.
    """

    name: str
    make: Callable[[], tuple[Any, tuple[Any, ...]]]
    flop: float = 0
    aim: float = 1.0
    error: float = 1e-4
    export: Callable[[Any, tuple[Any, ...]], Any] = of_this_size


def _resnet() -> tuple[Any, tuple[Any, ...]]:
    import torch
    from examples.resnet18 import random_resnet18

    return random_resnet18(), (torch.randn(1, 3, 224, 224),)


def _bert(batch: int, sequence: int) -> tuple[Any, tuple[Any, ...]]:
    from examples.bert import random_bert, random_words

    return random_bert(), random_words(batch, sequence)


def bert_of_any_size(module: Any, inputs: tuple[Any, ...]) -> Any:
    """The program for any batch and sequence."""
    import torch
    from examples.bert import random_words

    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=512)}
    # Other sizes than those of the inputs: torch takes a size of 1 for one that never changes.
    return torch.export.export(module, random_words(3, 77), dynamic_shapes=(sizes,) * len(inputs))


def perceptron(*sizes: int) -> tuple[Any, tuple[Any, ...]]:
    """Linear layers with a rectifier between them, and a row of inputs."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1]).eval(), (torch.randn(1, sizes[0]),)


def _network(name: str, size: int = 224) -> Callable[[], Any]:
    """A convolutional network and an image of so many pixels a side."""

    def make() -> Any:
        from benchmarks.models import convolutional

        return convolutional.of_an_image(getattr(convolutional, name), size)

    return make


def _transformer(name: str, inputs: str, *sizes: int) -> Callable[[], Any]:
    """A transformer with fewer layers than in its paper, and its inputs."""

    def make() -> Any:
        from benchmarks.models import transformers

        model = partial(getattr(transformers, name), LAYERS)
        return getattr(transformers, inputs)(model, *sizes)

    return make


LAYERS = 4
"""Of transformers."""

MODELS = (
    Model("ResNet-18, 1x3x224x224", _resnet, flop=3.63e9),
    Model("ResNet-50, 1x3x224x224", _network("resnet50"), flop=8.18e9),
    Model("MobileNet-v2, 1x3x224x224", _network("mobilenet_v2"), flop=6.02e8),
    Model("VGG-11, 1x3x224x224", _network("vgg11"), flop=1.52e10),
    Model("DenseNet-121, 1x3x224x224", _network("densenet121"), flop=5.67e9),
    Model("U-Net, 1x3x256x256", _network("UNet", 256), flop=2.41e10),
    Model("ViT-B/16, 1x3x224x224", _transformer("ImageTransformer", "of_an_image"), flop=1.14e10),
    Model("GPT-2, 128 words", _transformer("Gpt2", "of_words", 128), flop=7.32e9),
    Model("GPT-2, a word after 128", _transformer("Gpt2", "of_one_word", 128, 12, 64), flop=1.34e8),
    Model("Llama, 128 words", _transformer("Llama", "of_words", 128), flop=4.51e10),
    Model("Llama, a word after 128", _transformer("Llama", "of_one_word", 128, 4, 64), flop=3.86e8),
    Model("BERT-base, 2 layers, 1x128", lambda: _bert(1, 128), flop=3.72e9),
    Model(
        "BERT-base, 2 layers, any batch and sequence: 1x128",
        lambda: _bert(1, 128),
        flop=3.72e9,
        export=bert_of_any_size,
    ),
    Model(
        "BERT-base, 2 layers, any batch and sequence: 4x57",
        lambda: _bert(4, 57),
        flop=6.54e9,
        export=bert_of_any_size,
    ),
    Model("MLP 784-128-10, 1 row", lambda: perceptron(784, 128, 10), flop=2.03e5),
)
