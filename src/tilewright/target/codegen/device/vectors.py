"""Vectors in memory: how kernels load them, store them, and take them apart.

Both languages have types such as ``float4``. CUDA has none of more than four lanes, so that those
are structures, whose lanes have the names of OpenCL.
"""

from __future__ import annotations

from typing import Any, Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import IntImm, Shuffle, Var
from tilewright.target.codegen.c.emitter import Precedence, Text
from tilewright.target.codegen.c.emitter import emits as emits_c
from tilewright.target.codegen.c.expressions import lvalue
from tilewright.target.codegen.c.integers import plain
from tilewright.target.codegen.c.types import HALVES
from tilewright.target.codegen.device.emitter import KernelEmitter, emits
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import BufferStore, LetStmt

LANES: Final = "0123456789abcdef"
FEW_LANES: Final = "xyzw"


def vector_type(emitter: KernelEmitter, dtype: DType) -> str:
    """The type of a vector in memory, which the source then has."""
    is_native = emitter.is_native(dtype.element)
    is_packed = dtype.element in HALVES and not is_native
    element = "uint16" if is_packed else str(dtype.element)
    name = f"{emitter.dialect.vectors[element]}{dtype.lanes}"
    if emitter.dialect.vector_structure and (is_native or dtype.lanes > len(FEW_LANES)):
        lanes = ", ".join(lane_name(dtype.lanes, number) for number in range(dtype.lanes))
        emitter.helper(
            name,
            emitter.dialect.vector_structure.format(
                name=name,
                size=dtype.itemsize,
                element=emitter.memory_type(dtype.element),
                lanes=lanes,
            ),
        )
    return name


def lane_name(lanes: int, number: int) -> str:
    """The name of a lane of a vector."""
    return FEW_LANES[number] if lanes <= len(FEW_LANES) else f"s{LANES[number]}"


def _place(emitter: KernelEmitter, access: Any, dtype: DType) -> str:
    """The vector at the address of the first of its elements."""
    first = access.replace(indices=(access.indices[0].base,))
    space = emitter.space_of(access.buffer.data)
    return f"*({space}{vector_type(emitter, dtype)}*)&{lvalue(emitter, first)}"


@emits(BufferLoad)
def _load(emitter: KernelEmitter, load: BufferLoad) -> Text:
    if load.dtype.lanes == 1 or load.predicate is not None:
        return emits_c.nodes[BufferLoad](emitter, load)
    emitter.read.add(emitter.names[load.buffer.data])
    return Text(_place(emitter, load, load.dtype), Precedence.UNARY)


@emits(BufferStore)
def _store(emitter: KernelEmitter, store: BufferStore) -> None:
    if store.value.dtype.lanes == 1 or store.predicate is not None:
        emits_c.nodes[BufferStore](emitter, store)
        return
    value = emitter.code(store.value)
    emitter.line(f"{_place(emitter, store, store.value.dtype)} = {value};")


@emits(LetStmt)
def _definition(emitter: KernelEmitter, stmt: LetStmt) -> None:
    dtype = stmt.var.dtype
    if dtype.lanes == 1:
        emits_c.nodes[LetStmt](emitter, stmt)
        return
    value = emitter.code(stmt.value)
    name = emitter.names.define(stmt.var)
    emitter.line(f"const {vector_type(emitter, dtype)} {name} = {value};")
    emitter.statement(stmt.body)


@emits(Shuffle)
def _shuffle(emitter: KernelEmitter, shuffle: Shuffle) -> Text:
    if shuffle.dtype.lanes == 1:
        return _lane(emitter, shuffle)
    dtype = shuffle.dtype
    lanes = [emitter.stored(dtype.element, plain(emitter, lane)) for lane in shuffle.vectors]
    kind = vector_type(emitter, dtype)
    return Text(emitter.dialect.vector_value.format(type=kind, lanes=", ".join(lanes)))


def _lane(emitter: KernelEmitter, shuffle: Shuffle) -> Text:
    """One lane of a variable."""
    (vector,), (number,) = shuffle.vectors, shuffle.indices
    if not isinstance(vector, Var) or not isinstance(number, IntImm):
        raise CodegenError(f"target {emitter.target} cannot express `{shuffle!r}`")
    lane = f"{emitter.name_of(vector)}.{lane_name(vector.dtype.lanes, number.value)}"
    return Text(emitter.loaded(shuffle.dtype, lane))
