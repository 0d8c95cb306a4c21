"""All layers, and the effects that modules may have."""

from tilewright.relax.frontend.nn.io_effect import IOEffect
from tilewright.relax.frontend.nn.kv_cache import KVCache
from tilewright.relax.frontend.nn.layers.activation import GELU, Identity, ReLU, SiLU
from tilewright.relax.frontend.nn.layers.attention import Attention
from tilewright.relax.frontend.nn.layers.convolution import (
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
)
from tilewright.relax.frontend.nn.layers.linear import Embedding, Linear
from tilewright.relax.frontend.nn.layers.normalization import GroupNorm, LayerNorm, RMSNorm
from tilewright.relax.frontend.nn.layers.timesteps import TimestepEmbedding, Timesteps

__all__ = [
    "GELU", "Attention", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D", "Embedding", "GroupNorm",
    "IOEffect", "Identity", "KVCache", "LayerNorm", "Linear", "RMSNorm", "ReLU", "SiLU",
    "TimestepEmbedding", "Timesteps",
]  # fmt: skip
