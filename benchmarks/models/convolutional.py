"""Convolutional networks of torch with random weights, each after its paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn


def convolution(
    before: int, after: int, kernel: int, stride: int = 1, groups: int = 1, last: Any = None
) -> nn.Sequential:
    """A convolution that keeps the size but for its stride, normalised, and an activation."""
    layers: list[nn.Module] = [
        nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(after),
    ]
    return nn.Sequential(*layers, *([last()] if last else []))


class Beside(nn.Module):
    """Layers beside a shortcut, and an activation of the sum."""

    def __init__(self, layers: nn.Module, shortcut: nn.Module, activation: nn.Module):
        super().__init__()
        self.layers, self.shortcut, self.activation = layers, shortcut, activation

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.layers(x) + self.shortcut(x))


class Classifier(nn.Module):
    """The averages of the channels that `features` has, as scores of 1000 classes."""

    def __init__(self, features: nn.Module, channels: int):
        super().__init__()
        self.features = features
        self.scores = nn.Linear(channels, 1000)

    def forward(self, x: Tensor) -> Tensor:
        return self.scores(self.features(x).mean((2, 3)))


def resnet50() -> nn.Module:
    """He et al., "Deep Residual Learning for Image Recognition" (2015), with bottlenecks."""
    layers: list[nn.Module] = [
        convolution(3, 64, 7, 2, last=nn.ReLU), nn.MaxPool2d(3, 2, 1)
    ]  # fmt: skip
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            parts = (
                convolution(channels, inner, 1, last=nn.ReLU),
                convolution(inner, inner, 3, stride, last=nn.ReLU),
                convolution(inner, 4 * inner, 1),
            )
            shortcut = nn.Identity() if block else convolution(channels, 4 * inner, 1, stride)
            layers.append(Beside(nn.Sequential(*parts), shortcut, nn.ReLU()))
            channels = 4 * inner
    return Classifier(nn.Sequential(*layers), channels)


def mobilenet_v2() -> nn.Module:
    """Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks" (2018)."""
    layers: list[nn.Module] = [convolution(3, 32, 3, 2, last=nn.ReLU6)]
    channels = 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip
    for expansion, after, blocks, first_stride in stages:
        for block in range(blocks):
            stride = 1 if block else first_stride
            inner = channels * expansion
            parts = [convolution(channels, inner, 1, last=nn.ReLU6)] if expansion > 1 else []
            parts.append(convolution(inner, inner, 3, stride, groups=inner, last=nn.ReLU6))
            parts.append(convolution(inner, after, 1))
            bottleneck = nn.Sequential(*parts)
            is_residual = stride == 1 and channels == after
            layers.append(
                Beside(bottleneck, nn.Identity(), nn.Identity()) if is_residual else bottleneck
            )
            channels = after
    layers.append(convolution(channels, 1280, 1, last=nn.ReLU6))
    return Classifier(nn.Sequential(*layers), 1280)


def vgg11() -> nn.Module:
    """Simonyan and Zisserman, "Very Deep Convolutional Networks" (2014), configuration A."""
    layers: list[nn.Module] = []
    channels = 3
    for stage in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        for after in stage:
            layers += [nn.Conv2d(channels, after, 3, padding=1), nn.ReLU()]
            channels = after
        layers.append(nn.MaxPool2d(2))
    layers += [nn.Flatten(), nn.Linear(512 * 7 * 7, 4096), nn.ReLU(), nn.Linear(4096, 4096)]
    return nn.Sequential(*layers, nn.ReLU(), nn.Linear(4096, 1000))


class Dense(nn.Module):
    """Layers whose results are put behind the channels that they read."""

    def __init__(self, channels: int, growth: int):
        super().__init__()
        self.layers = nn.Sequential(
            nn.BatchNorm2d(channels), nn.ReLU(), convolution(channels, 4 * growth, 1, last=nn.ReLU),
            nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat((x, self.layers(x)), 1)


def densenet121() -> nn.Module:
    """Huang et al., "Densely Connected Convolutional Networks" (2016)."""
    growth, channels = 32, 64
    layers: list[nn.Module] = [
        convolution(3, channels, 7, 2, last=nn.ReLU), nn.MaxPool2d(3, 2, 1)
    ]  # fmt: skip
    for stage, blocks in enumerate((6, 12, 24, 16)):
        if stage:
            half = nn.Conv2d(channels, channels // 2, 1, bias=False)
            layers += [nn.BatchNorm2d(channels), nn.ReLU(), half, nn.AvgPool2d(2)]
            channels //= 2
        for _ in range(blocks):
            layers.append(Dense(channels, growth))
            channels += growth
    return Classifier(nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU()), channels)


class UNet(nn.Module):
    """Ronneberger et al., "U-Net" (2015), with padded convolutions and half of the channels."""

    def __init__(self, channels: Sequence[int] = (32, 64, 128, 256, 512)):
        super().__init__()
        before = (3, *channels)
        self.down = nn.ModuleList(map(self.twice, before, channels))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(2 * size, size, 2, 2) for size in channels[-2::-1]
        )
        self.joined = nn.ModuleList(self.twice(2 * size, size) for size in channels[-2::-1])
        self.pool = nn.MaxPool2d(2)
        self.last = nn.Conv2d(channels[0], 2, 1)

    @staticmethod
    def twice(before: int, after: int) -> nn.Module:
        """Two convolutions."""
        return nn.Sequential(
            convolution(before, after, 3, last=nn.ReLU), convolution(after, after, 3, last=nn.ReLU)
        )

    def forward(self, x: Tensor) -> Tensor:
        levels: list[Tensor] = []
        for layer in self.down:
            levels.append(layer(self.pool(levels[-1]) if levels else x))
        x = levels.pop()
        for up, joined in zip(self.up, self.joined, strict=True):
            x = joined(torch.cat((levels.pop(), up(x)), 1))
        return self.last(x)


def of_an_image(make: Callable[[], nn.Module], size: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A network in evaluation mode, with statistics as after training, and an image."""
    torch.manual_seed(0)
    network = make().eval()
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.running_var, 0.5, 1.5)
            nn.init.normal_(layer.running_mean, std=0.1)
    return network, (torch.randn(1, 3, size, size),)
