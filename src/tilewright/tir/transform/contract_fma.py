"""A product and a sum become one operation, `fma`, that rounds once.

That is what compilers of C do by default. It is faster and, for a sum of products, more accurate;
it is not bit for bit what two operations give.
"""

from __future__ import annotations

from tilewright.ir.expr import Add, Call, Expr, Mul
from tilewright.ir.op import Op
from tilewright.ir.rewrite import rewrite
from tilewright.tir.function import PrimFunc

_FMA = Op.get("tir.fma")


def contract_fma(func: PrimFunc) -> PrimFunc:
    """`func` with `a * b + c` and `c + a * b` of float32 and float64 as `tir.fma(a, b, c)`."""
    body = rewrite(func.body, {Add: _contract})
    return func if body is func.body else func.with_body(body)


def _contract(sum_: Add) -> Expr:
    dtype = sum_.dtype
    if dtype.code != "float" or dtype.bits < 32:
        return sum_
    for product, other in ((sum_.b, sum_.a), (sum_.a, sum_.b)):
        if isinstance(product, Mul):
            return Call(dtype, _FMA, (product.a, product.b, other))
    return sum_
