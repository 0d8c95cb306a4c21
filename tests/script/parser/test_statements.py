"""Loops, branches, lets, stores and other statements."""

import pytest

from tilewright.error import ScriptError
from tilewright.ir import IntImm, Let, Ramp
from tilewright.script import from_source
from tilewright.tir import (
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Prefetch,
    SeqStmt,
    While,
)
from tilewright.tir.stmt import Allocate, AllocateConst

HEADER = """
@T.prim_func
def f(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64,), "int32"), n: T.int32, h: T.handle):
"""


def parse(body, **extra):
    """The body of a function with a few parameters."""
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return from_source(HEADER + lines, extra).body


@pytest.mark.parametrize(
    ("domain", "kind", "low", "extent"),
    [
        ("range(8)", ForKind.SERIAL, 0, 8),
        ("range(2, 8)", ForKind.SERIAL, 2, 6),
        ("T.serial(8)", ForKind.SERIAL, 0, 8),
        ("T.parallel(8)", ForKind.PARALLEL, 0, 8),
        ("T.vectorized(4, 8)", ForKind.VECTORIZED, 4, 4),
        ("T.unroll(8)", ForKind.UNROLLED, 0, 8),
        ("T.grid(8)", ForKind.SERIAL, 0, 8),
        ('T.thread_binding(8, thread="threadIdx.x")', ForKind.THREAD_BINDING, 0, 8),
    ],
)
def test_loops(domain, kind, low, extent):
    loop = parse(f"for i in {domain}:\n    B[i] = 0")
    assert isinstance(loop, For)
    assert (loop.kind, int(loop.min), int(loop.extent)) == (kind, low, extent)
    assert loop.loop_var.name == "i"
    assert (loop.thread_binding is not None) == (kind == ForKind.THREAD_BINDING)


def test_loop_variables_have_the_dtype_of_the_extent():
    loop = parse("for i in range(0, T.int64(8)):\n    T.evaluate(i)")
    assert loop.loop_var.dtype == loop.min.dtype == loop.extent.dtype == "int64"


def test_grids_nest_and_may_be_starred():
    loop = parse("for i, *rest in T.grid(2, 3, 4):\n    T.evaluate(i + rest[0] + rest[1])")
    assert [int(x.extent) for x in (loop, loop.body, loop.body.body)] == [2, 3, 4]


def test_annotations_of_loops():
    loop = parse('for i in T.serial(8, annotations={"pragma": 16}):\n    B[i] = 0')
    assert int(loop.annotations["pragma"]) == 16


def test_conditions_that_python_knows_choose_a_branch():
    store = parse("if flag:\n    B[0] = 1\nelse:\n    B[0] = 2", flag=False)
    assert isinstance(store, BufferStore)
    assert int(store.value) == 2
    branch = parse("if n > 1:\n    B[0] = 1\nelif n > 0:\n    B[0] = 2")
    assert isinstance(branch, IfThenElse)
    assert isinstance(branch.else_case, IfThenElse)
    assert branch.else_case.else_case is None


def test_explicit_branches_and_while():
    branch = parse("with T.If(n > 1):\n    with T.Then():\n        B[0] = 1")
    assert isinstance(branch, IfThenElse)
    loop = parse("while B[0] > 0:\n    B[0] -= 1")
    assert isinstance(loop, While)
    assert isinstance(loop.body, BufferStore)


def test_assertions_hold_for_the_rest_of_the_block():
    check = parse('assert n > 0, "positive"\nB[0] = n')
    assert isinstance(check, AssertStmt)
    assert check.message.value == "positive"
    assert isinstance(check.body, BufferStore)


def test_lets():
    let = parse("x = A[0, 0] * 2.0\ny: T.float32 = x + 1\nA[0, 0] = y")
    assert isinstance(let, LetStmt)
    assert (let.var.name, let.var.dtype) == ("x", "float32")
    assert let.body.var.name == "y"
    assert let.body.body.value is let.body.var
    nested = parse("with T.LetStmt(n + 1) as m:\n    B[0] = m\nB[1] = n")
    assert isinstance(nested, SeqStmt)
    assert isinstance(nested[0], LetStmt)


def test_augmented_assignment():
    store = parse("B[n] += 3")
    assert repr(store.value) == "B[n] + 3"
    let = parse("x = n\nx *= 2\nB[0] = x")
    assert repr(let.body.value) == "x * 2"


