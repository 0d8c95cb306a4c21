"""Text of statements, loops and blocks."""

from textwrap import dedent

import numpy as np
import pytest

from tilewright import tir
from tilewright.ir import (
    DType,
    IntImm,
    Op,
    PointerType,
    PrimType,
    Ramp,
    SizeVar,
    StringImm,
    Var,
    const,
)
from tilewright.ir.convert import attributes
from tilewright.tir import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferRealize,
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
    Prefetch,
    PrimFunc,
    Range,
    SeqStmt,
    While,
    decl_buffer,
    seq,
)

I32, I64, F32, HANDLE = DType("int32"), DType("int64"), DType("float32"), DType("handle")


def var(name, dtype=I32):
    return Var(name, dtype)


def pointer(name, scope="global"):
    return Var(name, HANDLE, PointerType(PrimType(F32), scope))


def loop(variable, extent, body, kind=ForKind.SERIAL, low=0, **fields):
    size = extent if not isinstance(extent, int) else const(extent)
    return For(variable, IntImm(size.dtype, low), size, kind, body, **fields)


def use(value):
    return Evaluate(value if not isinstance(value, int) else const(value))


def body_text(stmt, *buffers):
    """The text of a function body, without the lines above it."""
    params = [Var(f"p{k}", HANDLE) for k in range(len(buffers))]
    buffer_map = dict(zip(params, buffers, strict=True))
    function = PrimFunc(tuple(params), stmt, None, buffer_map)
    lines = function.script().split("\n")
    assert lines[2] == "@T.prim_func(private=True)"
    return dedent("\n".join(lines[4:]))


def check(stmt, expected, *buffers):
    assert body_text(stmt, *buffers) == dedent(expected).strip("\n")


class TestLoops:
    def test_perfect_nests_become_a_grid(self):
        i, j, k = var("i"), var("j"), var("k")
        nest = loop(i, 4, loop(j, 8, loop(k, 16, use(i + j + k))))
        check(nest, "for i, j, k in T.grid(4, 8, 16):\n    T.evaluate(i + j + k)")

    def test_a_single_loop_is_a_range(self):
        i = var("i")
        check(loop(i, 4, use(i)), "for i in range(4):\n    T.evaluate(i)")

    def test_what_ends_a_grid(self):
        i, j, k, l = var("i"), var("j"), var("k"), var("l")
        nest = loop(i, 4, loop(j, i + 1, loop(k, 2, loop(l, 3, use(0), low=1))))
        check(
            nest,
            """
            for i in range(4):
                for j, k in T.grid(i + 1, 2):
                    for l in range(1, 4):
                        T.evaluate(0)
            """,
        )

    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            (ForKind.PARALLEL, "parallel"),
            (ForKind.VECTORIZED, "vectorized"),
            (ForKind.UNROLLED, "unroll"),
        ],
    )
    def test_kinds(self, kind, name):
        i, j = var("i"), var("j")
        check(
            loop(i, 4, loop(j, 8, use(j)), kind),
            f"for i in T.{name}(4):\n    for j in range(8):\n        T.evaluate(j)",
        )

    def test_annotations(self):
        i = var("i")
        annotations = attributes({"pragma_b": 16, "pragma_a": True})
        check(
            loop(i, 32, use(i), annotations=annotations),
            """
            for i in T.serial(32, annotations={"pragma_a": T.bool(True), "pragma_b": 16}):
                T.evaluate(i)
            """,
        )

    def test_thread_binding(self):
        i = var("i")
        thread = IterVar(None, var("threadIdx.x"), IterType.THREAD_INDEX, "threadIdx.x")
        stmt = loop(i, 32, use(i), ForKind.THREAD_BINDING, thread_binding=thread)
        check(stmt, 'for i in T.thread_binding(32, thread="threadIdx.x"):\n    T.evaluate(i)')

    def test_bounds_of_other_dtypes_and_symbolic_ones(self):
        i, n, j = var("i", I64), var("n", I64), var("j")
        check(
            seq(loop(i, IntImm(I64, 4), use(i)), For(j, j, j + 1, ForKind.SERIAL, use(0))),
            """
            j = T.int32()
            for i in range(T.int64(4)):
                T.evaluate(i)
            for j_1 in range(j, j + (j + 1)):
                T.evaluate(0)
            """,
        )
        check(loop(i, n, use(i)), "n = T.int64()\nfor i in range(n):\n    T.evaluate(i)")

    def test_names_are_free_again_after_a_loop(self):
        i, j = var("i"), var("i")
        check(
            seq(loop(i, 2, use(i)), loop(j, 3, loop(i, 4, use(i)))),
            """
            for i in range(2):
                T.evaluate(i)
            for i, i_1 in T.grid(3, 4):
                T.evaluate(i_1)
            """,
        )

    def test_while(self):
        A = decl_buffer((4,), name="A")
        stmt = While(A[0] < 1, A.vstore(0, A[0] + 1))
        check(
            stmt,
            "while A[0] < T.float32(1.0):\n    A[0] = A[0] + T.float32(1.0)",
            A,
        )


