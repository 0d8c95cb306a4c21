"""Text of functions and modules, and what is declared where."""

from textwrap import dedent

from tilewright.ir import DType, IRModule, PointerType, PrimType, SizeVar, Var, const
from tilewright.ir.convert import attributes
from tilewright.tir import (
    Allocate,
    Block,
    BlockRealize,
    Call,
    Evaluate,
    For,
    ForKind,
    GlobalVar,
    IterType,
    IterVar,
    PrimFunc,
    Range,
    decl_buffer,
    seq,
)

I32, I64, F32, HANDLE = DType("int32"), DType("int64"), DType("float32"), DType("handle")


def function(body, *params, symbol="main", ret_type=None, **attrs):
    """A function of buffers and variables, named `symbol`."""
    variables = [p if isinstance(p, Var) else Var(f"{p.name}_handle", HANDLE) for p in params]
    pairs = zip(variables, params, strict=True)
    buffer_map = {v: p for v, p in pairs if not isinstance(p, Var)}
    if symbol is not None:
        attrs["global_symbol"] = symbol
    return PrimFunc(tuple(variables), body, ret_type, buffer_map, attributes(attrs))


def loop(variable, extent, body):
    return For(variable, const(0), const(extent), ForKind.SERIAL, body)


def lines(text):
    return dedent(text).strip("\n")


def scale():
    """B = 2 A, as a block below a root block that allocates."""
    A, B, C = (decl_buffer((8,), name=n) for n in "ABC")
    i, vi = Var("i", I32), Var("vi", I32)
    iter_var = IterVar(Range.from_extent(8), vi, IterType.DATA_PAR)
    block = Block((iter_var,), (A[vi : vi + 1],), (B[vi : vi + 1],), "B", B.vstore(vi, A[vi] * 2))
    body = loop(i, 8, BlockRealize((i,), const(True), block))
    root = Block((), (), (), "root", body, None, (C,))
    return function(BlockRealize((), const(True), root), A, B)


class TestFunctions:
    def test_a_function_with_blocks(self):
        assert scale().script() == lines(
            """
            # from tilewright.script import tir as T

            @T.prim_func
            def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
                # with T.block("root"):
                C = T.alloc_buffer((8,))
                for i in range(8):
                    with T.block("B"):
                        vi = T.axis.spatial(8, i)
                        T.reads(A[vi])
                        T.writes(B[vi])
                        B[vi] = A[vi] * T.float32(2.0)
            """
        )

    def test_attributes_and_names(self):
        nop = Evaluate(const(0))
        text = function(nop, symbol="f", b=True, a="x", c=[1, 2.5, None, {"k": "v"}]).script()
        assert "def f():" in text
        assert (
            'T.func_attr({"a": "x", "b": T.bool(True), "c": [1, T.float32(2.5), None, {"k": "v"}]})'
        ) in text
        private = function(nop, symbol=None).script()
        assert "@T.prim_func(private=True)\ndef main():" in private
        assert "T.func_attr" not in private

    def test_scalars_pointers_and_the_return_type(self):
        n, m = Var("n", I64), SizeVar("m", I32)
        p = Var("p", HANDLE, PointerType(PrimType(F32), "shared"))
        text = function(Evaluate(n), n, m, p, ret_type=PrimType(I32)).script()
        assert (
            "def main(n: T.int64, m: T.int32(is_size_var=True), "
            'p: T.handle("float32", "shared")) -> T.int32:'
        ) in text

    def test_symbolic_sizes_are_declared_before_the_buffer_that_needs_them(self):
        m, n = Var("m", I64), Var("n", I64)
        one = const(1, "int64")
        X = decl_buffer((one, m), name="X")
        W = decl_buffer((n, m + 1), "float16", name="W", strides=(m, one), data_alignment=64)
        f = function(Evaluate(m), X, W)
        assert f.script() == lines(
            """
            # from tilewright.script import tir as T

            @T.prim_func
            def main(X_handle: T.handle, W_handle: T.handle):
                m = T.int64()
                X = T.match_buffer(X_handle, (T.int64(1), m))
                n = T.int64()
                W = T.match_buffer(W_handle, (n, m + T.int64(1)), "float16", \
strides=(m, T.int64(1)), align=64)
                T.evaluate(m)
            """
        )

    def test_a_handle_that_is_used_is_a_parameter_of_its_own(self):
        A = decl_buffer((8,), name="A")
        a = Var("a", HANDLE)
        f = PrimFunc((a,), Evaluate(Call(I32, GlobalVar("g"), (a,))), None, {a: A})
        assert "def main(a: T.handle):\n    A = T.match_buffer(a, (8,))" in f.script()

    def test_a_typed_handle_is_a_parameter_of_its_own(self):
        A = decl_buffer((8,), name="A")
        a = Var("a", HANDLE, PointerType(PrimType(F32), "global"))
        f = PrimFunc((a,), Evaluate(const(0)), None, {a: A})
        assert 'def main(a: T.handle("float32")):\n    A = T.match_buffer(a, (8,))' in f.script()

    def test_free_variables_are_declared_first(self):
        x = Var("x", DType("float16"))
        text = function(Evaluate(x)).script()
        assert text.endswith("def main():\n    x = T.float16()\n    T.evaluate(x)")

    def test_a_root_block_with_more_to_it_is_written(self):
        f = scale()
        root = f.body.block.replace(annotations=attributes({"a": 1}))
        text = f.with_body(f.body.replace(block=root)).script()
        assert '    with T.block("root"):\n        T.reads()\n        T.writes()\n' in text
        assert 'T.block_attr({"a": 1})' in text

    def test_a_root_block_without_blocks_is_written(self):
        root = Block((), (), (), "root", Evaluate(const(0)))
        assert 'with T.block("root"):' in function(BlockRealize((), const(True), root)).script()


