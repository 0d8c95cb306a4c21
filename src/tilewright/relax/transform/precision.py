"""Faster arithmetic of less precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright import topi
from tilewright.error import require_one_of
from tilewright.ir.dtype import DType
from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax import op
from tilewright.relax.analysis.variables import definition
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Call
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.function_pass import ModuleMutator, is_call_of

IN_HALF: Final = (
    "matmul", "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose",
)  # fmt: skip
"""The operators that multiply in half precision."""

FLOAT32: Final = DType("float32")


class ToMixedPrecision(ModulePass):
    """Multiply in half precision what takes most of the time, and leave the rest as it is.

    The operands of products and convolutions of float32 are converted; their sums are still added
    in single precision. Everything else stays in single precision::

        before:  lv = R.matmul(x, w)
        after:   lv = R.matmul(R.astype(x, "float16"), R.astype(w, "float16"), out_dtype="float32")

    Args:
        out_dtype: what products give: ``"float32"``, or ``"float16"`` to round them, too.
        compute_dtype: what operands are converted to, ``"float16"`` or ``"bfloat16"``.
    """

    def __init__(self, out_dtype: str = "float32", compute_dtype: str = "float16") -> None:
        require_one_of("ToMixedPrecision: out_dtype", out_dtype, ("float32", compute_dtype))
        require_one_of("ToMixedPrecision: compute_dtype", compute_dtype, ("float16", "bfloat16"))
        self._out, self._compute = DType(out_dtype), DType(compute_dtype)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Conversion(mod, self._out, self._compute).module()


class _Conversion(ModuleMutator):
    def __init__(self, mod: IRModule, out: DType, compute: DType) -> None:
        super().__init__(mod)
        self._out, self._compute = out, compute

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not is_call_of(call, *IN_HALF):
            return call
        call = self.builder_.normalize(call)
        infos = [argument.struct_info for argument in (*call.args, call)]
        if not all(isinstance(i, TensorStructInfo) and i.dtype is FLOAT32 for i in infos):
            return call
        attrs = {**call.attrs, "out_dtype": self._out}
        args = tuple(map(self._in_half, call.args))
        result = call.replace(args=args, attrs=attrs, struct_info=None)
        return result if self._out is FLOAT32 else op.astype(result, "float32")

    def _in_half(self, value: Any) -> Any:
        source = definition(self.builder_.lookup_usable, value)
        if is_call_of(source, "astype") and source.args[0].struct_info.dtype is self._compute:
            return source.args[0]  # a value of half precision that was widened
        return self.builder_.emit(op.astype(value, str(self._compute)))


class FastMathTransform(ModulePass):
    """Compute exp, tanh, erf and softmax by `topi.fast_exp` and so on.

    Other operators stay as they are.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Replacement(mod).module()


def _fast(function: Callable[..., Any], *attrs: str) -> Callable[[BlockBuilder, Call], Any]:
    """A legalisation by `function`, which takes these attributes of the operator, too."""

    def legalize(builder: BlockBuilder, call: Call) -> Any:
        values = [call.attrs[name] for name in attrs]
        return builder.call_te(function, *call.args, *values, primfunc_name_hint=function.__name__)

    return legalize


FAST: Final = {
    "relax.exp": _fast(topi.fast_exp),
    "relax.tanh": _fast(topi.fast_tanh),
    "relax.erf": _fast(topi.fast_erf),
    "relax.nn.softmax": _fast(topi.nn.fast_softmax, "axis"),
}
"""The faster version of each operator that has one."""


class _Replacement(ModuleMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        fast = FAST.get(call.op.name) if isinstance(call.op, Op) else None
        if fast is None:
            return call
        call = self.builder_.normalize(call)
        info = call.args[0].struct_info
        known = isinstance(info, TensorStructInfo) and info.ndim >= 0 and info.dtype is not None
        return fast(self.builder_, call) if known else call
