"""Layers without parameters."""

from __future__ import annotations

from tilewright.relax.frontend.nn import op
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.tensor import Tensor


class Identity(Module):
    """The input."""

    def forward(self, x: Tensor) -> Tensor:
        """Return `x`."""
        return x


class ReLU(Module):
    """``max(x, 0)``."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply the function to each element."""
        return op.relu(x)


class SiLU(Module):
    """``x * sigmoid(x)``."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply the function to each element."""
        return op.silu(x)


class GELU(Module):
    """The Gaussian error linear unit, exact."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply the function to each element."""
        return op.gelu(x)
