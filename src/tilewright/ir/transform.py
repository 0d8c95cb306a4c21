"""Passes over modules, and the context that they run in: what ``tvm.transform`` is, too."""

from __future__ import annotations

from tilewright.ir.instrument import PassInfo
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass, Pass, PrintIR, Sequential, module_pass

__all__ = [
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "module_pass",
]
