"""The loops that operations on tiles stand for; see `tile_operations`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import LoweringError
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import INT32, PointerType, PrimType
from tilewright.ir.expr import Call, Expr, StringImm, Var
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import Buffer, BufferLoad, MatchBufferRegion, storage_scope
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    Allocate,
    AttrStmt,
    Block,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    Stmt,
)
from tilewright.tir.substitute import BufferRewriter, substitute
from tilewright.tir.tile_operations import (
    FILL,
    LAYOUTS,
    LOAD,
    MULTIPLY,
    STORE,
    TILE_OPERATION,
    Fragment,
    TileOperation,
    fragment_of,
)


def expand_tile_operations(func: PrimFunc, mark: bool = False) -> PrimFunc:
    """`func` with loops in place of operations on tiles, and fragments in `local` memory.

    Args:
        func: a function.
        mark: whether a warp is to execute the loops together.

    Raises:
        LoweringError: for an operation on anything but a tile of a buffer.
    """
    finder = _Fragments(func)
    if not finder.found:
        return func
    return func.with_body(_Expansion(finder, mark)(func.body))


class _Fragments:
    """The buffers of a function by their pointers, and what is known of each fragment.

    Attributes:
        buffers: by pointer.
        found: whether there is any fragment.
    """

    def __init__(self, func: PrimFunc) -> None:
        self.buffers: dict[Var, Buffer] = {b.data: b for b in func.buffer_map.values()}
        self._viewed: dict[Var, Var] = {}
        self._layouts: dict[Var, str] = {}
        self._shapes: dict[Var, tuple[int, ...]] = {}
        calls: list[Call] = []
        for node in walk(func.body):
            if isinstance(node, Block):
                self._add(*node.alloc_buffers)
            elif isinstance(node, MatchBufferRegion):
                self._add(node.buffer)
                self._viewed[node.buffer.data] = node.source.buffer.data
            elif isinstance(node, DeclBuffer):
                self._add(node.buffer)
            elif isinstance(node, Allocate):
                pointer = node.buffer_var
                self._add(Buffer(pointer, node.dtype, node.extents, pointer.name))
            elif isinstance(node, Call) and operator_of(node) in (FILL, LOAD, STORE):
                calls.append(node)
        self.found = any(fragment_of(storage_scope(pointer)) for pointer in self.buffers)
        for call in calls:
            self._note(call)

    def _add(self, *buffers: Buffer) -> None:
        for buffer in buffers:
            self.buffers.setdefault(buffer.data, buffer)

    def _note(self, call: Call) -> None:
        buffer = self.buffer_of(call, call.args[0])
        memory = self._memory(buffer.data)
        shape = tuple(getattr(size, "value", 0) for size in call.args[1:4])
        layout = layout_of(call) if operator_of(call) == LOAD else None
        for known, value in ((self._shapes, shape), (self._layouts, layout)):
            if value is not None and known.setdefault(memory, value) != value:  # type: ignore[arg-type]
                raise LoweringError(
                    f"{buffer.name} is used with tiles of two shapes or layouts, {known[memory]} "
                    f"and {value}: use a fragment of its own for each"
                )

    def layout(self, buffer: Buffer) -> str:
        """The layout in which a fragment was loaded."""
        return self._layouts.get(self._memory(buffer.data), "row")

    def shape(self, buffer: Buffer) -> tuple[int, ...] | None:
        """The m, n and k of the products that a fragment is of, if some operation says so."""
        return self._shapes.get(self._memory(buffer.data))

    def _memory(self, pointer: Var) -> Var:
        while pointer in self._viewed:
            pointer = self._viewed[pointer]
        return pointer

    def buffer_of(self, call: Call, pointer: Expr) -> Buffer:
        """The buffer of a pointer.

        Raises:
            LoweringError: if there is none.
        """
        found = self.buffers.get(pointer) if isinstance(pointer, Var) else None
        if found is None:
            raise LoweringError(f"{_name(call)}: {pointer} is not the pointer of a buffer")
        return found


def operator_of(call: Expr) -> str:
    """The name of the operator that is called; empty for anything but a call of one."""
    return getattr(getattr(call, "op", None), "name", "")


def layout_of(call: Call) -> str:
    """``"row"`` or ``"col"``: how a call that loads or stores says that the memory is laid out."""
    found = LAYOUTS.get(getattr(call.args[7], "value", ""))
    if found is None:
        raise LoweringError(
            f"{_name(call)}: the layout is 'row_major' or 'col_major', got {call.args[7]}"
        )
    return found


def _name(call: Call) -> str:
    return operator_of(call).removeprefix("tir.")


_Element = Callable[[Expr, Expr], tuple[Expr, ...]]
"""From row and column of a tile to the indices of the element."""


class _Expansion(BufferRewriter):
    def __init__(self, fragments: _Fragments, mark: bool) -> None:
        super().__init__()
        self._fragments, self._mark = fragments, mark
        self._analyzer = Analyzer()
        self._pointers = {
            pointer: pointer.replace(type_annotation=_local(buffer))
            for pointer, buffer in fragments.buffers.items()
            if fragment_of(storage_scope(pointer)) is not None
        }

    def map_buffer(self, buffer: Buffer) -> Buffer:
        return self.rebuilt(buffer)

    def Var(self, var: Var) -> Expr:
        return self._pointers.get(var, var)

    def Allocate(self, stmt: Allocate) -> Stmt:
        stmt = stmt.map_children(self)
        return stmt.replace(buffer_var=self._pointers.get(stmt.buffer_var, stmt.buffer_var))

    def Evaluate(self, stmt: Evaluate) -> Stmt:
        expand = {
            FILL: self._fill, LOAD: self._copy, MULTIPLY: self._multiply, STORE: self._copy,
        }.get(operator_of(stmt.value))  # fmt: skip
        if expand is None:
            return stmt.map_children(self)
        assert isinstance(stmt.value, Call)
        operation, loops = expand(stmt.value)
        body = self(loops)
        if not self._mark:
            return body
        return AttrStmt(const(0), TILE_OPERATION, StringImm(operation.as_text()), body)

    # --- operations ---------------------------------------------------------------------------

    def _fill(self, call: Call) -> tuple[TileOperation, Stmt]:
        buffer = self._fragments.buffer_of(call, call.args[0])
        operation = self._operation("fill", call, buffer, self._fragments.layout(buffer))
        extents = operation.extents(operation.role, operation.layouts[0])
        element = self._tile(call, buffer, call.args[4], extents)
        value = cast(buffer.dtype, call.args[5])
        return operation, _loops(extents, lambda i, j: BufferStore(buffer, value, element(i, j)))

    def _copy(self, call: Call) -> tuple[TileOperation, Stmt]:
        """Load or store a tile."""
        fragment, loads = self._fragments.buffer_of(call, call.args[0]), operator_of(call) == LOAD
        name = "load" if loads else "store"
        operation = self._operation(name, call, fragment, layout_of(call))
        if not loads and operation.role != "c":
            raise LoweringError(f"{_name(call)}: {fragment.name} is not an accumulator")
        # Operands are kept as they lie in memory; a result is always kept by rows.
        extents = operation.extents(operation.role, operation.layouts[0])
        is_turned = operation.role == "c" and operation.layouts[0] == "col"
        rows = extents[::-1] if is_turned else extents
        inside = self._tile(call, fragment, call.args[4], rows)
        memory, outside = self._memory(call, call.args[5], call.args[6])
        if memory.dtype is not fragment.dtype:
            raise LoweringError(
                f"{_name(call)}: {memory.name} has elements of {memory.dtype!s}, and "
                f"{fragment.name} of {fragment.dtype!s}"
            )

        def copied(i: Expr, j: Expr) -> Stmt:
            own, other = inside(j, i) if is_turned else inside(i, j), outside(i, j)
            if loads:
                return BufferStore(fragment, BufferLoad(memory, other), own)
            return BufferStore(memory, BufferLoad(fragment, own), other)

        return operation, _loops(extents, copied)

    def _multiply(self, call: Call) -> tuple[TileOperation, Stmt]:
        result, a, b, summand = (
            self._fragments.buffer_of(call, call.args[place]) for place in (0, 2, 4, 6)
        )
        if summand is not result or not structural_equal(call.args[1], call.args[7]):
            raise LoweringError(
                f"{_name(call)}: the product is added to {summand.name} and stored in "
                f"{result.name}: use the same fragment for both"
            )
        shapes = [self._fragments.shape(buffer) for buffer in (result, a, b)]
        shape = next((shape for shape in shapes if shape is not None), None)
        if shape is None:
            raise LoweringError(f"{_name(call)}: nothing fills {result.name}")
        layouts = (self._fragments.layout(a), self._fragments.layout(b))
        kind = self._kind(call, result)
        operation = TileOperation("multiply", kind.family, shape[0], shape[1], shape[2], layouts)
        left = self._tile(call, a, call.args[3], operation.extents("a", layouts[0]))
        right = self._tile(call, b, call.args[5], operation.extents("b", layouts[1]))
        place = self._tile(call, result, call.args[1], operation.extents("c", "row"))

        def added(i: Expr, j: Expr, k: Expr) -> Stmt:
            factors = (
                BufferLoad(a, left(i, k) if layouts[0] == "row" else left(k, i)),
                BufferLoad(b, right(k, j) if layouts[1] == "row" else right(j, k)),
            )
            one, other = (cast(result.dtype, factor) for factor in factors)
            total = BufferLoad(result, place(i, j)) + one * other
            return BufferStore(result, as_expr(total), place(i, j))

        return operation, _loops(shape, added)

    def _operation(self, name: str, call: Call, buffer: Buffer, layout: str) -> TileOperation:
        kind = self._kind(call, buffer)
        m, n, k = (getattr(size, "value", 0) for size in call.args[1:4])
        return TileOperation(name, kind.family, m, n, k, (layout,), kind.role)

    def _kind(self, call: Call, buffer: Buffer) -> Fragment:
        kind = fragment_of(buffer.scope())
        if kind is None:
            raise LoweringError(
                f"{_name(call)}: {buffer.name} is in {buffer.scope()} memory: not a fragment"
            )
        return kind

    # --- elements -----------------------------------------------------------------------------

    def _tile(self, call: Call, buffer: Buffer, number: Expr, extents: Sequence[int]) -> _Element:
        """The elements of a tile of a fragment, which has tiles of these extents in order."""
        number = self._relative(buffer, number)
        rows, columns = extents
        if buffer.ndim == 1:
            return lambda i, j: (as_expr(number * (rows * columns) + i * columns + j),)
        sizes = [getattr(size, "value", 0) for size in buffer.shape]
        if sizes[-2] % rows or sizes[-1] % columns:
            raise LoweringError(
                f"{_name(call)}: {buffer.name} of shape {tuple(sizes)} has no tiles of {rows} by "
                f"{columns} elements"
            )
        counts = [*sizes[:-2], sizes[-2] // rows, sizes[-1] // columns]
        *lead, row, column = self._unravelled(number, counts)
        return lambda i, j: (*lead, as_expr(row * rows + i), as_expr(column * columns + j))

    def _memory(self, call: Call, pointer: Expr, stride: Expr) -> tuple[Buffer, _Element]:
        """A buffer, and the elements of the tile of it that starts at a pointer."""
        buffer, start = self._start(call, pointer)
        if buffer.ndim == 1:
            return buffer, lambda i, j: (as_expr(start[0] + i * stride + j),)
        row_stride = buffer.strides[-2] if buffer.strides else buffer.shape[-1]
        if not self._analyzer.can_prove_equal(row_stride, stride):
            raise LoweringError(
                f"{_name(call)}: rows of {buffer.name} are {row_stride} elements apart, and not "
                f"{stride}"
            )
        *lead, row, column = start
        return buffer, lambda i, j: (*lead, as_expr(row + i), as_expr(column + j))

    def _start(self, call: Call, pointer: Expr) -> tuple[Buffer, Sequence[Expr]]:
        """The first element that a pointer is to."""
        arguments: tuple[Any, ...] = pointer.args if isinstance(pointer, Call) else ()
        if operator_of(pointer) == "tir.address_of" and isinstance(arguments[0], BufferLoad):
            return arguments[0].buffer, arguments[0].indices
        if operator_of(pointer) == "tir.tvm_access_ptr":
            buffer = self._fragments.buffer_of(call, arguments[1])
            offset = self._relative(buffer, arguments[2])
        else:
            buffer = self._fragments.buffer_of(call, pointer)
            offset = const(0)
        return buffer, self._unravelled(offset, buffer.shape)

    def _relative(self, buffer: Buffer, offset: Expr) -> Expr:
        """An offset into memory, or the number of a tile, from the start of the buffer."""
        start = buffer.elem_offset
        if isinstance(start, Var):
            offset = substitute(offset, {start: const(0, start.dtype)})
        return self._analyzer.simplify(offset)

    def _unravelled(self, number: Expr, counts: Sequence[Any]) -> list[Expr]:
        """The indices of what has a number, counted in the order of rows."""
        found: list[Expr] = []
        for count in reversed(counts[1:]):
            found.insert(0, self._analyzer.simplify(floormod(number, as_expr(count))))
            number = self._analyzer.simplify(floordiv(number, as_expr(count)))
        return [number, *found]


def _local(buffer: Buffer) -> PointerType:
    return PointerType(PrimType(buffer.dtype), "local")


def _loops(extents: Sequence[int], statement: Callable[..., Stmt]) -> Stmt:
    """Loops of some extents, and the statement inside, made of their variables."""
    variables = [Var(name, INT32) for name in "ijk"[: len(extents)]]
    body = statement(*variables)
    for var, extent in zip(reversed(variables), reversed(extents), strict=True):
        body = For(var, const(0), const(extent), ForKind.SERIAL, body)
    return body
