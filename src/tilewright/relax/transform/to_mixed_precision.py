"""Products and convolutions in half precision."""

from __future__ import annotations

from typing import Any, Final

from tilewright.error import ArgumentValueError
from tilewright.ir.dtype import DType
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax import op
from tilewright.relax.analysis.variables import definition
from tilewright.relax.expr import Call
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.matching import is_call_of
from tilewright.relax.transform.module_mutator import ModuleMutator

IN_HALF: Final = (
    "matmul",
    "nn.conv1d",
    "nn.conv2d",
    "nn.conv3d",
    "nn.conv1d_transpose",
    "nn.conv2d_transpose",
)
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
        if out_dtype not in ("float32", compute_dtype):
            raise ArgumentValueError(
                f"ToMixedPrecision: out_dtype is float32 or {compute_dtype}, got {out_dtype!r}"
            )
        if compute_dtype not in ("float16", "bfloat16"):
            raise ArgumentValueError(
                f"ToMixedPrecision: compute_dtype is float16 or bfloat16, got {compute_dtype!r}"
            )
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
