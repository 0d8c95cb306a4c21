"""The construct of a function with its root block, and names of variables and buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.error import DiagnosticError
from tilewright.ir.convert import const
from tilewright.ir.dtype import Type
from tilewright.ir.expr import Var
from tilewright.ir.rewrite import walk
from tilewright.script.builder.stack import Builder, Frame
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, Stmt

# Nodes are immutable, but `n = T.int64()` makes the variable before its name is read. A name is
# metadata that nothing depends on, and an unnamed variable is known to the script alone.
_set = object.__setattr__


def set_name(value: Var | Buffer, name: str) -> None:
    """Name a variable or buffer (and its pointer) that has no name yet."""
    if not value.name:
        _set(value, "name", name)
    if isinstance(value, Buffer):
        if not value.data.name:
            _set(value.data, "name", name)
        offset = value.elem_offset
        if isinstance(offset, Var) and offset.name in ("", "_elem_offset"):
            _set(offset, "name", f"{name}_elem_offset")


class FunctionFrame(Frame):
    """An open function.

    Args:
        name: its name, which becomes its `global_symbol` unless it is private.
        private: whether it is not exported.
    """

    def __init__(self, name: str, private: bool = False) -> None:
        super().__init__()
        self.name, self.private = name, private
        self.params: list[Var] = []
        self.buffer_map: dict[Var, Buffer] = {}
        self.attrs: dict[str, Any] = {}
        self.ret_type: Type | None = None
        self.alloc_buffers: list[Buffer] = []
        self.env_threads: dict[Var, IterVar] = {}
        self.inferred: set[Block] = set()
        """Blocks whose regions were not written by the user."""
        self.binds_loops = True
        """Whether blocks get iterators for the loops around them that they mention."""
        self.result: PrimFunc | None = None

    def describe(self) -> str:
        return "T.prim_func"

    def add_param(self, name: str, value: Var | Buffer) -> Var | Buffer:
        """Append a parameter: a scalar, a pointer, or a buffer, which gets a handle."""
        if isinstance(value, Buffer):
            return self._add_buffer(name, value)
        set_name(value, name)
        self.params.append(value)
        return value

    def _add_buffer(self, name: str, buffer: Buffer) -> Buffer:
        if buffer.name:  # it is the parameter of another function, or of this one, already
            data = buffer.data.replace(name="")
            buffer = buffer.replace(name="", data=data)
        set_name(buffer, name)
        handle = Var(f"{name}_handle", buffer.data.dtype)
        self.params.append(handle)
        self.buffer_map[handle] = buffer
        return buffer

    def set_attrs(self, values: Mapping[str, Any]) -> None:
        """Set function attributes; none may be set twice."""
        for key, value in values.items():
            if key in self.attrs:
                raise DiagnosticError(f"function attribute {key!r} is set twice")
            if key == "global_symbol" and self.private:
                raise DiagnosticError(
                    "a private function has no 'global_symbol': drop private=True"
                )
            self.attrs[key] = value

    def closed(self, builder: Builder) -> None:
        body = self.body()
        if self._needs_root(body):
            root = Block((), (), (), "root", body, None, tuple(self.alloc_buffers), span=self.span)
            body = BlockRealize((), const(True), root, self.span)
        elif (
            isinstance(body, BlockRealize)
            and body.block in self.inferred
            and _has_blocks(body.block.body)
        ):
            # It is the root block, which stands for the function and claims no regions.
            body = body.replace(block=body.block.replace(reads=(), writes=()))
        attrs = dict(self.attrs)
        if not self.private:
            attrs.setdefault("global_symbol", self.name)
        self.result = PrimFunc(
            tuple(self.params), body, self.ret_type, dict(self.buffer_map), attrs, self.span
        )

    def _needs_root(self, body: Stmt) -> bool:
        if self.alloc_buffers:
            return True
        if isinstance(body, BlockRealize):
            return bool(body.block.iter_vars)
        return _has_blocks(body)


def _has_blocks(body: Stmt) -> bool:
    return any(isinstance(node, BlockRealize) for node in walk(body, skip=_is_block))


def _is_block(node: object) -> bool:
    return not isinstance(node, Stmt) or isinstance(node, BlockRealize)
