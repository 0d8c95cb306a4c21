"""ResNet-18 from PyTorch: import it, build it, and compare numbers and times.

The weights are random, and so are the statistics of the normalisation layers: what is shown is
that both compute the same, and how fast. Needs torch: ``pip install tilewright[torch]``.

    python examples/resnet18.py
    python examples/resnet18.py --size 64      # a quick look
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn


class BasicBlock(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels_in: int, channels: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    """He et al., "Deep Residual Learning for Image Recognition" (2016): 18 layers."""

    def __init__(self, classes: int = 1000, width: int = 64):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        blocks, channels = [], width
        for factor, stride in ((1, 1), (2, 2), (4, 2), (8, 2)):
            blocks.append(BasicBlock(channels, factor * width, stride))
            channels = factor * width
            blocks.append(BasicBlock(channels, channels, 1))
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classify = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


def random_resnet18(**options: int) -> ResNet18:
    """A ResNet-18 with random weights and statistics, ready to be exported."""
    torch.manual_seed(0)
    model = ResNet18(**options)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.1)
            nn.init.normal_(module.running_mean, std=0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return model.eval()


def main() -> None:
    from beside_torch import compare

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=224, help="pixels of the height and width")
    size = parser.parse_args().size
    compare(
        "ResNet-18",
        random_resnet18(),
        [(f"batch {n}", (torch.randn(n, 3, size, size),)) for n in (1, 3)],
        dynamic_shapes=({0: torch.export.Dim("batch")},),
    )


if __name__ == "__main__":
    main()
