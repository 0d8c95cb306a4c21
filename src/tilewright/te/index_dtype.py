"""Changing the dtype of all sizes, loops and indices of a function."""

from __future__ import annotations

from typing import Any

from tilewright.error import DTypeError
from tilewright.ir.convert import cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Cast, Expr, IntImm, Let, SizeVar, Var
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BlockRealize, BufferStore, For
from tilewright.tir.substitute import BufferRewriter, variables_of


def override_index_dtype(function: PrimFunc, dtype: DType) -> PrimFunc:
    """`function` with loops, block iterators, sizes and indices of type `dtype`.

    Where an index variable is also a value of the computation, it is cast back, so results do not
    change.

    Raises:
        DTypeError: if `dtype` is not an integer type.
    """
    if not (dtype.is_int or dtype.is_uint) or dtype.is_vector:
        raise DTypeError(f"te.create_prim_func: index dtype {dtype!s} is not an integer type")
    return _IndexDType(dtype).function(function)


class _IndexDType(BufferRewriter):
    def __init__(self, dtype: DType) -> None:
        super().__init__()
        self._dtype = dtype
        self._variables: dict[Var, Var] = {}
        self._in_index = False

    def function(self, function: PrimFunc) -> PrimFunc:
        """The whole function; scalar parameters that are sizes change their dtype too."""
        for buffer in function.buffer_map.values():
            for expr in (*buffer.shape, *buffer.strides, buffer.elem_offset):
                for var in variables_of(expr):
                    self._declare(var)
        params = tuple(self._variables.get(param, param) for param in function.params)
        buffer_map = {p: self.buffer(b) for p, b in function.buffer_map.items()}
        return function.replace(params=params, buffer_map=buffer_map, body=self(function.body))

    def _declare(self, var: Var) -> Var:
        if var not in self._variables:
            self._variables[var] = type(var)(var.name, self._dtype, var.type_annotation)
        return self._variables[var]

    def _index(self, expr: Expr) -> Expr:
        outer, self._in_index = self._in_index, True
        result = cast(self._dtype, self(expr))
        self._in_index = outer
        return result

    def _range(self, dom: Range) -> Range:
        return Range.from_min_extent(self._index(dom.min), self._index(dom.extent))

    def _indices(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(map(self._index, indices))

    def map_buffer(self, buffer: Buffer) -> Buffer:
        offset = buffer.elem_offset
        if not isinstance(offset, IntImm):
            offset = self._index(offset)
        shape, strides = self._indices(buffer.shape), self._indices(buffer.strides)
        return buffer.replace(shape=shape, strides=strides, elem_offset=offset)

    def Var(self, var: Var) -> Expr:
        replaced = self._variables.get(var)
        if replaced is None:
            return cast(self._dtype, var) if self._in_index and var.dtype.is_int else var
        return replaced if self._in_index else cast(var.dtype, replaced)

    SizeVar = Var

    def __call__(self, node: Any) -> Any:
        if self._in_index and isinstance(node, Expr):
            return self._index_expr(node)
        return BufferRewriter.__call__(self, node)

    def _index_expr(self, node: Expr) -> Expr:
        """An expression inside of an index: its integers become `dtype`."""
        if isinstance(node, (Var, SizeVar)):
            return self.Var(node)
        if isinstance(node, IntImm):
            return node if node.dtype.is_bool else IntImm(self._dtype, node.value)
        if isinstance(node, (BufferLoad, Call)):
            # These state their dtype themselves, so they keep it.
            outer, self._in_index = self._in_index, False
            value = self(node)
            self._in_index = outer
            return cast(self._dtype, value) if value.dtype.is_int else value
        if isinstance(node, Let) and node.var.dtype.is_int:
            return Let(self._declare(node.var), self._index(node.value), self(node.body))
        if isinstance(node, Cast) and node.dtype.is_int:
            return cast(self._dtype, self(node.value))
        return node.map_children(self)

    def BufferLoad(self, load: BufferLoad) -> Expr:
        return BufferLoad(self.buffer(load.buffer), self._indices(load.indices))

    def BufferStore(self, store: BufferStore) -> BufferStore:
        value, indices = self(store.value), self._indices(store.indices)
        return BufferStore(self.buffer(store.buffer), value, indices)

    def BufferRegion(self, region: BufferRegion) -> BufferRegion:
        return BufferRegion(self.buffer(region.buffer), tuple(map(self._range, region.region)))

    def IterVar(self, iv: IterVar) -> IterVar:
        dom = None if iv.dom is None else self._range(iv.dom)
        return iv.replace(dom=dom, var=self._declare(iv.var))

    def For(self, loop: For) -> For:
        loop_var = self._declare(loop.loop_var)
        low, extent = self._index(loop.min), self._index(loop.extent)
        return loop.replace(loop_var=loop_var, min=low, extent=extent, body=self(loop.body))

    def BlockRealize(self, realize: BlockRealize) -> BlockRealize:
        values = self._indices(realize.iter_values)
        predicate = self(realize.predicate)
        return BlockRealize(values, predicate, self(realize.block))
