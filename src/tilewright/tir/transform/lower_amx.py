"""Instructions on tile registers in place of the loops that they stand for.

Before::                                         After::

    for x in range(8):                               amx_configure(16)
        allocate C[1024] in amx.tmm                  for x in range(8):
        attr amx_operation = "zero 32 32"                amx_zero(0), ... amx_zero(3)
            for i, j in grid(32, 32): C[...] = 0
        for y in range(16):                              for y in range(16):
            attr amx_operation = "multiply 32 32 64"          amx_load(4, &A[...], 1024)
                for i, j, g, p in ...: C[...] = ...          amx_load(6, &B[...], 128)
                                                             amx_multiply("ssd", 0, 4, 6) ...
        attr amx_operation = "store 32 32"               amx_store(0, &D[...], 4096) ...
            for i, j in grid(32, 32): D[...] = ...   amx_release()

The registers are those of a thread. They are configured around the outermost loop, or block of
results, that needs one configuration and runs in one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, NoReturn

from tilewright.arith import Analyzer
from tilewright.error import LoweringError
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Add, Call, Cast, Expr, Mul, Var, is_const_int
from tilewright.ir.module import GlobalVar
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import BufferLoad, storage_scope
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.memory import address_of
from tilewright.tir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    For,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
    seq,
)
from tilewright.tir.substitute import substitute
from tilewright.tir.tile_registers import (
    COLUMNS,
    FIRST_COLUMNS,
    FIRST_ROWS,
    OPERATIONS,
    TILE_SCOPE,
    Block,
    amx_operation_of,
    instruction,
)
from tilewright.tir.transform.analysis.affine import affine, stride_along
from tilewright.tir.transform.building.statements import StatementRewriter, statements
from tilewright.tir.transform.software_pipeline.annotations import uses_of
from tilewright.tir.transform.streamed_tiles import streamed_operand

_FOREIGN = ("tir.call_extern", "tir.tvm_call_packed", "tir.tvm_call_cpacked")
"""Calls of what may use tile registers itself."""


def lower_amx(func: PrimFunc, dot_products: frozenset[str], first_cache: int) -> PrimFunc:
    """`func`, over flat memory, with instructions for the loops that are marked.

    Args:
        dot_products: see `Machine`. Without tile registers the loops stay, and lose their marks.
        first_cache: bytes of the cache nearest to a core.

    Raises:
        LoweringError: for loops that are none of the instructions, and for blocks of results that
            are in registers at the same time.
    """
    if not any(map(amx_operation_of, statements(func.body))):
        return func
    if not any(name.endswith(" tile") for name in dot_products):
        return func.with_body(_Unmarked()(func.body))
    body = _Instructions(first_cache)(_Configuration()(_Narrow()(func.body)))
    assert isinstance(body, Stmt)
    return func.with_body(seq(instruction("permit"), body))


class _Unmarked(StatementRewriter):
    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        is_marked = amx_operation_of(stmt) is not None
        return stmt.body if is_marked else stmt.map_children(self)


class _Narrow(Rewriter):
    """Lets each block of results end with the last statement that uses it, so that another one may
    be in the registers then."""

    def Allocate(self, stmt: Allocate) -> Stmt:
        body, memory = self(stmt.body), stmt.buffer_var
        if storage_scope(memory) != TILE_SCOPE:
            return stmt.replace(body=body)
        if not (isinstance(body, DeclBuffer) and body.buffer.data is memory):
            return _narrowed(body, memory, lambda used: stmt.replace(body=used))
        return _narrowed(body.body, memory, lambda used: stmt.replace(body=body.replace(body=used)))


def _narrowed(body: Stmt, memory: Var, allocated: Callable[[Stmt], Stmt]) -> Stmt:
    """`body`, of which `allocated` is made of the first statement that uses some memory to the last
    one."""
    if isinstance(body, (Allocate, DeclBuffer, LetStmt)):
        return body.replace(body=_narrowed(body.body, memory, allocated))
    if not isinstance(body, SeqStmt):
        return allocated(body)
    users = [n for n, child in enumerate(body.seq) if memory in uses_of(child)]
    if not users:
        return allocated(body)
    first, last = users[0], users[-1]
    if first == last:
        inner = _narrowed(body.seq[first], memory, allocated)
    else:
        inner = allocated(seq(*body.seq[first : last + 1]))
    return seq(*body.seq[:first], inner, *body.seq[last + 1 :])


class _Uses(NamedTuple):
    """What a statement needs.

    Attributes:
        operations: the names of its operations on tiles.
        rows: the numbers of rows of its tiles.
        steps: the numbers of bytes of rows of the first operand.
        stays: whether the registers stay as they are while it runs, which another thread's are not,
            nor what another function may use.
    """

    operations: frozenset[str]
    rows: frozenset[int]
    steps: frozenset[int]
    stays: bool

    @staticmethod
    def of(stmt: Stmt) -> _Uses:
        """What `stmt` needs."""
        found = [use for use in map(amx_operation_of, statements(stmt)) if use is not None]
        is_foreign = any(
            isinstance(node, Call)
            and (isinstance(node.op, GlobalVar) or getattr(node.op, "name", "") in _FOREIGN)
            for node in walk(stmt)
        )
        is_shared = any(
            isinstance(loop, For)
            and not loop.kind.is_in_order
            and any(map(amx_operation_of, statements(loop.body)))
            for loop in statements(stmt)
        )
        return _Uses(
            frozenset(name for name, _ in found),
            frozenset(block.tile_rows for _, block in found),
            frozenset(block.steps for name, block in found if name == "multiply"),
            not (is_foreign or is_shared),
        )


class _Configuration(Rewriter):
    """Configures the registers around what uses them."""

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        users = [child for child in stmt.seq if any(map(amx_operation_of, statements(child)))]
        return self._around(stmt) if len(users) > 1 else stmt.map_children(self)

    def For(self, stmt: For | While) -> Stmt:
        return self._around(stmt)

    While = For

    def Allocate(self, stmt: Allocate) -> Stmt:
        is_block = storage_scope(stmt.buffer_var) == TILE_SCOPE
        return self._around(stmt) if is_block else stmt.map_children(self)

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        if amx_operation_of(stmt) is not None:
            raise LoweringError("tile registers are used without a block that they begin and end")
        return stmt.map_children(self)

    def _around(self, stmt: Stmt) -> Stmt:
        uses = _Uses.of(stmt)
        if not uses.operations:
            return stmt
        is_whole = len(uses.operations) == len(OPERATIONS)
        if not (len(uses.rows) == len(uses.steps) == 1 and uses.stays and is_whole):
            return stmt.map_children(self)
        configured = instruction("configure", *uses.rows, *uses.steps)
        return seq(configured, stmt, instruction("release"))


class _Instructions(Rewriter):
    """Writes instructions for operations, and drops the memory of what is in registers.

    Args:
        first_cache: bytes of the cache nearest to a core.
    """

    def __init__(self, first_cache: int) -> None:
        self._first_cache = first_cache
        self._is_used = False
        self._loops: list[For] = []  # around what is being rewritten
        self._blocks = 0  # how many of them are over blocks of results

    def For(self, loop: For) -> Stmt:
        self._loops.append(loop)
        result = loop.map_children(self)
        self._loops.pop()
        return result

    def Allocate(self, stmt: Allocate) -> Stmt:
        if storage_scope(stmt.buffer_var) != TILE_SCOPE:
            return stmt.map_children(self)
        if self._is_used:
            raise LoweringError(
                f"{stmt.buffer_var.name}: there is another block of results in tile registers"
            )
        self._is_used, self._blocks = True, len(self._loops)
        body = self(stmt.body)
        self._is_used = False
        assert isinstance(body, Stmt)
        return body

    def DeclBuffer(self, stmt: DeclBuffer) -> Stmt:
        is_block = stmt.buffer.scope() == TILE_SCOPE
        return self(stmt.body) if is_block else stmt.map_children(self)

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        found = amx_operation_of(stmt)
        if found is None:
            return stmt.map_children(self)
        name, block = found
        operation = _Operation(name, block, stmt.body)
        if name == "multiply":
            return seq(*operation.multiply(self._streamed_operand(operation)))
        return seq(*(operation.zero() if name == "zero" else operation.store()))

    def _streamed_operand(self, operation: _Operation) -> int | None:
        """Which operand of a product is to leave its place in the first cache to the other one."""
        block, indices = operation.block, [access.indices[0] for access in operation.factors()]
        sizes = [block.rows * block.steps, block.columns * block.steps]
        around, within = self._loops[: self._blocks], self._loops[self._blocks :]
        return streamed_operand(indices, sizes, around, within, self._first_cache)

    def BufferStore(self, access: BufferStore | BufferLoad) -> Stmt | Expr:
        if access.buffer.scope() == TILE_SCOPE:
            raise LoweringError(f"{access.buffer.name}: tile registers have no single elements")
        return access.map_children(self)

    BufferLoad = BufferStore


class _Operation:
    """The loops of an operation.

    Args:
        name: what it does.
        block: the block of results that it is on.
        body: the loops.
    """

    def __init__(self, name: str, block: Block, body: Stmt) -> None:
        self.name, self.block = name, block
        self._analyzer = Analyzer()
        self.loops: list[For] = []
        while isinstance(body, For):
            self.loops.append(body)
            body = body.body
        if not isinstance(body, BufferStore):
            self._refuse("it is not a single store")
        self.element: BufferStore = body
        extents = [getattr(loop.extent, "value", None) for loop in self.loops]
        if extents[:2] != [block.rows, block.columns]:
            self._refuse(f"its loops are {extents}")

    def zero(self) -> Iterator[Stmt]:
        """Zeros in all tiles."""
        self._require_block(self.element)
        for tile in range(self.block.down * self.block.across):
            yield instruction("zero", tile)

    def store(self) -> Iterator[Stmt]:
        """The tiles into memory."""
        block, to = self.block, self.element
        self._require_block(to.value)
        self._require_strides(to, {1: 1})
        for x in range(block.down):
            for y in range(block.across):
                place = self._place(to, 0, x * block.tile_rows, y * COLUMNS)
                yield instruction("store", x * block.across + y, *place)

    def multiply(self, streamed: int | None) -> Iterator[Stmt]:
        """Products of tiles, each loaded when it is first needed.

        Args:
            streamed: which operand is not to stay in the first cache, if one.
        """
        block, (a, b) = self.block, self.factors()
        loads = ["stream" if operand == streamed else "load" for operand in range(2)]
        size = 4 // a.dtype.itemsize
        self._require_strides(a, {2: size, 3: 1})
        self._require_strides(b, {1: size, 3: 1})
        kind = _kind(a.dtype, b.dtype)
        for x in range(block.down):
            yield instruction(loads[0], FIRST_ROWS + x, *self._place(a, 0, x * block.tile_rows, 0))
            for y in range(block.across):
                if x == 0:
                    place = self._place(b, 2, 0, y * COLUMNS)
                    yield instruction(loads[1], FIRST_COLUMNS + y, *place)
                operands = FIRST_ROWS + x, FIRST_COLUMNS + y
                yield instruction("multiply", kind, x * block.across + y, *operands)

    def factors(self) -> tuple[BufferLoad, BufferLoad]:
        """The elements that are multiplied."""
        value = self.element.value
        if not (isinstance(value, Add) and isinstance(value.b, Mul)):
            self._refuse("it does not add products")
        self._require_block(self.element)
        self._require_block(value.a)
        a, b = (f.value if isinstance(f, Cast) else f for f in (value.b.a, value.b.b))
        if not (isinstance(a, BufferLoad) and isinstance(b, BufferLoad)):
            self._refuse("it multiplies something else than elements")
        return a, b

    def _require_block(self, access: object) -> None:
        """Refuse what is not the whole block of results."""
        if not isinstance(access, (BufferLoad, BufferStore)):
            self._refuse(f"{access} is no block of results")
        start = self._analyzer.simplify(substitute(access.indices[0], self._at(0, 0)))
        if access.buffer.scope() != TILE_SCOPE or not is_const_int(start, 0):
            self._refuse(f"{access.buffer.name} has another place than the registers")
        self._require_strides(access, {0: self.block.columns, 1: 1})

    def _require_strides(
        self, access: BufferLoad | BufferStore, strides: Mapping[int, int]
    ) -> None:
        """Refuse elements that are not side by side along some of the loops."""
        (index,) = access.indices
        for loop, stride in strides.items():
            if stride_along(affine(index), self.loops[loop].loop_var) != stride:
                self._refuse(f"the elements of {access.buffer.name} lie in another way")

    def _at(self, row: int, column: int) -> dict[Var, Expr]:
        """The loop variables at a row and column of the block, and the first step."""
        values = [row, column, 0, 0]
        return {
            loop.loop_var: const(value, loop.loop_var.dtype)
            for loop, value in zip(self.loops, values, strict=False)
        }

    def _place(
        self, access: BufferLoad | BufferStore, along: int, row: int, column: int
    ) -> tuple[Expr, Expr]:
        """The address of a tile in memory, and the bytes between its rows.

        Args:
            along: the loop that goes from one of its rows to the next.
            row: of the block, where the tile begins.
            column: likewise.
        """
        (index,), buffer, simplify = access.indices, access.buffer, self._analyzer.simplify
        values = self._at(row, column)
        start = substitute(index, values)
        var = self.loops[along].loop_var
        following = substitute(index, {**values, var: values[var] + 1})
        stride = simplify(cast("int64", following - start) * buffer.dtype.itemsize)
        return address_of(buffer.vload((simplify(start),))), stride

    def _refuse(self, why: str) -> NoReturn:
        raise LoweringError(f"{self.name} {self.block.rows} x {self.block.columns}: {why}")


def _kind(a: DType, b: DType) -> str:
    """What instructions for operands of these types are called."""
    if a == "bfloat16":
        return "bf16ps"
    signs = {"int8": "s", "uint8": "u"}
    return f"b{signs[str(a)]}{signs[str(b)]}d"
