"""Layers of neural networks give what torch gives, through the reference evaluator."""

import pytest
import torch
from tests.relax.frontend.torch.programs import Functions, difference, imported
from torch import nn
from torch.nn import functional as F


class SelfAttention(nn.MultiheadAttention):
    """Attention of a sequence to itself."""

    def __init__(self):
        super().__init__(4, 2, batch_first=True)

    def forward(self, x):
        return super().forward(x, x, x)[0]


class Cell(nn.LSTMCell):
    """One step from a state of zeros."""

    def forward(self, x):
        hidden, cell = super().forward(x)
        return hidden + cell


ROW, IMAGE, VOLUME = (1, 4, 7), (1, 4, 5, 6), (1, 2, 3, 4, 3)
CASES = {
    "conv1d": (nn.Conv1d(4, 3, 3, padding=1), ROW),
    "conv1d same": (nn.Conv1d(4, 2, 4, padding="same", dilation=2), ROW),
    "conv2d": (nn.Conv2d(4, 3, 3, stride=2, padding=(1, 0)), IMAGE),
    "conv2d grouped": (nn.Conv2d(4, 4, 3, groups=2, bias=False), IMAGE),
    "conv2d depthwise": (nn.Conv2d(4, 4, 3, groups=4, dilation=2, padding=2), IMAGE),
    "conv2d without batch": (nn.Conv2d(4, 2, 1), IMAGE[1:]),
    "conv2d circular": (nn.Conv2d(4, 2, 3, padding=1, padding_mode="circular"), IMAGE),
    "conv3d": (nn.Conv3d(2, 2, 2), VOLUME),
    "conv_transpose1d": (nn.ConvTranspose1d(4, 2, 3, stride=2), ROW),
    "conv_transpose3d": (nn.ConvTranspose3d(2, 1, 2, stride=2), VOLUME),
    "conv_transpose2d": (nn.ConvTranspose2d(4, 2, 3, 2, 1, output_padding=1), IMAGE),
    "max_pool1d": (nn.MaxPool1d(2), ROW),
    "max_pool2d": (nn.MaxPool2d(3, 2, 1), IMAGE),
    "max_pool2d ceil": (nn.MaxPool2d(2, ceil_mode=True), IMAGE),
    "max_pool2d dilated": (nn.MaxPool2d(2, 1, dilation=2), IMAGE),
    "max_pool3d": (nn.MaxPool3d(2), VOLUME),
    "avg_pool1d": (nn.AvgPool1d(3, 2), ROW),
    "avg_pool2d": (nn.AvgPool2d(3, 2, 1), IMAGE),
    "avg_pool2d without padding": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    "avg_pool2d with a divisor": (nn.AvgPool2d((3, 2), 2, 1, divisor_override=5), IMAGE),
    "adaptive_avg_pool1d": (nn.AdaptiveAvgPool1d(3), ROW),
    "adaptive_avg_pool2d": (nn.AdaptiveAvgPool2d((2, None)), IMAGE),
    "global average": (nn.AdaptiveAvgPool2d(1), IMAGE),
    "adaptive_max_pool2d": (nn.AdaptiveMaxPool2d(2), IMAGE),
    "batch_norm": (nn.BatchNorm2d(4), IMAGE),
    "batch_norm of each batch": (
        nn.BatchNorm2d(4, track_running_stats=False, eps=0.1), IMAGE
    ),
    "batch_norm of rows": (nn.BatchNorm1d(4, affine=False), ROW),
    "layer_norm": (nn.LayerNorm((5, 6)), IMAGE),
    "layer_norm without weights": (nn.LayerNorm(7, elementwise_affine=False), ROW),
    "group_norm": (nn.GroupNorm(2, 4), IMAGE),
    "instance_norm": (nn.InstanceNorm2d(4, affine=True), IMAGE),
    "rms_norm": (nn.RMSNorm(7), ROW),
    "local_response_norm": (nn.LocalResponseNorm(2), IMAGE),
    "upsample nearest": (nn.Upsample(scale_factor=2), IMAGE),
    "upsample to a size": (nn.Upsample((7, 4)), IMAGE),
    "upsample bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    "upsample by corners": (nn.Upsample((9, 8), mode="bilinear", align_corners=True), IMAGE),
    "upsample bicubic": (nn.Upsample((7, 9), mode="bicubic"), IMAGE),
    "channel_shuffle": (nn.ChannelShuffle(2), IMAGE),
    "zero padding": (nn.ZeroPad2d((1, 0, 2, 1)), IMAGE),
    "multi-head attention": (SelfAttention(), (2, 3, 4)),
    "transformer encoder": (
        nn.TransformerEncoderLayer(4, 2, 8, dropout=0, batch_first=True), (2, 3, 4)
    ),
    "lstm cell": (Cell(4, 3), (2, 4)),
}  # fmt: skip


def _randomized(model):
    """The model with statistics that are not those of a new one."""
    for module in model.modules():
        if getattr(module, "running_mean", None) is not None:
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return model.eval()


class Layers(nn.Module):
    """Several layers of the same input."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return tuple(layer(x) for layer in self.layers)


@pytest.mark.parametrize("shape", sorted({shape for _, shape in CASES.values()}))
def test_layers(shape):
    torch.manual_seed(0)
    names = [name for name, (_, taken) in CASES.items() if taken == shape]
    model, inputs = _randomized(Layers([CASES[name][0] for name in names])), (torch.randn(*shape),)
    apart = dict(zip(names, difference(imported(model, inputs), model, inputs), strict=True))
    assert not {name: error for name, error in apart.items() if error > 1e-5}


ATTENTION = {
    "plain": lambda q, k, v, bias, seen: F.scaled_dot_product_attention(q, k, v),
    "bias": lambda q, k, v, bias, seen: F.scaled_dot_product_attention(q, k, v, bias),
    "mask": lambda q, k, v, bias, seen: F.scaled_dot_product_attention(q, k, v, seen),
    "causal": lambda q, k, v, bias, seen: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "scale": lambda q, k, v, bias, seen: F.scaled_dot_product_attention(q, k, v, scale=0.3),
    "shared keys": lambda q, k, v, bias, seen: F.scaled_dot_product_attention(
        q, k[:, :1], v[:, :1], enable_gqa=True
    ),
    "a key for all heads": lambda q, k, v, bias, seen: F.scaled_dot_product_attention(
        q, k[:, :1], v[:, :1]
    ),
    "a batch of batches": lambda q, k, v, bias, seen: F.scaled_dot_product_attention(
        q.expand(3, 2, 2, 3, 4), k[None], v.expand(3, 2, 2, 4, 4), bias.expand(3, 2, 1, 3, 4)
    ),
    "one head": lambda q, k, v, bias, seen: F.scaled_dot_product_attention(q[0], k[0], v[0]),
    "row by row": lambda q, k, v, bias, seen: F.scaled_dot_product_attention(
        q[0, 0], k[0, 0], v[0, 0]
    ),
}


def test_attention():
    torch.manual_seed(0)
    seen = torch.tensor([[True, True, False, True], [True, False, True, True], [True] * 4])
    inputs = (
        torch.randn(2, 2, 3, 4), torch.randn(2, 2, 4, 4), torch.randn(2, 2, 4, 4),
        torch.randn(2, 1, 3, 4), seen,
    )  # fmt: skip
    model = Functions(list(ATTENTION.values()))
    apart = dict(zip(ATTENTION, difference(imported(model, inputs), model, inputs), strict=True))
    assert not {name: error for name, error in apart.items() if error > 1e-5}