class TestRestOfTheScope:
    def test_let(self):
        x, y = var("x"), var("x")
        stmt = LetStmt(x, const(1), LetStmt(y, x + 1, seq(use(x), use(y))))
        check(stmt, "x: T.int32 = 1\nx_1: T.int32 = x + 1\nT.evaluate(x)\nT.evaluate(x_1)")

    def test_let_that_ends_before_the_scope_does(self):
        x = var("x")
        check(
            SeqStmt((LetStmt(x, const(1), use(x)), use(2))),
            """
            x = T.int32()
            with T.LetStmt(1, var=x):
                T.evaluate(x)
            T.evaluate(2)
            """,
        )

    def test_let_of_a_pointer(self):
        p = pointer("p")
        stmt = LetStmt(p, StringImm("address"), use(0))
        check(stmt, 'p: T.handle("float32") = "address"\nT.evaluate(0)')

    def test_allocate(self):
        c, d = pointer("C"), pointer("D", "local")
        C = decl_buffer((4,), name="C", data=c)
        inner = Allocate(d, F32, (const(2),), const(True), use(0), attributes({"a": 1}))
        stmt = Allocate(c, F32, (const(2), const(2)), const(True), seq(inner, C.vstore(0, 1.0)))
        check(
            stmt,
            """
            C = T.allocate([2, 2], "float32", "global")
            with T.allocate([2], "float32", "local", annotations={"a": 1}) as D:
                T.evaluate(0)
            C_1 = T.Buffer((4,), data=C)
            C_1[0] = T.float32(1.0)
            """,
        )

    def test_allocate_const(self):
        data = np.array([[1.5, -2.0], [float("inf"), 0.0]], "float32")
        stmt = AllocateConst(pointer("W"), F32, (const(2), const(2)), data, use(0))
        check(
            stmt,
            """
            W = T.allocate_const([[1.5, -2.0], [float("inf"), 0.0]], "float32", [2, 2])
            T.evaluate(0)
            """,
        )

    def test_decl_buffer(self):
        c = pointer("C")
        flat, square = decl_buffer((4,), data=c, name="C"), decl_buffer((2, 2), data=c, name="C")
        views = seq(DeclBuffer(square, square.vstore((0, 0), 1.0)), DeclBuffer(flat, use(0)))
        check(
            Allocate(c, F32, (const(4),), const(True), views),
            """
            C = T.allocate([4], "float32", "global")
            with T.decl_buffer((2, 2), data=C) as C_1:
                C_1[0, 0] = T.float32(1.0)
            C_1 = T.decl_buffer((4,), data=C)
            T.evaluate(0)
            """,
        )

    def test_decl_buffer_over_memory_that_nothing_defines(self):
        view = decl_buffer((4,), data=pointer("p", "shared"), name="view")
        check(
            DeclBuffer(view, use(0)),
            """
            p = T.handle("float32", "shared")
            view = T.decl_buffer((4,), data=p, scope="shared")
            T.evaluate(0)
            """,
        )

    def test_assert_and_attr(self):
        i = var("i")
        inner = AssertStmt(i < 4, StringImm("too large"), AttrStmt("x", "key", const(1), use(i)))
        check(
            loop(i, 8, seq(inner, use(0))),
            """
            for i in range(8):
                with T.Assert(i < 4, "too large"):
                    T.attr("x", "key", 1)
                    T.evaluate(i)
                T.evaluate(0)
            """,
        )
        check(
            loop(i, 8, AssertStmt(i < 4, StringImm("too large"), use(i))),
            'for i in range(8):\n    assert i < 4, "too large"\n    T.evaluate(i)',
        )

    def test_launch_thread(self):
        tx = var("tx")
        thread = IterVar(Range.from_extent(32), tx, IterType.THREAD_INDEX, "threadIdx.x")
        stmt = AttrStmt(thread, "thread_extent", const(32), use(tx))
        check(stmt, 'tx = T.launch_thread("threadIdx.x", 32)\nT.evaluate(tx)')
        check(
            seq(stmt, use(0)),
            """
            with T.launch_thread("threadIdx.x", 32) as tx:
                T.evaluate(tx)
            T.evaluate(0)
            """,
        )

    def test_realize_and_prefetch(self):
        A = decl_buffer((8,), name="A")
        box = (Range.from_extent(8),)
        stmt = BufferRealize(A, box, const(True), seq(Prefetch(A, box), A.vstore(0, 1.0)))
        check(
            stmt,
            """
            A = T.Buffer((8,))
            T.realize(A[0:8], "global")
            T.prefetch(A, [T.Range(0, 8)])
            A[0] = T.float32(1.0)
            """,
        )