def test_meta_variables_bind_nothing():
    store = parse("k = T.meta_var(3)\na, b = T.meta_var((1, 2))\nB[k + a] = b")
    assert isinstance(store, BufferStore)
    assert int(store.indices[0]) == 4


def test_allocations_and_views():
    body = parse(
        """
p = T.allocate([64], "float32", "local", condition=n > 0, annotations={"k": 1})
V = T.Buffer((64,), data=p)
c = T.allocate_const([1, 2, 3], "int32", [3])
D = T.decl_buffer((3,), "int32", data=c)
E = T.decl_buffer((4,), "int32")
V[0] = T.Cast("float32", D[1] + E[0])
"""
    )
    assert isinstance(body, Allocate)
    assert body.buffer_var.type_annotation.storage_scope == "local"
    assert isinstance(body.body, AllocateConst)
    assert body.body.data.tolist() == [1, 2, 3]
    assert isinstance(body.body.body, DeclBuffer)
    assert body.body.body.buffer.name == "D"
    allocation = body.body.body.body
    assert isinstance(allocation, Allocate)
    assert isinstance(allocation.body, DeclBuffer)
    assert allocation.body.buffer.data is allocation.buffer_var


def test_attributes_and_threads():
    attr = parse('T.attr(n, "pragma", 1)\nB[0] = 1')
    assert isinstance(attr, AttrStmt)
    assert attr.attr_key == "pragma"
    launch = parse('with T.launch_thread("threadIdx.x", 4) as t:\n    B[t] = 1')
    assert (launch.attr_key, launch.node.thread_tag) == ("thread_extent", "threadIdx.x")
    assert launch.body.indices[0] is launch.node.var
    shared = parse('t = T.env_thread("blockIdx.x")\nT.launch_thread(t, 4)\nB[t] = 1')
    assert shared.node.var.name == "t"


def test_realize_prefetch_evaluate():
    realize = parse('T.realize(A[0:8, 0:4], "global", n > 0)\nT.prefetch(A, [T.Range(0, 1)] * 2)')
    assert isinstance(realize, BufferRealize)
    assert isinstance(realize.body, Prefetch)
    call = parse('T.call_extern("int32", "tick")')
    assert isinstance(call, Evaluate)
    assert call.value.op.name == "tir.call_extern"


def test_stores_convert_constants_and_widen():
    assert parse("A[0, 0] = 1").value.dtype == "float32"
    assert parse("B[0] = T.int8(3)").value.dtype == "int32"
    widened = parse("B[0] = T.Cast('int8', n)").value
    assert (widened.dtype, widened.value.dtype) == ("int32", "int8")
    broadcast = parse("A[0, 0:4] = 1.0").value
    assert broadcast.dtype == "float32x4"


def test_slices():
    store = parse("A[n, 0:8] = A[n, 8:16] + A[n, 8:24:2]")
    assert isinstance(store.indices[1], Ramp)
    assert isinstance(store.value.a.indices[1], Ramp)
    assert int(store.value.b.indices[1].stride) == 2
    chained = parse("A[n][1] = A[1][n]")
    assert int(chained.indices[1]) == 1
    assert parse("A[n, 0:1] = 2.0").value.dtype == "float32"


def test_only_the_last_index_may_be_a_slice():
    for text in ("A[0:4, n] = 1.0", "A[n, 0] = A[0:4, n]", "A[0, 0:4] = A[0:4, 0:4] + 1.0"):
        with pytest.raises(ScriptError, match="last index"):
            parse(text)


def test_let_expression_and_buffer_store():
    store = parse("x = T.int32()\nT.buffer_store(B, T.Let(x + 1, where={x: n}), [0])")
    assert isinstance(store.value, Let)


def test_statements_made_by_python_functions():
    def helper(buffer, position):
        return buffer.vstore([position], 7)

    store = parse("helper(B, n)", helper=helper)
    assert isinstance(store, BufferStore)
    assert isinstance(store.value, IntImm)


def test_return_values():
    text = "@T.prim_func\ndef f(n: T.int64) -> T.int64:\n    return 3\n"
    value = from_source(text).body.value
    assert value.op.name == "tir.ret"
    assert value.args[0].dtype == "int64"
    with pytest.raises(ScriptError, match="the function returns int64"):
        from_source(text.replace("3", "T.float32(3)"))
