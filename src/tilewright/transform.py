"""``tvm.transform``: passes over modules, and options of what happens on the way to code."""

from __future__ import annotations

from tilewright.ir.instrument import PassInfo
from tilewright.ir.passes import ModulePass, Pass, PrintIR, Sequential, module_pass
from tilewright.ir.transform import PassContext

__all__ = [
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "module_pass",
]