class TestBranches:
    def test_if_else(self):
        i = var("i")
        stmt = loop(i, 8, IfThenElse(i < 2, use(1), IfThenElse(i < 4, use(2), use(3))))
        check(
            stmt,
            """
            for i in range(8):
                if i < 2:
                    T.evaluate(1)
                elif i < 4:
                    T.evaluate(2)
                else:
                    T.evaluate(3)
            """,
        )

    def test_an_else_that_needs_a_declaration_first(self):
        A = decl_buffer((8,), name="A")
        flat = decl_buffer((8,), name="flat", data=A.data)
        inner = IfThenElse(flat[0] < 1, flat.vstore(0, 1.0))
        check(
            IfThenElse(A[0] < 1, use(0), inner),
            """
            if A[0] < T.float32(1.0):
                T.evaluate(0)
            else:
                flat = T.Buffer((8,), data=A.data)
                if flat[0] < T.float32(1.0):
                    flat[0] = T.float32(1.0)
            """,
            A,
        )

    def test_an_else_whose_condition_needs_a_variable(self):
        x, y = var("x"), var("y")
        condition = tir.Let(y, const(1), y + 1) < 3
        check(
            IfThenElse(x < 1, use(0), IfThenElse(condition, use(1))),
            """
            x = T.int32()
            if x < 1:
                T.evaluate(0)
            else:
                y = T.int32()
                if T.Let(y + 1, where={y: 1}) < 3:
                    T.evaluate(1)
            """,
        )


class TestStores:
    def test_vectors_and_predicates(self):
        A = decl_buffer((64,), name="A")
        i = var("i")
        mask = tir.Broadcast(const(True), 4)
        stmts = [
            A.vstore(i * 4, tir.Broadcast(const(1.0), 4)),
            A.vstore((Ramp(i, const(3), 4),), tir.Broadcast(const(1.0), 4)),
            A.vstore((Ramp(i, const(1), 4),), tir.Broadcast(const(1.0), 4), predicate=mask),
        ]
        check(
            loop(i, 2, seq(*stmts)),
            """
            for i in range(2):
                A[i * 4:i * 4 + 4] = T.Broadcast(T.float32(1.0), 4)
                A[T.Ramp(i, 3, 4)] = T.Broadcast(T.float32(1.0), 4)
                A.vstore([T.Ramp(i, 1, 4)], T.Broadcast(T.float32(1.0), 4), \
predicate=T.Broadcast(T.bool(True), 4))
            """,
            A,
        )

    def test_a_call_stands_alone(self):
        stmt = Evaluate(tir.Call(I32, Op.get("tir.clz"), (const(3),)))
        check(stmt, "T.clz(3)")


