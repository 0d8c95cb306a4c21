"""Functions and modules built from Python, construct by construct, without a decorator.

::

    from tilewright.script.ir_builder import IRBuilder, tir as T

    with IRBuilder() as builder:
        with T.prim_func():
            T.func_name("double")
            A = T.arg("A", T.Buffer((16,), "float32"))
            B = T.arg("B", T.Buffer((16,), "float32"))
            with T.serial(16) as i:
                with T.block("B"):
                    vi = T.axis.spatial(16, i)
                    T.buffer_store(B, A[vi] * T.float32(2), [vi])
    double = builder.get()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.providers import provider
from tilewright.script.ir_builder import ir, tir
from tilewright.script.ir_builder.base import IRBuilder

if TYPE_CHECKING:
    from tilewright.script.ir_builder import relax


def __getattr__(name: str) -> Any:
    if name == "relax":  # it loads the package of graphs, which a tensor program does without
        return provider("graph frames")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
