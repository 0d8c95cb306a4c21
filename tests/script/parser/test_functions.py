"""Functions: parameters, attributes, names of the surrounding code, the implicit root block."""

import pytest

from tilewright.error import ScriptError
from tilewright.ir import IntImm, PointerType, PrimType
from tilewright.script import from_source
from tilewright.script import tir as T
from tilewright.tir import Block, BlockRealize, BufferStore, For, LetStmt, PrimFunc
from tilewright.tir.stmt import Allocate


def test_buffer_parameters_are_handles_with_buffers():
    @T.prim_func
    def copy(A: T.Buffer((4, 8), "float16"), B: T.Buffer((4, 8), "float16")):
        for i, j in T.grid(4, 8):
            B[i, j] = A[i, j]

    assert isinstance(copy, PrimFunc)
    a = copy.buffer_map[copy.params[0]]
    assert (a.name, a.dtype, [int(e) for e in a.shape]) == ("A", "float16", [4, 8])
    assert [p.dtype for p in copy.params] == ["handle", "handle"]
    assert copy.global_symbol == "copy"
    assert isinstance(copy.body, For)
    assert copy.body.loop_var.name == "i"
    assert copy.body.body.loop_var.name == "j"


def test_deprecated_subscript_form_of_buffers_warns():
    with pytest.warns(DeprecationWarning, match="T.Buffer"):

        @T.prim_func
        def zero(A: T.Buffer[(4,), "int8"]):  # noqa: F821
            for i in range(4):
                A[i] = 0

    assert zero.buffer_map[zero.params[0]].dtype == "int8"


def test_private_functions_have_no_symbol():
    @T.prim_func(private=True)
    def nothing():
        T.evaluate(0)

    assert nothing.global_symbol is None


def test_function_attributes_become_constants():
    @T.prim_func
    def f():
        T.func_attr({"global_symbol": "other", "tir.noalias": True})
        T.evaluate(0)

    assert f.global_symbol == "other"
    noalias = f.attrs["tir.noalias"]
    assert isinstance(noalias, IntImm)
    assert noalias.dtype == "bool"


def test_scalar_pointer_and_return_types():
    @T.prim_func
    def f(n: T.int64, p: T.handle("float32", "shared"), x: T.float32) -> T.int32:
        T.ret(T.Cast("int32", n))

    assert [p.dtype for p in f.params] == ["int64", "handle", "float32"]
    assert f.params[1].type_annotation.storage_scope == "shared"
    assert isinstance(f.params[1].type_annotation, PointerType)
    assert isinstance(f.ret_type, PrimType)
    assert f.ret_type.dtype == "int32"


