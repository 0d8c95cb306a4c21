"""The template that all tuners tune."""

from __future__ import annotations

from typing import Any, Final

from tilewright import autotvm, te

NAME: Final = "benchmarks/matmul"


@autotvm.template(NAME)
def matmul(n: int) -> Any:
    """A product of two matrices of float32 of shape (n, n), in tiles of 672 kinds for n = 512."""
    A = te.placeholder((n, n), name="A")
    B = te.placeholder((n, n), name="B")
    r = te.reduce_axis((0, n), name="r")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    s = te.create_schedule(C.op)
    y, x = C.op.axis
    cfg = autotvm.get_config()
    cfg.define_split("rows", y, num_outputs=2, filter=lambda tile: tile.size[-1] <= 32)
    cfg.define_split("columns", x, num_outputs=2, filter=lambda tile: 8 <= tile.size[-1] <= 64)
    cfg.define_split("steps", r, num_outputs=2, filter=lambda tile: tile.size[-1] <= 64)
    cfg.define_knob("order", ["a tile at a time", "a panel at a time"])
    cfg.define_knob("unroll", ["rows", "rows and steps"])
    yo, yi = cfg["rows"].apply(s, C, y)
    xo, xi = cfg["columns"].apply(s, C, x)
    ro, ri = cfg["steps"].apply(s, C, r)
    outer = [yo, xo, ro] if cfg["order"].val == "a tile at a time" else [ro, yo, xo]
    s[C].reorder(*outer, ri, yi, xi)
    s[C].vectorize(xi)
    s[C].unroll(yi)
    if cfg["unroll"].val == "rows and steps" and cfg["steps"].size[-1] <= 8:
        s[C].unroll(ri)
    return s, [A, B, C]