class TestBlocks:
    def block(self, iters, values, body, name="B", predicate=True, **fields):
        block = Block(tuple(iters), (), (), name, body, **fields)
        return BlockRealize(tuple(values), const(predicate), block)

    def iter_var(self, name, extent, kind=IterType.DATA_PAR, low=0, dtype=I32):
        dom = Range.from_min_extent(IntImm(dtype, low), IntImm(dtype, extent))
        return IterVar(dom, var(name, dtype), kind)

    def test_bindings_to_whole_loops_are_remapped(self):
        i, j, k = var("i"), var("j"), var("k")
        iters = [
            self.iter_var("vi", 4),
            self.iter_var("vj", 8),
            self.iter_var("vk", 16, IterType.COMM_REDUCE),
        ]
        stmt = loop(i, 4, loop(j, 8, loop(k, 16, self.block(iters, (i, j, k), use(0)))))
        assert 'vi, vj, vk = T.axis.remap("SSR", [i, j, k])' in body_text(stmt)

    def test_other_bindings_are_written_one_by_one(self):
        i, j = var("i"), var("j")
        iters = [
            self.iter_var("a", 4),
            self.iter_var("b", 8, low=0),
            self.iter_var("c", 8, IterType.ORDERED),
            self.iter_var("d", 6, IterType.OPAQUE, low=2),
            self.iter_var("e", 4, IterType.COMM_REDUCE),
        ]
        stmt = loop(i, 4, loop(j, 8, self.block(iters, (i, i * 2, j, const(3), i), use(0))))
        check(
            stmt,
            """
            for i, j in T.grid(4, 8):
                with T.block("B"):
                    a = T.axis.spatial(4, i)
                    b = T.axis.spatial(8, i * 2)
                    c = T.axis.scan(8, j)
                    d = T.axis.opaque((2, 8), 3)
                    e = T.axis.reduce(4, i)
                    T.reads()
                    T.writes()
                    T.evaluate(0)
            """,
        )

    def test_everything_in_a_block(self):
        i = var("i")
        A, C = decl_buffer((8, 8), name="A"), decl_buffer((8,), name="C")
        local = decl_buffer((8,), "float16", name="tmp", scope="local")
        stride, offset = var("s"), var("o")
        view = decl_buffer((4,), name="view", strides=(stride,), elem_offset=offset)
        vi = self.iter_var("vi", 8)
        v = vi.var
        block = Block(
            (vi,),
            (A[v, 0:8],),
            (C[v : v + 1],),
            "everything",
            C.vstore(v, view[0]),
            C.vstore(v, 0.0),
            (local,),
            (MatchBufferRegion(view, A[v, 0:4]),),
            attributes({"hint": "x"}),
        )
        check(
            loop(i, 8, BlockRealize((i,), i < 7, block)),
            """
            for i in range(8):
                with T.block("everything"):
                    vi = T.axis.spatial(8, i)
                    T.where(i < 7)
                    T.reads(A[vi, 0:8])
                    T.writes(C[vi])
                    T.block_attr({"hint": "x"})
                    tmp = T.alloc_buffer((8,), "float16", scope="local")
                    s = T.int32()
                    o = T.int32()
                    view = T.match_buffer(A[vi, 0:4], (4,), strides=(s,), elem_offset=o)
                    with T.init():
                        C[vi] = T.float32(0.0)
                    C[vi] = view[0]
            """,
            A,
            C,
        )

    def test_iterators_of_another_dtype(self):
        i = var("i", I64)
        it = self.iter_var("vi", 8, dtype=I64)
        stmt = loop(i, IntImm(I64, 8), self.block([it], (i,), use(it.var)))
        assert "vi = T.axis.spatial(T.int64(8), i)" in body_text(stmt)

    def test_a_block_alone(self):
        block = self.block([self.iter_var("v", 4)], (const(0),), use(0)).block
        assert repr(block) == (
            'with T.block("B", no_realize=True):\n'
            "    v = T.axis.spatial(4)\n"
            "    T.reads()\n"
            "    T.writes()\n"
            "    T.evaluate(0)"
        )


def test_size_variables():
    n = SizeVar("n", I32)
    check(use(n), "n = T.int32(is_size_var=True)\nT.evaluate(n)")


def test_a_statement_alone_comes_after_what_it_uses():
    A = decl_buffer((8, 8), name="A")
    i, j, k = var("i"), var("j"), var("k")
    stmt = loop(i, 8, loop(j, 8, BufferStore(A, const(0.0), (i, j + k))))
    assert repr(stmt) == (
        "k = T.int32()\n"
        "A = T.Buffer((8, 8))\n"
        "for i, j in T.grid(8, 8):\n"
        "    A[i, j + k] = T.float32(0.0)"
    )
