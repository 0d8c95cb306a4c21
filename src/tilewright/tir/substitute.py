"""Replacing variables and buffers, and finding the free ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, MatchBufferRegion
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc, size_value
from tilewright.tir.stmt import (
    AttrStmt,
    Block,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    Prefetch,
)


class BufferRewriter(Rewriter):
    """A rewriter that also reaches what buffers are made of: pointers, shapes, offsets.

    A buffer whose parts change is replaced by one new buffer everywhere. Subclasses that replace
    buffers themselves override `map_buffer`.
    """

    def __init__(self) -> None:
        self._buffers: dict[Buffer, Buffer] = {}

    def map_buffer(self, buffer: Buffer) -> Buffer:
        """The buffer that stands for `buffer` in the result."""
        return buffer

    def buffer(self, buffer: Buffer) -> Buffer:
        """`map_buffer`, once per buffer."""
        found = self._buffers.get(buffer)
        if found is None:
            found = self._buffers[buffer] = self.map_buffer(buffer)
        return found

    def rebuilt(self, buffer: Buffer) -> Buffer:
        """`buffer` with its own pointer and expressions rewritten."""
        data, changed = self(buffer.data), buffer.map_children(self)
        return changed if data is buffer.data else changed.replace(data=data)

    def _use(self, item: Any) -> Any:
        item = item.map_children(self)
        buffer = self.buffer(item.buffer)
        return item if buffer is item.buffer else item.replace(buffer=buffer)

    def BufferLoad(self, load: BufferLoad) -> Any:
        return self._use(load)

    def BufferStore(self, store: BufferStore) -> Any:
        return self._use(store)

    def BufferRegion(self, region: BufferRegion) -> Any:
        return self._use(region)

    def BufferRealize(self, realize: BufferRealize) -> Any:
        return self._use(realize)

    def Prefetch(self, prefetch: Prefetch) -> Any:
        return self._use(prefetch)

    def MatchBufferRegion(self, match: MatchBufferRegion) -> Any:
        return self._use(match)

    def DeclBuffer(self, declaration: DeclBuffer) -> Any:
        return self._use(declaration)

    def AttrStmt(self, stmt: AttrStmt) -> Any:
        stmt = stmt.map_children(self)
        target = stmt.node
        if isinstance(target, Buffer):
            target = self.buffer(target)
        elif isinstance(target, Expr):
            target = self(target)
        return stmt if target is stmt.node else stmt.replace(node=target)

    def Block(self, block: Block) -> Any:
        buffers = tuple(map(self.buffer, block.alloc_buffers))
        if any(new is not old for new, old in zip(buffers, block.alloc_buffers, strict=True)):
            block = block.replace(alloc_buffers=buffers)
        return block.map_children(self)


class Substitution(BufferRewriter):
    """Replaces variables by expressions, and buffers by buffers."""

    def __init__(
        self, variables: Mapping[Var, Expr], buffers: Mapping[Buffer, Buffer] | None = None
    ) -> None:
        super().__init__()
        self._variables = variables
        self._buffers.update(buffers or {})

    def map_buffer(self, buffer: Buffer) -> Buffer:
        plain = all(
            extent.__class__ is IntImm
            for extent in (*buffer.shape, *buffer.strides, buffer.elem_offset)
        )
        if plain and buffer.data not in self._variables:
            return buffer
        return self.rebuilt(buffer)

    def Var(self, var: Var) -> Expr:
        return self._variables.get(var, var)

    def SizeVar(self, var: Var) -> Expr:
        return self._variables.get(var, var)


def substitute(
    root: Any, variables: Mapping[Var, Expr], buffers: Mapping[Buffer, Buffer] | None = None
) -> Any:
    """`root` with variables replaced by expressions and buffers by buffers.

    Binders inside `root` must not bind the replaced variables or capture those of the
    replacements; variables are unique objects, so this holds for any well-formed program.
    """
    if (not variables and not buffers) or root.__class__ is IntImm:
        return root
    if root.__class__ is Var:
        return variables.get(root, root)
    return Substitution(variables, buffers)(root)


def specialize_function(function: PrimFunc, values: Mapping[Var, Any]) -> PrimFunc:
    """See `PrimFunc.specialize`."""
    variables: dict[Var, Expr] = {}
    for var, value in values.items():
        if isinstance(value, Buffer):
            _match_buffer(function, var, value, variables)
        else:
            variables[var] = size_value(var, value)
    known = set(function.params) | set(symbolic_sizes(function))
    for var in variables:
        if var not in known:
            raise ArgumentError(
                f"specialize: {var.name} is not a parameter or size of the function"
            )
    params = tuple(p for p in function.params if p not in variables)
    return with_sizes(function.replace(params=params), variables)


def with_sizes(function: PrimFunc, sizes: Mapping[Var, Expr]) -> PrimFunc:
    """`function` with variables that are not parameters replaced, also in its buffers' shapes."""
    if not sizes:
        return function
    rewriter = Substitution(sizes)
    buffer_map = {p: rewriter.buffer(b) for p, b in function.buffer_map.items()}
    return function.replace(buffer_map=buffer_map, body=rewriter(function.body))


def _match_buffer(
    function: PrimFunc, param: Var, value: Buffer, variables: dict[Var, Expr]
) -> None:
    pattern = function.buffer_map.get(param)
    if pattern is None or len(pattern.shape) != len(value.shape):
        raise ArgumentError(f"specialize: {param.name} is not a buffer of rank {len(value.shape)}")
    for size, known in zip(pattern.shape, value.shape, strict=True):
        if isinstance(size, Var):
            variables[size] = known


def symbolic_sizes(function: PrimFunc) -> list[Var]:
    """Variables that the buffers of the parameters define: symbolic extents, strides, offsets."""
    found: dict[Var, None] = {}
    params = set(function.params)
    for param in function.params:
        buffer = function.buffer_map.get(param)
        if buffer is None:
            continue
        for expr in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            for var in variables_of(expr):
                if var not in params:
                    found[var] = None
    return list(found)


def variables_of(root: Node) -> list[Var]:
    """The variables that an expression mentions, in order of appearance, each once."""
    found: dict[Var, None] = {}
    rest: list[Any] = [root]
    while rest:
        node = rest.pop()
        kind = node.__class__
        if kind is IntImm:
            continue
        if kind is Var or isinstance(node, Var):
            found[node] = None
        elif isinstance(node, IterVar):
            found[node.var] = None
        else:
            rest += node.children()[::-1]
    return list(found)
