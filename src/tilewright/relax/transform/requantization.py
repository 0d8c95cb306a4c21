"""Convolutions whose results are multiplied, and then quantised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax import op
from tilewright.relax.expr import Call, RelaxExpr, const
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.decompose_ops import CONVOLUTIONS
from tilewright.relax.transform.function_pass import CountingMutator, constant_of, is_call_of

REAL: Final = "float32"
"""The dtype of what is quantised."""


class FoldRequantization(ModulePass):
    """Let convolutions that are quantised be in steps of the quantisation.

    Then nothing is divided by a scale::

        before:  lv = R.multiply(x, m)                  after:  lv = R.multiply(x, m / s)
                 lv1 = R.add(lv, b)                             lv1 = R.add(lv, b / s)
                 lv2 = R.quantize(lv1, s, p)                    lv2 = R.quantize(lv1, 1, p)

    where `x` are the sums of a convolution of integers, and the factors and summands are constants.
    Results are rounded in another place before, and so differ by one step now and then. Products of
    matrices stay as they are: a division costs little next to their long sums, and attention passes
    a difference in one place on to all others.

    It stands behind `FoldConstant`, which makes constants of scales and summands.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Requantization(mod).module()


Division = Callable[[float], RelaxExpr]
"""Emits a value divided by a number."""


class _Linear(NamedTuple):
    """The multiple of an array of floats or integers, and a summand."""

    array: Any
    factor: np.ndarray
    summand: np.ndarray


class _Requantization(CountingMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not is_call_of(call, "quantize"):
            return call
        data, scale, zero_point = call.args
        info = data.struct_info
        if not isinstance(info, TensorStructInfo) or str(info.dtype) != REAL:
            return call
        step = self._constant(scale)
        if step is None or step.ndim or not step > 0 or step == 1:
            return call
        divided_by = self._division(data)
        if divided_by is None:
            return call
        axis, dtype = call.attrs["axis"], call.attrs["out_dtype"]
        return op.quantize(divided_by(float(step)), const(1.0, REAL), zero_point, axis, dtype)

    def _division(self, value: Any) -> Division | None:
        """How `value` is divided by a positive number before the program runs."""
        found = self.sole_definition(value)
        if is_call_of(found, "nn.relu"):
            inside = self._division(found.args[0])
            return None if inside is None else lambda step: self._emit(op.nn.relu(inside(step)))
        linear = self._linear(value)
        return None if linear is None else lambda step: self._divided(linear, step)

    def _divided(self, linear: _Linear, step: float) -> RelaxExpr:
        array = linear.array
        if str(array.struct_info.dtype) != REAL:
            array = self._emit(op.astype(array, REAL))
        factor, summand = (
            const((numbers / step).astype(REAL)) for numbers in (linear.factor, linear.summand)
        )
        result = self._emit(op.multiply(array, factor))
        return self._emit(op.add(result, summand)) if linear.summand.any() else result

    def _linear(self, value: Any) -> _Linear | None:
        """What a value is a multiple of, apart from a summand."""
        found = self.sole_definition(value)
        if is_call_of(found, "add", "subtract"):
            summand, inside = self._constant(found.args[1]), self._linear(found.args[0])
            if summand is None or inside is None:
                return None
            sign = 1 if is_call_of(found, "add") else -1
            return inside._replace(summand=inside.summand + sign * summand)
        if is_call_of(found, "multiply"):
            return self._multiple(*found.args)
        return None

    def _multiple(self, value: Any, by: Any) -> _Linear | None:
        """A product, by a constant."""
        factor = self._constant(by)
        if factor is None:
            return None
        inside = self._linear(value)
        if inside is not None:
            return _Linear(inside.array, inside.factor * factor, inside.summand * factor)
        return _Linear(value, factor, np.zeros(())) if self._is_convolution(value) else None

    def _is_convolution(self, value: Any) -> bool:
        """Whether a value is a convolution of integers, less a number for each channel."""
        found = self.sole_definition(value)
        while is_call_of(found, "astype", "subtract"):
            found = self.sole_definition(found.args[0])
        return is_call_of(found, *CONVOLUTIONS)

    def _constant(self, value: Any) -> np.ndarray | None:
        """The elements of a constant, as wide floats, if all are finite."""
        found = constant_of(self.builder_, value)
        data = None if found is None else np.asarray(found.data.numpy(), "float64")
        return data if data is not None and np.isfinite(data).all() else None

    def _emit(self, value: RelaxExpr) -> RelaxExpr:
        return self.builder_.emit(value)
