"""Random functions over (nearly) all node classes, with well-formed scopes; not meant to be run."""

from __future__ import annotations

import random

import numpy as np

from tilewright import tir
from tilewright.ir import (
    Add,
    And,
    Broadcast,
    Cast,
    Div,
    DType,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PointerType,
    PrimType,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Sub,
    Var,
    const,
    walk,
)
from tilewright.ir.convert import attributes
from tilewright.ir.expr import EQ, GE, GT, LE, LT, NE
from tilewright.tir import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IterType,
    IterVar,
    LetStmt,
    MatchBufferRegion,
    PrimFunc,
    Range,
    Stmt,
    While,
    decl_buffer,
    seq,
)

I32, I64, F32, BOOL, HANDLE = map(DType, ("int32", "int64", "float32", "bool", "handle"))
NAMES = ["i", "j", "k", "x", "A", "B", "A_1", "range", "T", "v", "a.b", "1st", "for"]


class Generator:
    """Makes a function from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ints: list[Var] = []
        self.pointers: list[Var] = []
        self.buffers: list[Buffer] = []

    def name(self) -> str:
        return self.random.choice(NAMES)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # --- expressions ------------------------------------------------------------------------

    def int_expr(self, depth: int = 2) -> Expr:
        if depth == 0 or self.chance(0.2):
            if self.ints and self.chance(0.7):
                return self.random.choice(self.ints)
            return IntImm(I32, self.random.choice([0, 1, -1, 2, 7, 1 << 30, -(1 << 31)]))
        kind = self.random.randrange(7)
        if kind < 3:
            cls = self.random.choice([Add, Sub, Mul, FloorDiv, FloorMod, Div, Mod, Min, Max])
            return cls(self.int_expr(depth - 1), self.int_expr(depth - 1))
        if kind == 3:
            return Select(self.bool_expr(depth - 1), self.int_expr(depth - 1), self.int_expr(0))
        if kind == 4:
            return Cast(I32, self.float_expr(depth - 1))
        if kind == 5:
            return tir.bitwise_xor(self.int_expr(depth - 1), self.int_expr(0))
        var = Var(self.name(), I32)
        value = self.int_expr(depth - 1)
        self.ints.append(var)
        body = self.int_expr(depth - 1)
        self.ints.pop()
        return Let(var, value, body)

    def bool_expr(self, depth: int = 2) -> Expr:
        if depth == 0:
            return const(self.chance(0.5))
        kind = self.random.randrange(4)
        if kind == 0:
            cls = self.random.choice([And, Or])
            return cls(self.bool_expr(depth - 1), self.bool_expr(depth - 1))
        if kind == 1:
            return Not(self.bool_expr(depth - 1))
        cls = self.random.choice([EQ, NE, LT, LE, GT, GE])
        return cls(self.int_expr(depth - 1), self.int_expr(depth - 1))

    def float_expr(self, depth: int = 2) -> Expr:
        if depth == 0 or self.chance(0.1):
            values = [0.0, -0.0, 1.0, 0.1, -2.5, 1e30, 1e-40, float("inf"), float("nan")]
            return FloatImm(F32, tir.const(self.random.choice(values), F32).value)
        kind = self.random.randrange(5)
        if kind == 0 and self.buffers:
            buffer = self.random.choice(self.buffers)
            return BufferLoad(buffer, self.indices(buffer, depth - 1))
        if kind == 1:
            return tir.exp(self.float_expr(depth - 1))
        if kind == 2:
            return Cast(F32, self.int_expr(depth - 1))
        cls = self.random.choice([Add, Sub, Mul, Div, Min, Max])
        return cls(self.float_expr(depth - 1), self.float_expr(depth - 1))

    def indices(self, buffer: Buffer, depth: int = 1) -> tuple[Expr, ...]:
        return tuple(self.int_expr(depth) for _ in buffer.shape)

    def vector_store(self, buffer: Buffer) -> Stmt:
        lanes = self.random.choice([2, 4, 8])
        stride = IntImm(I32, self.random.choice([1, 1, 3]))
        last = Ramp(self.int_expr(1), stride, lanes)
        indices = (*self.indices(buffer)[:-1], last)
        value: Expr = Broadcast(self.float_expr(1), lanes)
        if self.chance(0.5):
            value = Add(value, BufferLoad(buffer, indices))
        if self.chance(0.2):
            order = tuple(const(self.random.randrange(lanes)) for _ in range(lanes))
            value = Shuffle((value,), order)
        return BufferStore(buffer, value, indices)

    def attrs(self) -> dict[str, object]:
        values = [1, True, 'text "quoted" \'\n', 0.5, (1, (2, "x")), {"k": 3}, None]
        count = self.random.choice([0, 0, 1, 2])
        return dict(attributes({f"key.{n}": self.random.choice(values) for n in range(count)}))

    # --- buffers ----------------------------------------------------------------------------

    def buffer(self, data: Var | None = None) -> Buffer:
        rank = self.random.choice([1, 1, 2, 3])
        shape = [self.random.choice([1, 4, 16]) for _ in range(rank)]
        extra: dict[str, object] = {}
        if self.chance(0.2):
            extra["strides"] = [self.random.choice([1, 8, 64]) for _ in range(rank)]
        if self.chance(0.2):
            extra["elem_offset"] = self.int_expr(1)
        if self.chance(0.2):
            extra["data_alignment"] = 64
        if self.chance(0.1):
            extra["axis_separators"] = [1]
        if data is None and self.chance(0.2):
            extra["scope"] = "shared"
        return decl_buffer(shape, "float32", self.name(), data=data, **extra)

    def region(self, buffer: Buffer) -> BufferRegion:
        ranges = []
        for _ in buffer.shape:
            size = self.random.choice([const(1), const(4), self.int_expr(1)])
            ranges.append(Range.from_min_extent(self.int_expr(1), size))
        return BufferRegion(buffer, tuple(ranges))

    # --- statements -------------------------------------------------------------------------

    def stmt(self, depth: int) -> Stmt:
        if depth == 0:
            return self.leaf()
        makers = [self.loop, self.loop, self.block, self.branch, self.let, self.sequence]
        makers += [self.allocation, self.view, self.attr, self.assertion, self.while_loop]
        return self.random.choice(makers)(depth - 1)

    def leaf(self) -> Stmt:
        if not self.buffers or self.chance(0.1):
            return Evaluate(self.int_expr())
        buffer = self.random.choice(self.buffers)
        if self.chance(0.2):
            return self.vector_store(buffer)
        return BufferStore(buffer, self.float_expr(), self.indices(buffer))

    def sequence(self, depth: int) -> Stmt:
        return seq(*[self.stmt(depth) for _ in range(self.random.choice([2, 2, 3]))])

    def loop(self, depth: int) -> Stmt:
        var = Var(self.name(), I32)
        low = self.random.choice([const(0), const(0), const(3), self.int_expr(1)])
        sizes = [const(8), const(1), self.int_expr(1), Sub(self.int_expr(1), low)]
        extent = self.random.choice(sizes)
        kinds = [ForKind.SERIAL] * 3 + [ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.UNROLLED]
        kind = self.random.choice(kinds)
        self.ints.append(var)
        body = self.stmt(depth)
        self.ints.pop()
        annotations = self.attrs() if self.chance(0.3) else {}
        return For(var, low, extent, kind, body, None, annotations)

    def block(self, depth: int) -> Stmt:
        outer, outer_buffers = self.ints, self.buffers
        iters, values = [], []
        for _ in range(self.random.choice([0, 1, 2, 3])):
            low = self.random.choice([const(0), const(0), const(2)])
            kinds = [IterType.DATA_PAR, IterType.COMM_REDUCE, IterType.ORDERED, IterType.OPAQUE]
            dom = Range.from_min_extent(low, self.random.choice([const(8), const(1)]))
            iters.append(IterVar(dom, Var(self.name(), I32), self.random.choice(kinds)))
            values.append(self.int_expr(1))
        self.ints = [*outer, *(v.var for v in iters)]
        sources = [self.region(b) for b in self.buffers[:1]]
        matched = [self.buffer() for _ in sources if self.chance(0.3)]
        matches = [MatchBufferRegion(b, r) for b, r in zip(matched, sources, strict=False)]
        allocated = [self.buffer() for _ in range(self.random.choice([0, 0, 1]))]
        self.buffers = [*outer_buffers, *allocated, *matched]
        reads = tuple(self.region(b) for b in outer_buffers[:2])
        writes = tuple(self.region(b) for b in outer_buffers[:1])
        init = self.stmt(0) if self.chance(0.3) else None
        block = Block(
            tuple(iters), reads, writes, self.name(), self.stmt(depth), init,
            tuple(allocated), tuple(matches), self.attrs(),
        )  # fmt: skip
        self.ints, self.buffers = outer, outer_buffers
        predicate = self.bool_expr() if self.chance(0.3) else const(True)
        return BlockRealize(tuple(values), predicate, block)

    def branch(self, depth: int) -> Stmt:
        otherwise = self.stmt(depth) if self.chance(0.5) else None
        return IfThenElse(self.bool_expr(), self.stmt(depth), otherwise)

    def let(self, depth: int) -> Stmt:
        var, value = Var(self.name(), I32), self.int_expr()
        self.ints.append(var)
        body = self.stmt(depth)
        self.ints.pop()
        return LetStmt(var, value, body)

    def allocation(self, depth: int) -> Stmt:
        is_constant = self.chance(0.2)
        scope = "global" if is_constant else self.random.choice(["global", "local"])
        pointer = Var(self.name(), HANDLE, PointerType(PrimType(F32), scope))
        buffer = self.buffer(pointer)
        self.buffers = [*self.buffers, buffer]
        self.pointers.append(pointer)
        body = self.stmt(depth)
        self.pointers.pop()
        self.buffers = self.buffers[:-1]
        if is_constant:
            values = [self.random.choice([0.5, 1.25, -3.0, np.inf]) for _ in range(4)]
            return AllocateConst(pointer, F32, (const(4),), np.array(values, "float32"), body)
        extents = (self.random.choice([const(16), const(2) * self.random.choice(self.sizes())]),)
        return Allocate(pointer, F32, extents, const(True), body, self.attrs())

    def sizes(self) -> list[Expr]:
        return [*self.ints, const(3)]

    def view(self, depth: int) -> Stmt:
        if not self.pointers:
            return self.allocation(depth)
        buffer = self.buffer(self.random.choice(self.pointers))
        self.buffers = [*self.buffers, buffer]
        body = self.stmt(depth)
        self.buffers = self.buffers[:-1]
        return DeclBuffer(buffer, body)

    def attr(self, depth: int) -> Stmt:
        targets: list[object] = [StringImm("text"), const(0), *self.ints[:1], *self.pointers[:1]]
        target = self.random.choice(targets)
        return AttrStmt(target, "pragma_x", self.int_expr(1), self.stmt(depth))

    def assertion(self, depth: int) -> Stmt:
        return AssertStmt(self.bool_expr(), StringImm('a "message"\\n'), self.stmt(depth))

    def while_loop(self, depth: int) -> Stmt:
        return While(self.bool_expr(), self.stmt(depth))

    # --- functions --------------------------------------------------------------------------

    def function(self, depth: int = 4) -> PrimFunc:
        params: list[Var] = []
        buffer_map = {}
        for _ in range(self.random.choice([0, 1, 2, 3])):
            if self.chance(0.3):
                params.append(Var(self.name(), I32))
                self.ints.append(params[-1])
                continue
            params.append(Var(self.name(), HANDLE))
            buffer = buffer_map[params[-1]] = self.parameter_buffer()
            self.buffers.append(buffer)
        body = self.rooted(self.stmt(depth))
        attrs = self.attrs()
        if self.chance(0.7):
            attrs["global_symbol"] = "main"
        returned = PrimType(I32) if self.chance(0.1) else None
        return PrimFunc(tuple(params), body, returned, buffer_map, attrs)

    def rooted(self, body: Stmt) -> Stmt:
        """`body` in a root block, if there are blocks in it."""
        if not any(isinstance(node, Block) for node in walk(body)):
            return body
        root = Block((), (), (), "root", body)
        return BlockRealize((), const(True), root)

    def parameter_buffer(self) -> Buffer:
        if self.chance(0.4):
            return self.buffer()
        n = Var("n", self.random.choice([I32, I64]))
        shape: list[Expr] = [n, IntImm(n.dtype, 4)]
        if self.chance(0.3):
            shape.append(Add(n, IntImm(n.dtype, 1)))
        strides = None
        if len(shape) == 2 and self.chance(0.3):
            strides = [Var("s", n.dtype), IntImm(n.dtype, 1)]
        return decl_buffer(shape, "float32", self.name(), strides=strides)


def random_function(seed: int, depth: int = 4) -> PrimFunc:
    """A function that depends on `seed` alone."""
    return Generator(seed).function(depth)
