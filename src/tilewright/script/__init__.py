"""TVMScript: tensor programs as Python text, parsed and printed.

from tilewright.script import ir as I, tir as T

@T.prim_func
def double(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.providers import provider
from tilewright.script import ir, tir
from tilewright.script.parser import from_source, ir_module, parse
from tilewright.script.tir import macro, prim_func

if TYPE_CHECKING:
    from tilewright.script import relax


def __getattr__(name: str) -> Any:
    if name == "relax":  # it loads the package of graphs, which a tensor program does without
        return provider("graph scripts")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
