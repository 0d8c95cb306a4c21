"""A copy of a loop body for one iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.ir.expr import Expr, Ramp, Var
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import Allocate, BufferStore, For, LetStmt, Stmt
from tilewright.tir.transform.analysis.affine import expand
from tilewright.tir.transform.building.folding import FoldingRewriter


class Iteration(FoldingRewriter):
    """One iteration of a loop: values for variables, and variables of its own for what it binds.

    Index arithmetic stays multiplied out.
    """

    def __init__(self, values: Mapping[Var, Expr]) -> None:
        FoldingRewriter.__init__(self)
        self._values = dict(values)

    def Var(self, var: Var) -> Expr:
        return self._values.get(var, var)

    SizeVar = Var

    def map_buffer(self, buffer: Buffer) -> Buffer:
        return self.rebuilt(buffer)

    def For(self, loop: For) -> Stmt:
        minimum, extent = expand(self(loop.min)), expand(self(loop.extent))
        var = self._fresh(loop.loop_var)
        body = self(loop.body)
        if (
            var is loop.loop_var
            and body is loop.body
            and minimum is loop.min
            and extent is loop.extent
        ):
            return loop
        return loop.replace(loop_var=var, min=minimum, extent=extent, body=body)

    def LetStmt(self, stmt: LetStmt) -> Stmt:
        value = self(stmt.value)
        return stmt.replace(var=self._fresh(stmt.var), value=value, body=self(stmt.body))

    def Allocate(self, stmt: Allocate) -> Stmt:
        extents = tuple(map(self, stmt.extents))
        var = self._fresh(stmt.buffer_var)
        return stmt.replace(buffer_var=var, extents=extents, body=self(stmt.body))

    def _fresh(self, var: Var) -> Var:
        new = var.replace()
        self._values[var] = new
        return new

    def Ramp(self, ramp: Ramp) -> Expr:
        base, stride = self(ramp.base), self(ramp.stride)
        if base is ramp.base and stride is ramp.stride:
            return ramp
        return Ramp(expand(base), expand(stride), ramp.lanes)

    def BufferLoad(self, load: BufferLoad) -> BufferLoad:
        return self._access(load)

    def BufferStore(self, store: BufferStore) -> BufferStore:
        return self._access(store)

    def _access(self, access: Any) -> Any:
        changed = access.map_children(self)
        if changed is not access:
            indices = tuple(map(expand, changed.indices))
            changed = changed.replace(indices=indices)
        buffer = self.buffer(access.buffer)
        return changed if buffer is access.buffer else changed.replace(buffer=buffer)
