"""Simplifying the indices of tiled loops."""

from __future__ import annotations

from benchmarks.compiler.measure import Figure, scaled, seconds
from tilewright.arith import Analyzer
from tilewright.ir import Var
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Expr
from tilewright.tir import Range


def measure(repeat: int) -> list[Figure]:
    io, ii, jo, ji = loops = [Var(name, INT32) for name in ("io", "ii", "jo", "ji")]
    flat = ((io * 16 + ii) * 32 + jo) * 8 + ji
    expressions: dict[str, Expr] = {
        "row of a fused index": flat // 4096,
        "tile of a fused index": flat // 256 % 16,
        "column of a fused index": flat % 256 // 8 * 8 + flat % 8,
        "sum that cancels": (io * 16 + ii) * 256 + jo * 8 + ji - io * 4096 - ii * 256,
    }
    ranges = [(var, Range.from_extent(extent)) for var, extent in zip(loops, (8, 16, 32, 8),
                                                                     strict=True)]  # fmt: skip

    def simplify(expr: Expr) -> Expr:
        analyzer = Analyzer()
        for var, extent in ranges:
            analyzer.bind(var, extent)
        return analyzer.simplify(expr)

    rows = [
        Figure(name, scaled(seconds(lambda expr=expr: simplify(expr), repeat, 50), 1e6), "us",
               note=f"{expr!r} = {simplify(expr)!r}")
        for name, expr in expressions.items()
    ]  # fmt: skip
    bind = seconds(lambda: simplify(io), repeat, 50)
    return [*rows, Figure("new analyzer, four bindings", scaled(bind, 1e6), "us")]
