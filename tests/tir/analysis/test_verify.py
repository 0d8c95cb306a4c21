"""Well-formed programs pass; each broken rule is named, with the place."""

import pytest
from hypothesis import given
from tests.counts import count_program
from tests.passes import legalize_for, lower
from tests.property.programs import programs
from tests.tir.transform.programs import (
    TRUE,
    function,
    int_var,
    iterator,
    loop_nest,
    matmul,
    point,
)

from tilewright import script, tir
from tilewright.error import ArgumentError, ScriptError, VerifyError
from tilewright.ir.convert import const
from tilewright.ir.dtype import HANDLE, INT32, DType
from tilewright.tir import (
    Add,
    Allocate,
    And,
    Block,
    BlockRealize,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    GlobalVar,
    IfThenElse,
    IRModule,
    Let,
    LetStmt,
    MatchBufferRegion,
    PointerType,
    PrimFunc,
    PrimType,
    Ramp,
    Select,
    Var,
    decl_buffer,
    seq,
)
from tilewright.tir.analysis import verify_well_formed

ZERO = const(0)
F32 = DType("float32")


def evaluate(expr, *params):
    """A function that evaluates an expression."""
    return PrimFunc(params, Evaluate(expr))


def one_block(body, iterators=(), values=()):
    """A function of one block in a loop over `i`, over the buffer A."""
    A = decl_buffer((8,), "float32", "A")
    i = int_var("i")
    block = Block(tuple(iterators), (), (), "b", body(A, i))
    realize = BlockRealize(tuple(value(i) for value in values), TRUE, block)
    return function((A,), loop_nest([(i, 8)], realize))


@pytest.mark.parametrize("tiles", [None, (2, 2, 4)])
def test_blocks_and_their_lowered_forms(tiles):
    func = matmul(7, 5, 6, tiles)
    assert verify_well_formed(func)
    assert verify_well_formed(lower(func))
    assert verify_well_formed(legalize_for(lower(func)))
    assert verify_well_formed(IRModule({"main": func}))


@given(programs())
def test_random_programs_and_their_lowered_forms(program):
    assert verify_well_formed(program.func)
    assert verify_well_formed(legalize_for(lower(program.func)))
    count_program("verified in block form and codegen form")


def test_a_shared_subtree_may_bind_a_variable_twice_in_sequence():
    i = int_var("i")
    loop = For(i, ZERO, const(2), ForKind.SERIAL, Evaluate(i))
    assert verify_well_formed(PrimFunc((), seq(loop, loop)))


def test_iterators_of_outer_blocks_are_visible_inside():
    A = decl_buffer((8,), "float32", "A")
    outer, inner = iterator("vo", 4), iterator("vi", 2)
    i, j = int_var("i"), int_var("j")
    index = outer.var * 2 + inner.var
    block = Block((inner,), (), (point(A, index),), "in", BufferStore(A, const(0.0), (index,)))
    body = loop_nest([(j, 2)], BlockRealize((j,), TRUE, block))
    tile = tir.BufferRegion(A, (tir.Range.from_min_extent(outer.var * 2, const(2)),))
    realize = BlockRealize((i,), TRUE, Block((outer,), (), (tile,), "out", body))
    assert verify_well_formed(function((A,), loop_nest([(i, 4)], realize)))


def test_match_buffers_and_sizes_of_arguments_define_variables():
    n, m = int_var("n"), int_var("m")
    A = decl_buffer((n, n + m), "float32", "A")
    V = decl_buffer((m,), "float32", "V", strides=(int_var("s"),), elem_offset=int_var("o"))
    region = tir.BufferRegion(
        A, (tir.Range.from_min_extent(ZERO, const(1)), tir.Range.from_min_extent(ZERO, m))
    )
    block = Block(
        (), (region,), (), "b", Evaluate(V[0]), match_buffers=(MatchBufferRegion(V, region),)
    )
    func = function((A,), BlockRealize((), TRUE, block))
    assert verify_well_formed(func.replace(params=(*func.params, m)))


X, Y, WIDE = int_var("x"), Var("y", F32), Var("wide", DType("int64"))
B8 = decl_buffer((8,), "float32", "B")
POINTER = Var("p", HANDLE, PointerType(PrimType(F32)))
LOCAL = decl_buffer((8,), "float32", "L", data=POINTER)
VECTOR = Ramp(ZERO, const(1), 4)


