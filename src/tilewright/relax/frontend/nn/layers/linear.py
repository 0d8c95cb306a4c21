"""Linear layers and tables of vectors."""

from __future__ import annotations

from typing import Any

from tilewright.relax.frontend.nn import op
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.parameter import Parameter
from tilewright.relax.frontend.nn.tensor import (
    Tensor,
)


class Linear(Module):
    """``x @ weight.T + bias``.

    Args:
        in_features: the last extent of the input: a number, a name or an expression.
        out_features: that of the result.
        bias: whether there is a bias.
        dtype: of the weight, by default the default dtype.
        out_dtype: of the sums and of the result; by default that of the input.
    """

    def __init__(
        self, in_features: Any, out_features: Any, bias: bool = True, dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:  # fmt: skip
        self.in_features, self.out_features = in_features, out_features
        self.out_dtype = out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), out_dtype or dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer to ``(..., in_features)``."""
        product = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return product if self.bias is None else op.add(product, self.bias)

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the weight, and that of the bias unless there is an `out_dtype`."""
        self.weight.to(dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype)


class Embedding(Module):
    """Rows of a table.

    Args:
        num: the number of rows: a number, a name or an expression.
        dim: their length.
        dtype: of the elements.
    """

    def __init__(self, num: Any, dim: Any, dtype: str | None = None) -> None:
        self.num, self.dim = num, dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """The rows with the numbers `x`, ``(*x.shape, dim)``."""
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, -1), axis=0)
        return op.reshape(rows, *x.shape, self.weight.shape[1])
