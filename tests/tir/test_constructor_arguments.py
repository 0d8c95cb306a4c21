"""What the constructors of nodes take for variables, ranges, enums and buffers, and refuse."""

import pytest

import tilewright as tvm
from tilewright import tir
from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    DTypeError,
    UnknownNameError,
)

A = tir.decl_buffer((4,), name="A")
NOTHING = tir.Evaluate(0)
I = tir.Var("i", "int32")


def test_an_iterator_of_plain_values():
    axis = tir.IterVar((2, 6), "i", 2)
    assert (axis.var.name, axis.var.dtype, axis.iter_type) == ("i", "int32", tir.IterVar.CommReduce)
    assert (int(axis.dom.min), int(axis.dom.extent)) == (2, 4)
    assert int(tir.IterVar(4, I, 0).dom.extent) == 4


def test_statements_of_plain_values():
    loop = tir.For(I, 0, 4, 1, NOTHING, annotations={"key": 1})
    assert loop.kind is tir.ForKind.PARALLEL
    assert isinstance(loop.annotations["key"], tir.IntImm)
    assert tir.AssertStmt(True, "no", NOTHING).message.value == "no"
    assert int(tir.Prefetch(A, [(1, 4)]).bounds[0].extent) == 3
    assert int(tir.BufferRealize(A, [(1, 4)], True, NOTHING).bounds[0].extent) == 3
    assert int(tir.BufferRegion(A, [(1, 4)]).region[0].extent) == 3


def test_none_is_a_default():
    block = tir.Block([], [], [], "b", NOTHING, None, None, None, None)
    assert (block.alloc_buffers, block.match_buffers, dict(block.annotations)) == ((), (), {})
    func = tir.PrimFunc([I], NOTHING, None, None, None)
    assert (dict(func.buffer_map), dict(func.attrs)) == ({}, {})
    assert "def main(i: T.int32)" in func.script()


def test_buffers_as_parameters():
    func = tir.PrimFunc([A], tir.BufferStore(A, tir.const(1.0), [0]))
    assert func.params[0].name == "A"
    assert func.buffer_map[func.params[0]] is A
    array = tvm.nd.array([0.0] * 4)
    tvm.build(func.with_attr("global_symbol", "f"))(array)
    assert array.numpy().tolist() == [1, 0, 0, 0]


def test_types_of_variables():
    pointer = tvm.ir.PointerType(tvm.ir.PrimType("float32"), "shared")
    assert tir.Var("p", pointer).dtype == "handle"
    assert tir.Var("p", pointer).type_annotation is pointer
    assert tir.Var("x", tvm.ir.PrimType("int64")).dtype == "int64"


def test_operators_by_name():
    assert tir.Call("float32", "tir.exp", [1.0]).op is tvm.ir.Op.get("tir.exp")
    with pytest.raises(UnknownNameError, match=r"tir\.nope"):
        tir.Call("float32", "tir.nope", [1.0])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tir.IterVar((0, 4), "i", 9), ArgumentValueError, "iter_type is one of 0"),
        (lambda: tir.IterVar((0, 4), 3, 0), ArgumentError, "var is of type Var, got 3"),
        (lambda: tir.IterVar((0, 4, 1), "i", 0), ArgumentError, "a pair"),
        (lambda: tir.IterVar((0, 1.5), "i", 0), DTypeError, "scalar integer"),
        (lambda: tir.For("i", 0, 4, 0, NOTHING), ArgumentError, "loop_var is of type Var"),
        (lambda: tir.For(I, 0, 4, 7, NOTHING), ArgumentValueError, "kind is one of 0"),
        (lambda: tir.For(I, 0, 4, 0, 3), ArgumentError, "body is of type Stmt, got 3"),
        (lambda: tir.Block([], [A], [], "b", NOTHING), ArgumentError, "reads is of type"),
        (lambda: tir.BlockRealize([], True, NOTHING), ArgumentError, "block is of type Block"),
        (lambda: tir.BufferStore("A", 1, [0]), ArgumentError, "buffer is of type Buffer"),
        (lambda: tir.BufferLoad("A", [0]), ArgumentError, "buffer is of type Buffer"),
        (lambda: tir.BufferRegion("A", [(0, 4)]), ArgumentError, "buffer is of type Buffer"),
        (lambda: tir.MatchBufferRegion(A, A), ArgumentError, "source is of type BufferRegion"),
        (lambda: tir.PrimFunc(["a"], NOTHING), ArgumentError, "params are variables or buffers"),
        (lambda: tir.PrimFunc([I], 0), ArgumentError, "body is of type Stmt"),
        (lambda: tir.LetStmt("x", 1, NOTHING), ArgumentError, "var is of type Var"),
        (lambda: tir.decl_buffer((4,), data="x"), ArgumentError, "data is a pointer"),
        (lambda: tir.decl_buffer((4,), elem_offset=1.5), DTypeError, "elem_offset"),
        (lambda: tir.decl_buffer((4,), buffer_type="x"), ArgumentValueError, "buffer_type is"),
    ],
)
def test_other_values_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