@pytest.mark.parametrize(
    ("func", "rule"),
    [
        (evaluate(X), "variable x is not bound"),
        (evaluate(B8[0]), "buffer B is not declared"),
        (PrimFunc((X, X), Evaluate(X)), "x is bound again"),
        (evaluate(Let(X, ZERO, Let(X, ZERO, X))), "x is bound again"),
        (
            PrimFunc((X,), For(X, ZERO, const(2), ForKind.SERIAL, Evaluate(X))),
            "x is bound again",
        ),
        (
            PrimFunc((), seq(LetStmt(X, ZERO, Evaluate(X)), Evaluate(X))),
            "variable x is not bound",
        ),
        (
            PrimFunc((POINTER,), DeclBuffer(LOCAL, DeclBuffer(LOCAL, Evaluate(ZERO)))),
            "L is declared again",
        ),
        (evaluate(Add(X, Y), X, Y), "operands of Add have different dtypes, int32 and float32"),
        (evaluate(And(X, TRUE), X), "an operand of And has dtype int32, not bool"),
        (evaluate(Select(X, X, X), X), "the condition of a Select of int32 has dtype int32"),
        (evaluate(Select(TRUE, X, WIDE), X, WIDE), "values of Select have different dtypes"),
        (evaluate(Cast(DType("int32x4"), X), X), "changes the number of lanes"),
        (evaluate(Ramp(Y, Y, 4), Y), "base of Ramp has dtype float32"),
        (evaluate(tir.Broadcast(VECTOR, 2)), "value of Broadcast has dtype int32x4"),
        (evaluate(tir.Shuffle((VECTOR,), (const(4),))), "4 is not a lane among the 4"),
        (evaluate(Let(X, const(1.0), X)), "x and its value have different dtypes"),
        (evaluate(Call(F32, tir.Op.get("tir.exp"), ())), "tir.exp takes 1 arguments, got 0"),
        (PrimFunc((X,), IfThenElse(X, Evaluate(X))), "condition has dtype int32, not bool"),
        (
            PrimFunc((X,), For(WIDE, ZERO, X, ForKind.SERIAL, Evaluate(X))),
            "loop variable wide is int64, its minimum is int32",
        ),
        (
            PrimFunc((), Allocate(POINTER, F32, (const(1.0),), TRUE, Evaluate(ZERO))),
            "extent .* of p has dtype float32",
        ),
        (one_block(lambda A, i: BufferStore(A, A[i], (i,))), "block b mentions i"),
        (
            one_block(lambda A, i: BufferStore(A, ZERO, (ZERO,))),
            "a value of dtype int32 is stored where float32 belongs",
        ),
        (
            one_block(lambda A, i: BufferStore(A, const(0.0), (ZERO, ZERO))),
            "A has 1 dimensions, got 2 indices",
        ),
        (one_block(lambda A, i: Evaluate(BufferLoad(A, (const(1.0),)))), "index .* of A"),
        (
            one_block(lambda A, i: Evaluate(BufferLoad(A, (VECTOR,), ZERO))),
            "predicate of 4 lanes of A has dtype int32",
        ),
        (
            one_block(lambda A, i: Evaluate(ZERO), (iterator("v", 8),)),
            "block b has 1 iterators, and 0 values are bound",
        ),
        (
            one_block(lambda A, i: Evaluate(ZERO), (iterator("v", 8),), (lambda i: const(1.5),)),
            "iterator v is int32, bound to a value of dtype float32",
        ),
        (function((), Evaluate(tir.address_of(B8))), "buffer B is not declared"),
    ],
)
def test_broken_rules(func, rule):
    with pytest.raises(VerifyError, match=rule) as caught:
        verify_well_formed(func)
    assert "is malformed at <root>" in str(caught.value)
    assert "def " in str(caught.value)  # the script
    assert not verify_well_formed(func, assert_mode=False)


def test_the_place_is_underlined():
    A = decl_buffer((8,), "float32", "A")
    func = function((A,), BufferStore(A, Add(A[0], const(1.0, "float64")), (ZERO,)))
    with pytest.raises(VerifyError) as caught:
        verify_well_formed(func)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith(": the operands of Add have different dtypes, float32 and float64")
    (marked,) = [number for number, line in enumerate(lines) if "^" in line]
    assert "A[0]" in lines[marked - 1]


def test_lets_inside_of_a_loop_hide_from_blocks():
    A = decl_buffer((8,), "float32", "A")
    t, n, i = int_var("t"), int_var("n"), int_var("i")
    store = BufferStore(A, const(0.0), (t,))
    realize = BlockRealize((), TRUE, Block((), (), (point(A, t),), "b", store))
    inside = loop_nest([(i, 8)], LetStmt(t, i, realize))
    with pytest.raises(VerifyError, match="block b mentions t"):
        verify_well_formed(function((A,), inside))
    outside = function((A,), LetStmt(t, n, loop_nest([(i, 8)], realize)))
    assert verify_well_formed(outside.replace(params=(*outside.params, n)))


def test_calls_within_a_module():
    def module(*args, name="callee"):
        call = Evaluate(Call(INT32, GlobalVar(name), args))
        return IRModule({"main": PrimFunc((), call), "callee": evaluate(X, X)})

    assert verify_well_formed(module(ZERO))
    with pytest.raises(VerifyError, match="callee takes 1 arguments, got 0"):
        verify_well_formed(module())
    with pytest.raises(VerifyError, match="no function other"):
        verify_well_formed(module(ZERO, name="other"))


def test_other_objects_are_refused():
    with pytest.raises(ArgumentError, match="expected a PrimFunc"):
        verify_well_formed(3)


def test_the_parser_shows_the_line_of_a_broken_rule():
    text = """
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    for i in range(4):
        k: T.int32 = i
        with T.block("b"):
            A[k] = T.float32(1)
"""
    with pytest.raises(ScriptError, match="block b mentions k") as caught:
        script.from_source(text)
    assert caught.value.lineno == 7
    assert script.from_source(text, check_well_formed=False) is not None
