"""Weights that are stored as small integers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray as Array

from tilewright import topi
from tilewright.error import ArgumentValueError, require_one_of
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax.analysis.variables import definition
from tilewright.relax.expr import Call, Constant, const
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.function_pass import ModuleMutator, is_call_of

LEAST_WEIGHTS: Final = 1 << 14
"""Number of weights below which a matrix stays as it is: it is in a cache anyway."""


class QuantizeWeights(ModulePass):
    """Store the weights of products as integers of 8 or 4 bits, with a scale for each group.

    Activations stay in float32, and so do the sums. That is for products of few rows, such as the
    step of a decoder, whose time is that of reading the weights::

        before:  lv = R.matmul(x, w)          # w is a constant of shape (k, n)
        after:   lv = R.call_tir(cls.quantized_weight_matmul, (x, w1, scales), ...)

    A group is neighbours along k; its scale is its largest magnitude divided by 127, or 7. Left as
    they are: products of other dtypes, small matrices, and those whose k no group divides.

    Args:
        bits: 8 or 4.
        group_size: number of weights with one scale.

    Raises:
        ArgumentValueError: for other bits, or a size that is not a positive even number.
    """

    def __init__(self, bits: int = 8, group_size: int = 64) -> None:
        require_one_of("QuantizeWeights: bits", bits, (4, 8))
        if group_size <= 0 or group_size % 2:
            raise ArgumentValueError(
                f"QuantizeWeights: group_size is a positive even number, got {group_size!r}"
            )
        self._bits, self._group_size = bits, group_size

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Quantization(mod, self._bits, self._group_size).module()


class _Quantization(ModuleMutator):
    def __init__(self, mod: IRModule, bits: int, group_size: int) -> None:
        super().__init__(mod)
        self._bits, self._group_size = bits, group_size
        self._quantized: dict[Any, tuple[Constant, Constant]] = {}

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not is_call_of(call, "matmul"):
            return call
        data, weights = call.args
        matrix = self._matrix(weights)
        infos = [data.struct_info, self.builder_.normalize(call).struct_info]
        is_float = all(isinstance(i, TensorStructInfo) and str(i.dtype) == "float32" for i in infos)
        if matrix is None or not is_float or getattr(data.struct_info, "ndim", 0) < 2:
            return call
        return self.builder_.call_te(
            topi.nn.quantized_weight_matmul,
            data,
            *self._stored(weights, matrix),
            self._bits,
            primfunc_name_hint="quantized_weight_matmul",
        )

    def _matrix(self, weights: Any) -> Array[Any] | None:
        """The transposed weights, if they are constants that are worth it."""
        value = definition(self.builder_.lookup_usable, weights)
        is_transposed = is_call_of(value, "permute_dims")
        source = definition(self.builder_.lookup_usable, value.args[0]) if is_transposed else value
        if not isinstance(source, Constant):
            return None
        array = source.data.numpy()
        if array.ndim != 2 or array.dtype != np.float32 or array.size < LEAST_WEIGHTS:
            return None
        matrix = array if is_transposed else array.T
        divides = matrix.shape[1] % self._group_size == 0
        return matrix if divides and np.isfinite(matrix).all() else None

    def _stored(self, weights: Any, matrix: Array[Any]) -> tuple[Constant, Constant]:
        if weights not in self._quantized:
            integers, scales = quantized(matrix, self._bits, self._group_size)
            self._quantized[weights] = const(integers), const(scales)
        return self._quantized[weights]


def quantized(
    matrix: Array[Any], bits: int, group_size: int
) -> tuple[Array[Any], Array[np.float32]]:
    """A matrix as `topi.nn.quantized_weight_matmul` takes it.

    Args:
        matrix: ``(n, k)``, float32.
        bits: 8 or 4.
        group_size: number of neighbours in a row with one scale; divides k.

    Returns:
        The integers, and the scales of shape ``(n, k / group_size)``.
    """
    n, k = matrix.shape
    groups = matrix.reshape(n, k // group_size, group_size).astype("float64")
    most = 2 ** (bits - 1) - 1
    scales = (np.abs(groups).max(axis=2) / most).astype("float32")
    divisors = np.where(scales == 0, 1, scales)[..., None]
    integers = np.clip(np.rint(groups / divisors), -most, most)
    if bits == 8:
        return integers.reshape(n, k).astype("int8"), scales
    low, high = np.split((integers + 8).astype("uint8"), 2, axis=2)
    return (low | (high << 4)).reshape(n, k // 2), scales
