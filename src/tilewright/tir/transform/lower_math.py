"""Mathematical functions become arithmetic, so that no vector loop ever calls a library.

The expansions are in `tilewright.tir.numerics`. What every backend computes itself (`sqrt`, `fabs`,
rounding, `fma`, dot products, ...) stays.
"""

from __future__ import annotations

from typing import Final

from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT32, FLOAT64, DType
from tilewright.ir.expr import Add, Call, Expr, Mul
from tilewright.ir.op import Op
from tilewright.ir.rewrite import rewrite
from tilewright.tir.function import PrimFunc
from tilewright.tir.numerics import FUSED, IN_DOUBLE, KERNELS, Kernel
from tilewright.tir.transform.lower_intrinsics import (
    EXPANSIONS,
    DivisionExpansion,
    expand_intrinsic,
)

EXPANDED: Final = {Op.get(f"tir.{name}"): name for name in (*KERNELS, "rsqrt")}
"""The operators that become arithmetic."""


def expand_call(call: Call, *, has_avx512: bool = False, has_fma: bool = True) -> Expr:
    """`call` as basic arithmetic; the call itself if it is not to be expanded.

    Args:
        call: a call of any function.
        has_avx512: whether the target multiplies vectors of floats by powers of two (`tir.ldexp`),
            and looks them up in tables (`tir.lookup`), by one instruction.
        has_fma: whether it has an instruction that multiplies and adds, and rounds once.
    """
    name = EXPANDED.get(call.op)  # type: ignore[call-overload]
    if name is None:
        return call
    dtype = working_dtype(call, has_fma).with_lanes(call.dtype.lanes)
    arguments = [cast(dtype, argument) for argument in call.args]
    if name == "rsqrt":
        return cast(call.dtype, const(1.0, dtype) / Call(dtype, _SQRT, tuple(arguments)))
    fuses = has_fma or (name in FUSED and dtype.bits == call.dtype.bits)
    kernel = Kernel(dtype, has_avx512, call.dtype.bits, fuses)
    return cast(call.dtype, kernel.finish(KERNELS[name](kernel, *arguments)))


def working_dtype(call: Call, has_fma: bool = True) -> DType:
    """In which dtype, without lanes, a call of one of `EXPANDED` is computed."""
    dtype = FLOAT32 if call.dtype.bits < 32 else call.dtype.element
    name: str = EXPANDED[call.op]  # type: ignore[index]
    is_in_double = name in IN_DOUBLE or (name in FUSED and not has_fma)
    return FLOAT64 if dtype is FLOAT32 and is_in_double else dtype


class _MathExpansion(DivisionExpansion):
    """Expands every call of a mathematical function, and of `lower_intrinsics` on the way."""

    def __init__(self, has_avx512: bool, has_fma: bool) -> None:
        DivisionExpansion.__init__(self)
        self._has_avx512, self._has_fma = has_avx512, has_fma

    def Call(self, call: Call) -> Expr:
        call = call.map_children(self)
        if call.op in EXPANSIONS and call.op not in _DOT_PRODUCTS:
            return expand_intrinsic(call)
        return expand_call(call, has_avx512=self._has_avx512, has_fma=self._has_fma)


def lower_math(func: PrimFunc, *, has_avx512: bool = False, has_fma: bool = True) -> PrimFunc:
    """Expand the mathematical functions that `func` calls; see `expand_call`."""
    return func.with_body(_MathExpansion(has_avx512, has_fma)(func.body))


_SQRT: Final = Op.get("tir.sqrt")
_DOT_PRODUCTS: Final = tuple(
    Op.get(f"tir.{name}") for name in ("dp2a", "dp4a", "dp4a_narrow", "mmla")
)
"""Machines that have vectors have instructions for them."""


_FMA = Op.get("tir.fma")


def contract_fma(func: PrimFunc) -> PrimFunc:
    """`func` with `a * b + c` and `c + a * b` of float32 and float64 as `tir.fma(a, b, c)`.

    It rounds once, as compilers of C do by default: faster and, for a sum of products, more
    accurate; but not bit for bit what two operations give.
    """
    return func.with_body(rewrite(func.body, {Add: _contract}))


def _contract(sum_: Add) -> Expr:
    dtype = sum_.dtype
    if dtype.code != "float" or dtype.bits < 32:
        return sum_
    for product, other in ((sum_.b, sum_.a), (sum_.a, sum_.b)):
        if isinstance(product, Mul):
            return Call(dtype, _FMA, (product.a, product.b, other))
    return sum_
