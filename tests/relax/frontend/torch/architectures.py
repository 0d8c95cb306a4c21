"""Small models with what the families of models are made of."""

import torch
from examples.resnet18 import random_resnet18
from torch import nn
from torch.nn import functional as F


def residual():
    """A narrow ResNet-18 with the first block of each stage, as the second ones are like them."""
    model = random_resnet18(classes=5, width=4)
    model.blocks = model.blocks[::2]
    return model


class RootMeanSquare(nn.Module):
    """Normalisation as language models write it out."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size))

    def forward(self, x):
        wide = x.to(torch.float32)
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * scaled.to(x.dtype)


class Decoder(nn.Module):
    """A language model with rotary positions, shared keys, and a cache as input and output."""

    def __init__(self, words=20, size=16, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.each = heads, groups, size // heads
        self.words = nn.Embedding(words, size)
        self.query, self.out = (nn.Linear(size, size, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(size, groups * self.each, bias=False) for _ in range(2))
        self.norm, self.last = RootMeanSquare(size), RootMeanSquare(size)
        self.gate, self.up = (nn.Linear(size, 2 * size, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * size, size, bias=False)
        frequencies = 1 / 10000 ** (torch.arange(0, self.each, 2) / self.each)
        self.register_buffer("frequencies", frequencies, persistent=False)

    @torch.no_grad()
    def angles(self, places):
        half = (self.frequencies[None, :, None] @ places[:, None, :].float()).transpose(1, 2)
        both = torch.cat((half, half), -1)[:, None]
        return both.cos(), both.sin()

    def attend(self, x, past_keys, past_values):
        batch, length, _ = x.shape
        query, key, value = (
            part(x).view(batch, length, -1, self.each).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        past = past_keys.shape[2]
        places = torch.arange(past, past + length).unsqueeze(0)
        cos, sin = self.angles(places)
        query, key = (y * cos + turned(y) * sin for y in (query, key))
        keys, values = torch.cat([past_keys, key], 2), torch.cat([past_values, value], 2)
        hidden = torch.arange(past + length) > places.reshape(-1, 1)
        mask = torch.zeros(length, past + length).masked_fill(hidden, float("-inf"))
        mixed = F.scaled_dot_product_attention(query, keys, values, mask, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1)), keys, values

    def forward(self, words, past_keys, past_values):
        x = self.words(words)
        mixed, keys, values = self.attend(self.norm(x), past_keys, past_values)
        x = self.last(x + mixed)
        x = x + self.down(F.silu(self.gate(x)) * self.up(x))
        return F.linear(x, self.words.weight)[:, -1:], keys, values


def turned(x):
    """The halves of each vector exchanged, the first one negative."""
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


class InvertedResidual(nn.Module):
    """A depthwise convolution between two that mix channels, scaled by what they have seen."""

    def __init__(self, channels):
        super().__init__()
        wide = 2 * channels
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(inplace=True),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide), nn.Hardswish(inplace=True),
        )  # fmt: skip
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, wide, 1), nn.Hardsigmoid()
        )
        self.project = nn.Conv2d(wide, channels, 1)

    def forward(self, x):
        y = self.body(x)
        return x + self.project(y * self.scale(y))


class Mobile(nn.Module):
    """A network for images of small machines."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), InvertedResidual(4))
        self.classify = nn.Sequential(nn.Dropout(0.2), nn.Linear(4, 5))

    def forward(self, x):
        return self.classify(self.features(x).mean([2, 3]))


class VisionTransformer(nn.Module):
    """Patches of an image as words, through the encoder layers of torch."""

    def __init__(self, size=8):
        super().__init__()
        self.patches = nn.Conv2d(3, size, 4, 4)
        self.first = nn.Parameter(torch.randn(1, 1, size))
        self.places = nn.Parameter(torch.randn(1, 5, size))
        layer = nn.TransformerEncoderLayer(size, 2, 16, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.encoder(x)[:, 0]


class UNet(nn.Module):
    """An image to an image, with a shortcut around a smaller one."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4))
        self.inner = nn.Conv2d(4, 6, 3, padding=1)
        self.up = nn.ConvTranspose2d(6, 4, 2, 2)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        wide = F.leaky_relu(self.down(x), 0.1)
        narrow = F.elu(self.inner(F.max_pool2d(wide, 2)))
        enlarged = F.interpolate(narrow, scale_factor=2, mode="bilinear")
        return torch.sigmoid(self.out(torch.cat([wide, self.up(narrow)], 1))), enlarged


class Recurrent(nn.Module):
    """A recurrent network, which torch unrolls."""

    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(3, 4, batch_first=True)

    def forward(self, x):
        return self.cells(x)[0]
