"""Products that are quantised are multiplied by one number each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax import op
from tilewright.relax.analysis.variables import definition
from tilewright.relax.expr import Call, RelaxExpr, const
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.function_pass import CountingMutator, constant_of, is_call_of

REAL: Final = "float32"
"""The dtype of what is quantised."""


class FoldRequantization(ModulePass):
    """Let numbers that are multiplied before they are quantised be in steps of the quantisation.

    Then nothing is divided by a scale, and one number is added, not one of integers and one of
    floats::

        before:  lv = R.subtract(sums, a)               after:  lv = R.astype(sums, "float32")
                 lv1 = R.astype(lv, "float32")                  lv1 = R.multiply(lv, m / s)
                 lv2 = R.multiply(lv1, m)                       lv2 = R.add(lv1, (b - a * m) / s)
                 lv3 = R.add(lv2, b)                            lv3 = R.quantize(lv2, 1, p)
                 lv4 = R.quantize(lv3, s, p)

    The factors and summands are constants. What is dequantised is such a multiple, too. Results are
    rounded before in another place, and so differ by one step at most.

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
        if is_call_of(found, "add") and all(self._constant(a) is None for a in found.args):
            first, second = map(self._division, found.args)
            if first is None or second is None:
                return None
            return lambda step: self._emit(op.add(first(step), second(step)))
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
        dequantized = definition(self.builder_.lookup_usable, value)
        return self._dequantized(dequantized) if is_call_of(dequantized, "dequantize") else None

    def _multiple(self, value: Any, by: Any) -> _Linear | None:
        """A product, by a constant."""
        factor = self._constant(by)
        if factor is None:
            return None
        inside = self._linear(value)
        if inside is not None:
            return _Linear(inside.array, inside.factor * factor, inside.summand * factor)
        sums = self.sole_definition(value)
        if is_call_of(sums, "astype") and sums.args[0].struct_info.dtype == "int32":
            less = self.sole_definition(sums.args[0])
            shift = self._constant(less.args[1]) if is_call_of(less, "subtract") else None
            if shift is not None:
                return _Linear(less.args[0], factor, -shift * factor)
        return _Linear(value, factor, np.zeros(()))

    def _dequantized(self, call: Call) -> _Linear | None:
        """What integers stand for that have one scale."""
        integers, *parameters = call.args
        scale, zero_point = map(self._constant, parameters)
        if scale is None or zero_point is None or scale.ndim or zero_point.ndim:
            return None
        return _Linear(integers, scale, -zero_point * scale)

    def _constant(self, value: Any) -> np.ndarray | None:
        """The elements of a constant, as wide floats."""
        found = constant_of(self.builder_, value)
        return None if found is None else np.asarray(found.data.numpy(), "float64")

    def _emit(self, value: RelaxExpr) -> RelaxExpr:
        return self.builder_.emit(value)
