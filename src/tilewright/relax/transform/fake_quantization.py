"""Computing with quantised arrays instead of the floats that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax import op
from tilewright.relax.analysis.variables import definition
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Call, RelaxExpr, Tuple, const
from tilewright.relax.integer_products import WIDE, integer_convolution, integer_matmul
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.decompose_ops import CONVOLUTIONS, along_axis
from tilewright.relax.transform.function_pass import ModuleMutator, constant_of, is_call_of
from tilewright.schedule_rules.dot_products import NARROW, is_narrow, kinds
from tilewright.target import Target
from tilewright.target.kinds import KERNEL_KINDS
from tilewright.tir.transform.machine import Machine

TRANSPOSED: Final = ("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
"""Convolutions that spread elements."""
_LARGEST: Final = {"int8": 128, "uint8": 255}
"""The dtypes whose products are computed in integers, and the largest magnitude of each."""
_MOST: Final = 2**31 - 1
"""The largest sum that int32 has."""


class FakeQuantizationToInteger(ModulePass):
    """Multiply the integers of quantised arrays, instead of the floats that they stand for.

    The scales multiply the sums in the epilogue of the kernel. So a quantised network of
    ``R.quantize`` and ``R.dequantize`` around its operators computes with integers of 8 bits and
    sums of 32 bits, which are exact::

        before:  lv = R.dequantize(x, s, p)             after:  lv = R.matmul(x, w, out_dtype="int32")
                 lv1 = R.dequantize(w, t, 0)                    lv1 = R.subtract(lv, p * columns(w))
                 lv2 = R.matmul(lv, lv1)                        lv2 = R.astype(lv1, "float32") * (s * t)

    Products are matrix products and convolutions of arrays that are quantised by one scale each, or
    weights by one for each channel, as long as sums cannot overflow. What moves elements (reshapes,
    transpositions, slices, joins, largest elements of windows) moves the integers, and integers
    that are dequantised and quantised by the same parameters stay as they are. The others compute
    with floats; constant weights of transposed convolutions become floats here.

    The sums of the floats are rounded, and so results differ by rounding; after quantisation by one
    step at most.

    It stands before `FoldConstant`, which makes floats of quantised weights.

    Args:
        if_fast: leave those products floats for whose integers the CPU has no instructions, and
            all of them on other devices. The CPU is that of the enclosing ``with Target(...)``, or
            this machine.
    """  # noqa: E501

    def __init__(self, if_fast: bool = False) -> None:
        self.if_fast = if_fast

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        target = Target.given_or_current()
        if self.if_fast and target.kind.name in KERNEL_KINDS:
            return mod
        return _Integers(mod, target.machine if self.if_fast else None).module()


class _Quantized(NamedTuple):
    """What an array of floats stands for: integers, one scale or several, and zero points."""

    integers: Any
    scale: Any
    zero_point: Any
    axis: int
    """The dimension of the scales; of no matter if there is one."""
    has_one_scale: bool

    @property
    def dtype(self) -> str:
        """Of the integers."""
        return str(self.integers.struct_info.dtype)


class _Integers(ModuleMutator):
    """Applies the rules.

    Args:
        machine: has instructions for the products that are to be of integers; None for all of them.
    """

    def __init__(self, mod: IRModule, machine: Machine | None) -> None:
        super().__init__(mod)
        self._machine = machine

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        name = call.op.name.removeprefix("relax.") if isinstance(call.op, Op) else ""
        rule = _RULES.get(name)
        if rule is None:
            return call
        result = rule(self, self.builder_.normalize(call))
        return call if result is None else result

    def quantized(self, value: Any) -> _Quantized | None:
        """What an operand stands for, if it is dequantised to float32."""
        call = definition(self.builder_.lookup_usable, value)
        if not is_call_of(call, "dequantize"):
            return None
        integers, scale, zero_point = call.args
        infos = [argument.struct_info for argument in call.args]
        if not all(isinstance(i, TensorStructInfo) and i.extents is not None for i in infos):
            return None
        ndim = infos[0].ndim
        if ndim == 0 or str(call.attrs["out_dtype"]) != "float32":
            return None
        has_one = infos[1].ndim == 0 and infos[2].ndim == 0
        axis = int(call.attrs["axis"]) % ndim
        return _Quantized(integers, scale, zero_point, axis, has_one)

    def is_fast(self, a: _Quantized, b: _Quantized) -> bool:
        """Whether sums of products of their integers are wanted."""
        return self._machine is None or bool(kinds((a.dtype, b.dtype), self._machine))

    def unsigned(self, a: _Quantized, b: _Quantized, depth: Any) -> _Quantized:
        """The first factor in uint8, if it is in int8 and products of both kinds are faster: each
        integer and the zero point are 128 larger then."""
        weight, zero = self.constant(b.integers), self.constant(a.zero_point)
        if self._machine is None or a.dtype != "int8" or weight is None or zero is None:
            return a
        fastest = kinds(("uint8", b.dtype), self._machine, is_narrow(weight))[:1]
        if fastest != [NARROW]:
            return a
        wide = self.builder_.emit(op.astype(a.integers, "int16"))
        moved = self.builder_.emit(op.add(wide, const(128, "int16")))
        result = a._replace(
            integers=self.builder_.emit(op.astype(moved, "uint8")),
            zero_point=const((zero.astype("int16") + 128).astype("uint8")),
        )
        return result if _is_exact(result, b, depth) else a

    def constant(self, value: Any) -> np.ndarray | None:
        """The elements of a constant operand."""
        found = constant_of(self.builder_, value)
        return None if found is None else found.data.numpy()

    def same(self, a: Any, b: Any) -> bool:
        """Whether two parameters are the same."""
        first, second = self.constant(a), self.constant(b)
        if first is None or second is None:
            return a is b
        return first.dtype == second.dtype and np.array_equal(first, second)

    def symmetric(self, value: _Quantized) -> _Quantized:
        """Constant weights with the zero point 0, if they have such integers of 8 bits."""
        weight, zero = self.constant(value.integers), self.constant(value.zero_point)
        if weight is None or zero is None or not zero.any():
            return value
        shape = [-1 if axis == value.axis else 1 for axis in range(weight.ndim)]
        moved = weight.astype("int32") - zero.astype("int32").reshape(shape if zero.ndim else ())
        if moved.min(initial=0) < -128 or moved.max(initial=0) > 127:
            return value
        return value._replace(
            integers=const(moved.astype("int8")), zero_point=const(np.zeros_like(zero, "int8"))
        )

    def is_zero(self, zero_point: Any) -> bool:
        """Whether zero points are known to be 0."""
        known = self.constant(zero_point)
        return known is not None and not known.any()


Rule = Callable[[_Integers, Call], "RelaxExpr | None"]
"""What a call becomes; None where it stays."""


def _is_exact(a: _Quantized, b: _Quantized, depth: Any) -> bool:
    """Whether sums of `depth` products, and of the terms for zero points, cannot overflow."""
    if a.dtype not in _LARGEST or b.dtype not in _LARGEST or not hasattr(depth, "value"):
        return False
    return 2 * int(depth.value) * _LARGEST[a.dtype] * _LARGEST[b.dtype] <= _MOST


def _scaled(builder: BlockBuilder, total: Any, a: Any, b: Any) -> RelaxExpr:
    """The floats of sums of products, given the scales of the factors."""
    scale = builder.emit(op.multiply(a, b))
    return op.multiply(builder.emit(op.astype(total, "float32")), scale)


def _product(rewriter: _Integers, call: Call) -> RelaxExpr | None:
    """A product of matrices."""
    is_linear = is_call_of(call, "linear")
    a, b = (rewriter.quantized(argument) for argument in call.args)
    if a is None or b is None or call.struct_info.dtype != "float32":  # type: ignore[union-attr]
        return None
    extents = a.integers.struct_info.extents
    ndim = b.integers.struct_info.ndim
    columns = 0 if is_linear else ndim - 1
    is_matrix = len(extents) > 1 and ndim > 1
    if not is_matrix or not a.has_one_scale or not (b.has_one_scale or b.axis == columns):
        return None
    builder, b = rewriter.builder_, rewriter.symmetric(b)
    if not _is_exact(a, b, extents[-1]) or not rewriter.is_fast(a, b):
        return None
    a = rewriter.unsigned(a, b, extents[-1])
    zeros = [
        None if rewriter.is_zero(part.zero_point)
        else builder.emit(op.astype(part.zero_point, WIDE))
        for part in (a, b)
    ]  # fmt: skip
    total = integer_matmul(builder, a.integers, zeros[0], b.integers, zeros[1], is_linear)
    return _scaled(builder, total, a.scale, b.scale)


def _convolution(rewriter: _Integers, call: Call) -> RelaxExpr | None:
    """A convolution by constant weights."""
    a, b = (rewriter.quantized(argument) for argument in call.args)
    if a is None or b is None or call.struct_info.dtype != "float32":  # type: ignore[union-attr]
        return None
    builder, b = rewriter.builder_, rewriter.symmetric(b)
    outputs = str(call.attrs["kernel_layout"]).index("O")
    if (
        rewriter.constant(a.zero_point) is None
        or not a.has_one_scale
        or not (b.has_one_scale or b.axis == outputs)
    ):
        return None
    info = b.integers.struct_info
    depth = 1
    for axis, extent in enumerate(info.extents):
        depth = depth if axis == outputs else depth * extent
    if not rewriter.is_zero(b.zero_point) or not _is_exact(a, b, depth):
        return None
    if not rewriter.is_fast(a, b):
        return None
    if int(call.attrs["groups"]) == 1:
        a = rewriter.unsigned(a, b, depth)
    zero = rewriter.constant(a.zero_point)
    assert zero is not None
    attrs = {**call.attrs, "out_dtype": WIDE}
    integers = call.replace(args=(a.integers, b.integers), attrs=attrs, struct_info=None)
    total = integer_convolution(builder, integers, int(zero))
    scale = b.scale
    if scale.struct_info.ndim:
        channels = str(call.attrs["data_layout"]).index("C")
        scale = along_axis(builder, scale, channels, info.ndim)
    return _scaled(builder, total, a.scale, scale)


def _by_floats(rewriter: _Integers, call: Call) -> RelaxExpr | None:
    """A convolution by the floats that constant weights stand for, which are few."""
    weight = rewriter.quantized(call.args[1])
    if weight is None:
        return None
    parts = [weight.integers, weight.scale, weight.zero_point]
    integers, scale, zero = map(rewriter.constant, parts)
    if integers is None or scale is None or zero is None:
        return None
    thin = [-1 if axis == weight.axis else 1 for axis in range(integers.ndim)]
    scale, zero = (each.reshape(thin) if each.ndim else each for each in (scale, zero))
    floats = (integers.astype(WIDE) - zero.astype(WIDE)).astype("float32") * scale
    return call.replace(args=(call.args[0], const(floats)))


def _quantize(rewriter: _Integers, call: Call) -> RelaxExpr | None:
    """Numbers that are quantised as they were."""
    source = rewriter.quantized(call.args[0])
    if source is None or source.dtype != str(call.attrs["out_dtype"]):
        return None
    is_same = all(map(rewriter.same, (source.scale, source.zero_point), call.args[1:]))
    if not source.has_one_scale or call.args[1].struct_info.ndim or not is_same:  # type: ignore[union-attr]
        return None
    return source.integers


def _dequantized(rewriter: _Integers, integers: Any, like: _Quantized) -> RelaxExpr:
    moved = rewriter.builder_.emit(integers)
    return op.dequantize(moved, like.scale, like.zero_point, out_dtype="float32")


def _moved(rewriter: _Integers, call: Call) -> RelaxExpr | None:
    """What moves the elements of its first operand."""
    source = rewriter.quantized(call.args[0])
    if source is None or not source.has_one_scale:
        return None
    integers = call.replace(args=(source.integers, *call.args[1:]), struct_info=None)
    return _dequantized(rewriter, integers, source)


def _largest(rewriter: _Integers, call: Call) -> RelaxExpr | None:
    """The largest elements of windows, which are those of the integers if the scale is positive."""
    source = rewriter.quantized(call.args[0])
    scale = None if source is None else rewriter.constant(source.scale)
    return _moved(rewriter, call) if scale is not None and scale.min() > 0 else None


def _joined(rewriter: _Integers, call: Call) -> RelaxExpr | None:
    """Arrays one after the other that are quantised alike."""
    whole = definition(rewriter.builder_.lookup_usable, call.args[0])
    if not isinstance(whole, Tuple) or not whole.fields:
        return None
    parts = [rewriter.quantized(field) for field in whole.fields]
    first = parts[0]
    if first is None or not first.has_one_scale:
        return None
    for part in parts:
        if part is None or not part.has_one_scale or part.dtype != first.dtype:
            return None
        if not rewriter.same(part.scale, first.scale):
            return None
        if not rewriter.same(part.zero_point, first.zero_point):
            return None
    joined = Tuple([part.integers for part in parts if part is not None])
    return _dequantized(rewriter, call.replace(args=(joined,), struct_info=None), first)


_RULES: Final[dict[str, Rule]] = {
    "quantize": _quantize,
    "concat": _joined,
    **dict.fromkeys(("matmul", "linear"), _product),
    **dict.fromkeys(CONVOLUTIONS, _convolution),
    **dict.fromkeys(TRANSPOSED, _by_floats),
    **dict.fromkeys(("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"), _largest),
    **dict.fromkeys(
        ("reshape", "flatten", "permute_dims", "expand_dims", "squeeze", "strided_slice"), _moved
    ),
}
"""By the operator."""
