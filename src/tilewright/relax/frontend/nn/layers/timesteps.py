"""What diffusion models make of the number of a step."""

from __future__ import annotations

from typing import Any, Final

from tilewright.error import ArgumentValueError
from tilewright.relax.frontend.nn import op
from tilewright.relax.frontend.nn.layers.activation import GELU, SiLU
from tilewright.relax.frontend.nn.layers.linear import Linear
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.tensor import Tensor

_ACTIVATIONS: Final[dict[str, Any]] = {"silu": SiLU, "swish": SiLU, "gelu": GELU}


def _activation(name: str) -> Module:
    if name not in _ACTIVATIONS:
        raise ArgumentValueError(
            f"TimestepEmbedding: the activation is one of {', '.join(_ACTIVATIONS)}, got {name!r}"
        )
    return _ACTIVATIONS[name]()


class Timesteps(Module):
    """Sines and cosines of numbers of steps.

    Args:
        num_channels: how many there are for a step.
        flip_sin_to_cos: whether the cosines come first.
        downscale_freq_shift: see `tilewright.relax.frontend.nn.op.get_timestep_embedding`.
    """

    def __init__(
        self, num_channels: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1
    ) -> None:
        self.num_channels, self.flip_sin_to_cos = num_channels, flip_sin_to_cos
        self.downscale_freq_shift = downscale_freq_shift

    def forward(self, x: Tensor) -> Tensor:
        """``(steps, num_channels)`` for ``(steps,)``."""
        return op.get_timestep_embedding(
            x, self.num_channels, self.flip_sin_to_cos, self.downscale_freq_shift
        )


class TimestepEmbedding(Module):
    """Two linear layers with an activation between them.

    Args:
        in_channels: the length of the input.
        time_embed_dim: the length between the layers.
        act_fn: the activation, ``"silu"`` or ``"gelu"``.
        out_dim: the length of the result, by default `time_embed_dim`.
        post_act_fn: an activation of the result.
        cond_proj_dim: the length of a condition that is added to the input, if there is one.
    """

    def __init__(
        self, in_channels: int, time_embed_dim: int, act_fn: str = "silu",
        out_dim: int | None = None, post_act_fn: str | None = None,
        cond_proj_dim: int | None = None,
    ) -> None:  # fmt: skip
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.cond_proj = (
            None if cond_proj_dim is None else Linear(cond_proj_dim, in_channels, bias=False)
        )
        self.act = _activation(act_fn)
        self.linear_2 = Linear(time_embed_dim, out_dim or time_embed_dim)
        self.post_act = None if post_act_fn is None else _activation(post_act_fn)

    def forward(self, sample: Tensor, condition: Tensor | None = None) -> Tensor:
        """Apply the layers to ``(steps, in_channels)``."""
        if condition is not None:
            if self.cond_proj is None:
                raise ArgumentValueError("TimestepEmbedding: a condition needs cond_proj_dim")
            sample = sample + self.cond_proj(condition)
        result = self.linear_2(self.act(self.linear_1(sample)))
        return result if self.post_act is None else self.post_act(result)
