"""The models that are measured. torch is imported when one is made."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Model:
    """A model with inputs of fixed sizes.

    Attributes:
        name: unique, with the sizes.
        make: makes the torch module, in evaluation mode, and its inputs.
        flop: floating-point operations of one run.
        aim: the fastest peer's time over ours, at least; 0 if nothing is aimed at.
        error: the largest difference of the outputs that is tolerated.
    """

    name: str
    make: Callable[[], tuple[Any, tuple[Any, ...]]]
    flop: float = 0
    aim: float = 0.8
    error: float = 1e-4


def _resnet() -> tuple[Any, tuple[Any, ...]]:
    import torch
    from examples.resnet18 import random_resnet18

    return random_resnet18(), (torch.randn(1, 3, 224, 224),)


def _bert() -> tuple[Any, tuple[Any, ...]]:
    from examples.bert import random_bert, random_words

    return random_bert(), random_words(1, 128)


def perceptron(*sizes: int) -> tuple[Any, tuple[Any, ...]]:
    """Linear layers with a rectifier between them, and a row of inputs."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1]).eval(), (torch.randn(1, sizes[0]),)


MODELS = (
    Model("ResNet-18, 1x3x224x224", _resnet, flop=3.63e9),
    Model("BERT-base, 2 layers, 1x128", _bert, flop=3.72e9),
    Model("MLP 784-128-10, 1 row", lambda: perceptron(784, 128, 10), flop=2.03e5),
)