class TestUndeclaredBuffers:
    def flat(self, buffer, name="flat"):
        return decl_buffer((64,), name=name, data=buffer.data)

    def body(self, f):
        return dedent("\n".join(f.script().split("\n")[4:]))

    def test_they_are_declared_in_the_innermost_common_scope(self):
        A, B = decl_buffer((8, 8), name="A"), decl_buffer((8, 8), name="B")
        a, b = self.flat(A, "A"), self.flat(B, "B")
        i, j, k = (Var(n, I32) for n in "ijk")
        inner = loop(j, 8, b.vstore(i * 8 + j, a[j]))
        body = loop(i, 8, seq(b.vstore(i, 0.0), inner))
        assert self.body(function(seq(body, loop(k, 2, Evaluate(k))), A, B)) == lines(
            """
            for i in range(8):
                B_1 = T.Buffer((64,), data=B.data)
                B_1[i] = T.float32(0.0)
                for j in range(8):
                    A_1 = T.Buffer((64,), data=A.data)
                    B_1[i * 8 + j] = A_1[j]
            for k in range(2):
                T.evaluate(k)
            """
        )

    def test_uses_in_two_statements_before_the_first(self):
        A = decl_buffer((8, 8), name="A")
        a = self.flat(A)
        i, j = Var("i", I32), Var("j", I32)
        body = seq(Evaluate(const(0)), loop(i, 8, a.vstore(i, 0.0)), loop(j, 8, a.vstore(j, 1.0)))
        assert self.body(function(body, A)) == lines(
            """
            T.evaluate(0)
            flat = T.Buffer((64,), data=A.data)
            for i in range(8):
                flat[i] = T.float32(0.0)
            for j in range(8):
                flat[j] = T.float32(1.0)
            """
        )

    def test_a_declaration_between_two_loops_ends_the_grid(self):
        A = decl_buffer((8, 8), "int32", name="A")
        a = decl_buffer((64,), "int32", name="flat", data=A.data)
        i, j = Var("i", I32), Var("j", I32)
        inner = For(j, const(0), a[i], ForKind.SERIAL, Evaluate(j))
        assert self.body(function(loop(i, 8, inner), A)) == lines(
            """
            for i in range(8):
                flat = T.Buffer((64,), "int32", data=A.data)
                for j in range(flat[i]):
                    T.evaluate(j)
            """
        )

    def test_after_the_allocation_that_they_are_a_view_of(self):
        c = Var("C", HANDLE, PointerType(PrimType(F32), "global"))
        views = [decl_buffer((4,), name="C", data=c), decl_buffer((2, 2), name="C", data=c)]
        body = seq(views[0].vstore(0, 1.0), views[1].vstore((0, 0), views[0][0]))
        stmt = Allocate(c, F32, (const(4),), const(True), body)
        assert self.body(function(stmt)) == lines(
            """
            C = T.allocate([4], "float32", "global")
            C_1 = T.Buffer((4,), data=C)
            C_1[0] = T.float32(1.0)
            C_2 = T.Buffer((2, 2), data=C)
            C_2[0, 0] = C_1[0]
            """
        )

    def test_memory_that_nothing_defines(self):
        A = decl_buffer((4,), name="A")
        B = decl_buffer((2, 2), name="B", data=A.data)
        assert self.body(function(seq(A.vstore(0, 1.0), B.vstore((0, 0), 1.0)))) == lines(
            """
            A = T.Buffer((4,))
            A[0] = T.float32(1.0)
            B = T.Buffer((2, 2), data=A.data)
            B[0, 0] = T.float32(1.0)
            """
        )


class TestModules:
    def test_functions_in_their_order(self):
        nop = Evaluate(const(0))
        module = IRModule({"g": function(nop, symbol="g"), "f": function(nop, symbol="other")})
        assert module.with_attr("level", 2).script() == lines(
            """
            # from tilewright.script import ir as I
            # from tilewright.script import tir as T

            @I.ir_module
            class Module:
                I.module_attrs({"level": 2})

                @T.prim_func
                def g():
                    T.evaluate(0)

                @T.prim_func
                def f():
                    T.func_attr({"global_symbol": "other"})
                    T.evaluate(0)
            """
        )

    def test_an_empty_module(self):
        assert IRModule().script().endswith("class Module:\n    pass")

    def test_a_private_function_and_a_call_of_it(self):
        call = Evaluate(Call(DType("void"), GlobalVar("helper"), (const(1),)))
        nop = function(Evaluate(const(0)), Var("n", I32), symbol=None)
        text = IRModule({"main": function(call), "helper": nop}).script()
        assert "        cls.helper(1)" in text
        assert "@T.prim_func(private=True)\n    def helper(n: T.int32):" in text

    def test_repr_has_the_whole_text(self):
        module = IRModule.from_expr(scale())
        assert repr(module) == module.script()
        assert repr(scale()) == scale().script().split("\n\n", 1)[1]
