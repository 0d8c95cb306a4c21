"""``tvm.transform``: options of what happens between a program and its code."""

from __future__ import annotations

from tilewright.ir.transform import PassContext

__all__ = ["PassContext"]