def test_symbolic_shapes_and_shadowing():
    @T.prim_func
    def linear(x: T.handle, w: T.handle, z: T.handle):
        m, n, k = T.int64(), T.int64(), T.int64()
        X = T.match_buffer(x, (1, m))
        W = T.match_buffer(w, (n, m))
        Z = T.match_buffer(z, (1, n))
        for i, j, k in T.grid(1, n, m):
            with T.block("Z"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Z[vi, vj] = 0.0
                Z[vi, vj] += X[vi, vk] * W[vj, vk]

    x, w, z = (linear.buffer_map[p] for p in linear.params)
    assert x.shape[1] is w.shape[1]
    assert w.shape[0] is z.shape[1]
    assert x.shape[1].name == "m"
    loops = linear.body.block.body
    assert [loops.loop_var.dtype, loops.body.loop_var.dtype] == ["int32", "int64"]
    assert loops.body.body.extent is x.shape[1]
    assert loops.body.body.loop_var.name == "k"


def make_scaled(factor, size):
    @T.prim_func
    def scaled(A: T.Buffer((size,), "float32")):
        for i in range(size):
            A[i] = A[i] * factor

    return scaled


def test_closures_see_nonlocal_values():
    for factor, size in ((2.0, 4), (3.0, 8)):
        body = make_scaled(factor, size).body
        assert int(body.extent) == size
        assert body.body.value.b.value == factor


def test_root_block_is_added_where_there_are_blocks_or_allocations():
    @T.prim_func
    def with_block(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("A"):
                vi = T.axis.spatial(4, i)
                A[vi] = 1.0

    @T.prim_func
    def without(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = 1.0

    @T.prim_func
    def with_allocation(A: T.Buffer((4,), "float32")):
        B = T.alloc_buffer((4,), "float32", scope="local")
        for i in range(4):
            B[i] = A[i]

    root = with_block.body
    assert isinstance(root, BlockRealize)
    assert root.block.name_hint == "root"
    assert root.block.reads == root.block.writes == ()
    assert isinstance(without.body, For)
    assert [b.name for b in with_allocation.body.block.alloc_buffers] == ["B"]
    assert with_allocation.body.block.alloc_buffers[0].scope() == "local"


def test_lets_and_allocations_last_to_the_end_of_their_block():
    @T.prim_func
    def f(A: T.Buffer((16,), "float32")):
        p = T.allocate([16], "float32", "local")
        B = T.Buffer((16,), data=p)
        for i in range(4):
            index: T.int32 = i * 4
            B[index] = A[index]
        A[0] = B[0]

    assert isinstance(f.body, Allocate)
    assert f.body.buffer_var.name == "p"
    loop, store = f.body.body.seq
    assert isinstance(loop.body, LetStmt)
    assert loop.body.var.name == "index"
    assert isinstance(loop.body.body, BufferStore)
    assert loop.body.body.buffer.data is f.body.buffer_var
    assert isinstance(store, BufferStore)


def test_text_may_bring_constants_and_imports():
    f = from_source(
        """
        from tilewright.script import tir as TT

        N = 8

        @TT.prim_func
        def f(A: TT.Buffer((N, M), "float32")):
            A[N - 1, M - 1] = 1.0
        """,
        extra_vars={"M": 3},
    )
    assert [int(i) for i in f.body.indices] == [7, 2]


@pytest.mark.parametrize(
    "imports",
    [
        "import tvm",
        "import tilewright as tvm",
        "import tilewright.script.tir as T",
        "from tvm.script import ir as I, tir as T",
        "from __future__ import annotations",
    ],
)
def test_imports_in_texts(imports):
    text = f"{imports}\n@tvm.script.ir_module\nclass M:\n    @T.prim_func\n    def f(): pass\n"
    assert "f" in from_source(text)


def test_other_imports_in_texts_are_refused():
    for line in ("import os", "from math import pi", "from tilewright.script import nothing"):
        with pytest.raises(ScriptError, match=r"extra_vars|tilewright.script has no `nothing`"):
            from_source(f"{line}\n@T.prim_func\ndef f(): pass\n")


def test_blocks_have_spans():
    f = from_source("@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[1] = A[0] + 1.0\n")
    assert (f.body.span.line, f.body.span.column, f.body.span.end_column) == (3, 4, 21)
    load = f.body.value.a
    assert (load.span.column, load.span.end_column) == (11, 15)
    assert (f.span.line, f.span.end_line) == (2, 3)


def test_source_that_is_not_available():
    namespace = {"T": T}
    with pytest.raises(Exception, match="from_source"):
        exec("@T.prim_func\ndef f():\n    T.evaluate(0)\n", namespace)


def test_block_without_iterators_around_blocks_is_the_root():
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        with T.block("whole"):
            for i in range(4):
                with T.block("inner"):
                    vi = T.axis.spatial(4, i)
                    A[vi] = A[vi] + 1.0

    assert isinstance(f.body.block, Block)
    assert f.body.block.name_hint == "whole"
    assert f.body.block.reads == f.body.block.writes == ()


def test_block_without_iterators_and_blocks_has_regions():
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        with T.block("whole"):
            A[0] = A[1]

    assert [repr(r) for r in f.body.block.reads] == ["A[1]"]


def test_one_annotation_for_several_parameters():
    vector = T.Buffer((4,), "float32")

    @T.prim_func
    def f(A: vector, B: vector):
        A[0] = B[0]

    @T.prim_func
    def g(C: vector):
        C[0] = 1.0

    buffers = [*f.buffer_map.values(), *g.buffer_map.values()]
    assert [b.name for b in buffers] == ["A", "B", "C"]
    assert len({b.data for b in buffers}) == 3


def test_errors_are_script_errors():
    with pytest.raises(ScriptError, match="undefined name `x`"):
        from_source("@T.prim_func\ndef f():\n    T.evaluate(x)\n")


def test_buffers_are_not_iterable():
    buffer = T.Buffer((4, 4), "float32")
    with pytest.raises(TypeError, match="not iterable"):
        list(buffer)
    with pytest.raises(TypeError):
        1 in buffer  # noqa: B015
