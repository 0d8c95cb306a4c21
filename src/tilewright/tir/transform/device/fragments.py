"""Instructions in place of loops over tiles that a warp executes together.

Before::                                        After::

    allocate A_fragment[32, 16] in local            allocate A_fragment[16] of uint32 in local
    for i in range(2):                              for i in range(2):
        attr tile_operation = "load wmma ..."           ptx_tile("load wmma ... float16",
        for r, c in grid(16, 16):                           &A_fragment[i * 8],
            A_fragment[i * 16 + r, c] = \\                   &A_shared[i * 16, 0], 40)
                A_shared[i * 16 + r, c]

A fragment becomes the registers that each thread of the warp has for its part of all tiles, those
of one tile after those of another. Which thread has which element of a tile is a matter of the
instructions.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from tilewright.arith import Analyzer
from tilewright.error import LoweringError
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import INT32, VOID, DType
from tilewright.ir.expr import Add, Call, Cast, Expr, Mul, StringImm, Var, is_const_int
from tilewright.ir.node import Node
from tilewright.ir.op import Op
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import Buffer, BufferLoad, decl_buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.op.dtypes import reinterpret
from tilewright.tir.op.memory import address_of
from tilewright.tir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
)
from tilewright.tir.substitute import substitute
from tilewright.tir.tile_operations import TileOperation, tile_operation_of
from tilewright.tir.transform.device.thread_axes import WARP, is_axis

INSTRUCTION: Final = "tir.ptx_tile"
CALLS: Final = ("tir.ptx_mma", "tir.ptx_ldmatrix")
"""Instructions that programs call themselves, for memory that each thread has its part of."""

ALIGNMENT: Final = 32
"""Bytes at multiples of which memory starts that has tiles."""

ROW_ALIGNMENT: Final = 16
"""Bytes at multiples of which the rows of a tile start."""


def lower_fragments(func: PrimFunc) -> PrimFunc:
    """`func` with instructions for tiles, and registers for fragments.

    Raises:
        LoweringError: for a fragment of which elements are accessed otherwise, a tile that does not
            start where one starts, and an operation to which not all threads of a warp come.
    """
    fragments = _fragments_of(func)
    if not fragments:
        return func
    return func.with_body(_Lowering(fragments)(func.body))


def registers_of(operation: TileOperation, role: str, dtype: DType) -> int:
    """How many registers of 32 bits a thread has for its part of a tile."""
    if operation.family == "wmma" and dtype == "float16" and role != "c":
        return 8  # in all shapes, some elements more than once
    rows, columns = operation.extents(role, "row")
    return rows * columns * dtype.bits // (32 * WARP)


def register_type(dtype: DType, role: str) -> DType:
    """The type of the registers for elements of `dtype`."""
    return dtype if role == "c" and dtype.bits == 32 else DType("uint32")


def tile_alignments(body: Stmt) -> dict[Var, int]:
    """Bytes at multiples of which memory starts that instructions access tiles of."""
    found: dict[Var, int] = {}
    for call in walk(body):
        if isinstance(call, Call) and getattr(call.op, "name", "") in CALLS:
            found |= {arg: ROW_ALIGNMENT for arg in call.args if isinstance(arg, Var)}
        elif isinstance(call, Call) and getattr(call.op, "name", "") == INSTRUCTION:
            for pointer in call.args[1:]:
                load = pointer.args[0] if isinstance(pointer, Call) else None
                if not isinstance(load, BufferLoad):
                    continue
                if owner_of(load.buffer.scope()) is not MemoryOwner.THREAD:  # which is registers
                    found[load.buffer.data] = ALIGNMENT
    return found


class _Registers(NamedTuple):
    """The registers of a fragment.

    Attributes:
        buffer: the registers of all tiles.
        per_tile: how many of them a tile has.
        extents: number of rows and columns of a tile.
    """

    buffer: Buffer
    per_tile: int
    extents: tuple[int, int]


def _accesses_of(
    operation: TileOperation, store: BufferStore
) -> list[tuple[str, BufferLoad | BufferStore, tuple[int, int]]]:
    """The accesses to fragments of an operation: role, access and extents of a tile."""
    layouts = operation.layouts
    if operation.name == "multiply":
        assert isinstance(store.value, Add)
        assert isinstance(store.value.b, Mul)
        a, b = _load_in(store.value.b.a), _load_in(store.value.b.b)
        return [
            ("c", store, operation.extents("c", "row")),
            ("a", a, operation.extents("a", layouts[0])),
            ("b", b, operation.extents("b", layouts[1])),
        ]
    layout = "row" if operation.role == "c" else layouts[0]
    access = store if operation.name != "store" else store.value
    assert isinstance(access, (BufferLoad, BufferStore))
    return [(operation.role, access, operation.extents(operation.role, layout))]


def _load_in(factor: Expr) -> BufferLoad:
    load = factor.value if isinstance(factor, Cast) else factor
    assert isinstance(load, BufferLoad)
    return load


def _fragments_of(func: PrimFunc) -> dict[Var, _Registers]:
    """The registers of fragments, by their pointers."""
    found: dict[Var, _Registers] = {}
    in_tiles: set[Node] = set()
    for node in walk(func.body):
        operation = tile_operation_of(node) if isinstance(node, AttrStmt) else None
        if operation is None:
            continue
        assert isinstance(node, AttrStmt)
        in_tiles.update(walk(node))
        for role, access, extents in _accesses_of(operation, _store_of(node)):
            buffer = access.buffer
            if buffer.data not in found:
                found[buffer.data] = _registers(operation, role, buffer, extents)
    for node in walk(func.body) if found else ():
        if not isinstance(node, (BufferLoad, BufferStore)) or node in in_tiles:
            continue
        if node.buffer.data in found:
            raise LoweringError(
                f"{node.buffer.name} is a fragment, of which no thread knows which elements it "
                "has: store it in shared memory first, and compute there"
            )
    return found


def _registers(
    operation: TileOperation, role: str, buffer: Buffer, extents: tuple[int, int]
) -> _Registers:
    sizes = [extent.value for extent in buffer.shape if is_const_int(extent)]  # type: ignore[attr-defined]
    if len(sizes) < buffer.ndim:
        raise LoweringError(f"{buffer.name} is a fragment, and its size is not a constant")
    count = registers_of(operation, role, buffer.dtype)
    tiles = math.prod(sizes) // math.prod(extents)
    registers = decl_buffer(
        (tiles * count,), register_type(buffer.dtype, role), buffer.name, scope="local"
    )
    return _Registers(registers, count, extents)


def _store_of(stmt: AttrStmt) -> BufferStore:
    """The statement in the loops of an operation."""
    body = stmt.body
    while isinstance(body, For):
        body = body.body
    assert isinstance(body, BufferStore)
    return body


class _Lowering(Rewriter):
    def __init__(self, fragments: dict[Var, _Registers]) -> None:
        self._fragments = fragments
        self._analyzer = Analyzer()
        self._varying: set[Var] = set()  # what differs between the threads of a warp
        self._conditions: list[Expr] = []

    def Allocate(self, stmt: Allocate) -> Stmt:
        body, registers = self(stmt.body), self._fragments.get(stmt.buffer_var)
        if registers is None:
            return stmt if body is stmt.body else stmt.replace(body=body)
        buffer = registers.buffer
        return stmt.replace(
            buffer_var=buffer.data, dtype=buffer.dtype, extents=buffer.shape, body=body
        )

    def DeclBuffer(self, stmt: DeclBuffer) -> Stmt:
        is_fragment = stmt.buffer.data in self._fragments
        return self(stmt.body) if is_fragment else stmt.map_children(self)

    # --- where all threads of a warp come -----------------------------------------------------

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        self._conditions.append(stmt.condition)
        changed = stmt.map_children(self)
        self._conditions.pop()
        return changed

    def While(self, stmt: While) -> Stmt:
        self._conditions.append(stmt.condition)
        changed = stmt.map_children(self)
        self._conditions.pop()
        return changed

    def For(self, stmt: For) -> Stmt:
        self._conditions += [stmt.min, stmt.extent]
        changed = stmt.map_children(self)
        del self._conditions[-2:]
        return changed

    def LetStmt(self, stmt: LetStmt) -> Stmt:
        if self._varies(stmt.value):
            self._varying.add(stmt.var)
        return stmt.map_children(self)

    def _varies(self, expr: Expr) -> bool:
        return any(
            node in self._varying
            or (
                isinstance(node, BufferLoad) and owner_of(node.buffer.scope()) is MemoryOwner.THREAD
            )
            for node in walk(expr)
        )

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        if is_axis(stmt) and stmt.node.thread_tag == "threadIdx.x":
            self._varying.add(stmt.node.var)
        operation = tile_operation_of(stmt)
        if operation is None:
            return stmt.map_children(self)
        divergent = next((c for c in self._conditions if self._varies(c)), None)
        if divergent is not None:
            raise LoweringError(
                f"the threads of a warp {operation.name} a tile together, but not all of them come "
                f"where {divergent} decides"
            )
        return self._instruction(operation, stmt)

    # --- instructions -------------------------------------------------------------------------

    def _instruction(self, operation: TileOperation, stmt: AttrStmt) -> Stmt:
        store, accesses = _store_of(stmt), _accesses_of(operation, _store_of(stmt))
        assert isinstance(stmt.body, For)
        row = stmt.body.loop_var
        zero = {
            loop.loop_var: const(0, loop.loop_var.dtype)
            for loop in walk(stmt.body)
            if isinstance(loop, For)
        }
        fragments = [self._registers_at(access, zero) for _, access, _ in accesses]
        if operation.name == "fill":
            return self._fill(operation, store, *fragments)
        pointers = [address_of(load) for load in fragments]
        dtypes = [access.buffer.dtype for _, access, _ in accesses]
        if operation.name != "multiply":
            memory = store if operation.name == "store" else store.value
            assert isinstance(memory, (BufferLoad, BufferStore))
            first = [substitute(index, zero) for index in memory.indices]
            second = [
                substitute(index, {**zero, row: const(1, row.dtype)}) for index in memory.indices
            ]
            (start,), (next_row,) = map(memory.buffer.offset_of, (first, second))
            stride = self._analyzer.simplify(as_expr(next_row - start))
            self._require_aligned(memory.buffer, start, stride)
            place = tuple(map(self._analyzer.simplify, first))
            pointers += [
                address_of(BufferLoad(memory.buffer, place)),
                stride,
            ]
        text = " ".join([operation.as_text(), *map(str, dtypes)])
        return Evaluate(Call(VOID, Op.get(INSTRUCTION), (StringImm(text), *pointers)))

    def _require_aligned(self, buffer: Buffer, start: Expr, stride: Expr) -> None:
        elements = ROW_ALIGNMENT // buffer.dtype.itemsize
        for what, distance in (("a tile starts", start), ("rows are apart by", stride)):
            rest = floormod(distance, const(elements, distance.dtype))
            if not self._analyzer.can_prove_equal(rest, 0):
                raise LoweringError(
                    f"{buffer.name}: {what} {distance} elements of {buffer.dtype!s}, and tensor "
                    f"cores want multiples of {ROW_ALIGNMENT} bytes: copy tiles into shared memory "
                    "whose rows storage_align makes longer"
                )

    def _registers_at(self, access: BufferLoad | BufferStore, zero: dict[Var, Expr]) -> BufferLoad:
        """The first register of the tile of a fragment that an operation accesses."""
        registers = self._fragments[access.buffer.data]
        indices = [self._analyzer.simplify(substitute(i, zero)) for i in access.indices]
        sizes = [extent.value for extent in access.buffer.shape]  # type: ignore[attr-defined]
        parts = (math.prod(registers.extents),) if len(sizes) == 1 else registers.extents
        units = [*(1 for _ in sizes[: -len(parts)]), *parts]
        number: Expr = const(0)
        for index, size, unit in zip(indices, sizes, units, strict=True):
            if not self._analyzer.can_prove_equal(floormod(index, const(unit, index.dtype)), 0):
                raise LoweringError(
                    f"{access.buffer.name} is used from element {index} on, where no tile of "
                    f"{unit} elements starts"
                )
            own = self._analyzer.simplify(floordiv(index, const(unit, index.dtype)))
            number = as_expr(number * (size // unit) + own)
        place = self._analyzer.simplify(as_expr(number * registers.per_tile))
        return BufferLoad(registers.buffer, (place,))

    @staticmethod
    def _fill(operation: TileOperation, store: BufferStore, first: BufferLoad) -> Stmt:
        registers, value = first.buffer, store.value
        if registers.dtype is not value.dtype:  # elements side by side
            bits = value.dtype.bits
            value = cast("uint32", reinterpret(f"uint{bits}", value))
            value = as_expr(value * const(sum(1 << n for n in range(0, 32, bits)), "uint32"))
        r = Var("r", INT32)
        body = BufferStore(registers, value, (as_expr(first.indices[0] + r),))
        count = registers_of(operation, operation.role, store.buffer.dtype)
        return For(r, const(0), const(count), ForKind.SERIAL, body)
