"""The networks that become models of ONNX, with random weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class InvertedResidual(nn.Sequential):
    """The block of MobileNet: wide depthwise convolutions between narrow ones."""

    def __init__(self, before: int, after: int, stride: int, factor: int) -> None:
        wide = before * factor
        expand = [nn.Conv2d(before, wide, 1), nn.ReLU6()] if factor > 1 else []
        super().__init__(
            *expand, nn.Conv2d(wide, wide, 3, stride, 1, groups=wide), nn.ReLU6(),
            nn.Conv2d(wide, after, 1),
        )  # fmt: skip
        self.is_residual = stride == 1 and before == after

    def forward(self, input: Tensor) -> Tensor:
        y = super().forward(input)
        return input + y if self.is_residual else y


class MobileNet(nn.Sequential):
    """MobileNet-v2 (Sandler and others, 2018)."""

    BLOCKS = (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
        (6, 320, 1, 1),
    )  # fmt: skip
    """Factor, channels, number and first stride of the blocks of each stage."""

    def __init__(self, classes: int = 1000) -> None:
        layers: list[nn.Module] = [nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU6()]
        before = 32
        for factor, after, count, stride in self.BLOCKS:
            for position in range(count):
                step = 1 if position else stride
                layers.append(InvertedResidual(before, after, step, factor))
                before = after
        layers += [nn.Conv2d(before, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        super().__init__(*layers, nn.Linear(1280, classes))


class VisionTransformer(nn.Module):
    """Layers of ViT-B/16 (Dosovitskiy and others, 2021)."""

    def __init__(
        self, layers: int = 2, size: int = 768, heads: int = 12, pixels: int = 224
    ) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, size, 16, 16)
        self.first = nn.Parameter(torch.randn(1, 1, size))
        self.places = nn.Parameter(torch.randn(1, (pixels // 16) ** 2 + 1, size))
        layer = nn.TransformerEncoderLayer(
            size, heads, 4 * size, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.encoder(x)[:, 0]


class UNet(nn.Module):
    """Two levels of a U-Net (Ronneberger and others, 2015)."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.down = self._pair(3, channels)
        self.inner = self._pair(channels, 2 * channels)
        self.bottom = self._pair(2 * channels, 4 * channels)
        self.rise = nn.ConvTranspose2d(4 * channels, 2 * channels, 2, 2)
        self.outer = self._pair(4 * channels, 2 * channels)
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, 2)
        self.last = self._pair(2 * channels, channels)
        self.out = nn.Conv2d(channels, 1, 1)

    @staticmethod
    def _pair(before: int, after: int) -> nn.Module:
        first, second = nn.Conv2d(before, after, 3, 1, 1), nn.Conv2d(after, after, 3, 1, 1)
        return nn.Sequential(first, nn.ReLU(), second, nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        wide = self.down(x)
        middle = self.inner(F.max_pool2d(wide, 2))
        low = self.rise(self.bottom(F.max_pool2d(middle, 2)))
        high = self.up(self.outer(torch.cat([middle, low], 1)))
        return torch.sigmoid(self.out(self.last(torch.cat([wide, high], 1))))


class Recurrent(nn.Module):
    """Two layers of LSTM (Hochreiter and Schmidhuber, 1997)."""

    def __init__(self, inputs: int = 128, size: int = 256) -> None:
        super().__init__()
        self.cells = nn.LSTM(inputs, size, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.cells(x)[0]


class Decoder(nn.Module):
    """Layers of GPT-2 (Radford and others, 2019) over a prompt."""

    def __init__(
        self, layers: int = 2, size: int = 768, heads: int = 12, words: int = 8000
    ) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, size), nn.Embedding(1024, size)
        layer = nn.TransformerEncoderLayer(
            size, heads, 4 * size, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, nn.LayerNorm(size), False)

    def forward(self, words: Tensor) -> Tensor:
        length = words.shape[1]
        x = self.words(words) + self.places(torch.arange(length)[None])
        mask = torch.full((length, length), float("-inf")).triu(1)
        return self.layers(x, mask=mask) @ self.words.weight.T
