"""How the arguments of random programs lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.ir import DType, Expr, Var, const


class Layout:
    """Compact: a buffer without strides."""

    def strides(self, name: str, shape: tuple[int, ...]) -> tuple[Expr, ...] | None:
        """The strides that a buffer of that shape declares."""
        del name, shape
        return None

    def place(self, values: np.ndarray) -> np.ndarray:
        """A new array that holds `values` in this layout."""
        return values.copy()


class Padded(Layout):
    """Rows with a gap behind them; the pitch is a constant that the buffer declares."""

    def strides(self, name: str, shape: tuple[int, ...]) -> tuple[Expr, ...] | None:
        return tuple(const(step) for step in _steps(_padded(shape)))

    def place(self, values: np.ndarray) -> np.ndarray:
        whole = np.zeros(_padded(values.shape), values.dtype)
        view = whole[tuple(slice(n) for n in values.shape)]
        view[...] = values
        return view


class Strided(Layout):
    """Every second element, in an order of dimensions that is not row-major; symbolic strides."""

    def strides(self, name: str, shape: tuple[int, ...]) -> tuple[Expr, ...] | None:
        return tuple(Var(f"{name}_stride{i}", DType("int32")) for i in range(len(shape)))

    def place(self, values: np.ndarray) -> np.ndarray:
        reverse = values.shape[::-1]
        whole = np.zeros((*reverse[:-1], 2 * reverse[-1]), values.dtype)
        view = whole[..., ::2].transpose()
        view[...] = values
        return view


LAYOUTS: tuple[Any, ...] = (Layout(), Padded(), Strided())


def _padded(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-1], shape[-1] + 3) if len(shape) > 1 else shape


def _steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(np.prod(shape[i + 1 :])) for i in range(len(shape)))
