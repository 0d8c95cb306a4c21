"""How much memory of each kind a scheduled function allocates."""

from __future__ import annotations

import math

from tilewright.ir.expr import IntImm
from tilewright.ir.rewrite import walk
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Allocate, Stmt
from tilewright.tir.transform.compact_buffers import compact_buffers
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.plan_buffer_locations import plan_buffer_locations

UNKNOWN = 1 << 40
"""Bytes of memory of which the size is not known."""


def without_blocks(func: PrimFunc) -> PrimFunc:
    """The function with loops only, and memory where it is needed and as large as is needed."""
    return compact_buffers(plan_buffer_locations(lower_blocks(func)))


def allocated_bytes(stmt: Stmt, scope: str) -> int:
    """Bytes of all memory that is allocated in scopes whose names begin with `scope`."""
    return sum(
        math.prod(
            int(extent.value) if isinstance(extent, IntImm) else UNKNOWN for extent in node.extents
        )
        * node.dtype.itemsize
        for node in walk(stmt)
        if isinstance(node, Allocate) and _scope_of(node).startswith(scope)
    )


def _scope_of(allocation: Allocate) -> str:
    return getattr(allocation.buffer_var.type_annotation, "storage_scope", "") or "global"
