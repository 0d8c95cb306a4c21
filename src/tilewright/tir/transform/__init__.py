"""Lowering: from scheduled blocks to the loops, vectors and registers that backends accept.

``tvm.tir.transform.VectorizeLoop()`` is a pass of `tilewright.tir.transform.passes`, which is
loaded when the first of them is used: proofs about schedules need a few of the files only.
"""

from __future__ import annotations

import importlib
from typing import Any

from tilewright.ir.passes import Pass
from tilewright.tir.transform.function_pass import PrimFuncPass, prim_func_pass

__all__ = ["PrimFuncPass", "prim_func_pass"]


def __getattr__(name: str) -> Any:
    if name[:1].isupper():  # others are files of this package
        found = getattr(importlib.import_module(f"{__name__}.passes"), name, None)
        if isinstance(found, type) and issubclass(found, Pass):
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
