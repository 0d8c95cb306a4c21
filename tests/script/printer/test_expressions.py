"""Text of expressions."""

import pytest

from tilewright import tir
from tilewright.ir import (
    EQ,
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Div,
    DType,
    FloatImm,
    FloorDiv,
    GlobalVar,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Op,
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
)
from tilewright.script.printer import script
from tilewright.tir import CommReducer, IterType, IterVar, Range, Reduce, decl_buffer

I32, I64, F32 = DType("int32"), DType("int64"), DType("float32")
i, j, n = Var("i", I32), Var("j", I32), Var("n", I64)
f, p, q = Var("f", F32), Var("p", DType("bool")), Var("q", DType("bool"))
A = decl_buffer((16, 16), name="A")
one, two = const(1), const(2)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (i * 16 + j, "i * 16 + j"),
        ((i + j) * 16, "(i + j) * 16"),
        (i - (j - 1), "i - (j - 1)"),
        (i - j - 1, "i - j - 1"),
        (i + (j + 1), "i + (j + 1)"),
        (i // 4 * 4 + i % 4, "i // 4 * 4 + i % 4"),
        (i // (j * 4), "i // (j * 4)"),
        (i * -1, "i * -1"),
        (-1 - i, "-1 - i"),
        (f / 2, "f / T.float32(2.0)"),
        (tir.truncdiv(i, j), "T.Div(i, j)"),
        (tir.truncmod(i, j), "T.truncmod(i, j)"),
        (tir.min(i, j), "T.min(i, j)"),
        (tir.max(i, 0), "T.max(i, 0)"),
        (i < j, "i < j"),
        (EQ(i < j, p), "(i < j) == p"),
        (tir.logical_and(i < j, p), "i < j and p"),
        (And(And(p, q), p), "p and q and p"),
        (And(p, And(q, p)), "p and (q and p)"),
        (Or(And(p, q), p), "p and q or p"),
        (And(Or(p, q), p), "(p or q) and p"),
        (Not(And(p, q)), "not (p and q)"),
        (Not(Not(p)), "not not p"),
        (And(Not(p), q), "not p and q"),
        (Not(i < j), "not i < j"),
        (EQ(Not(p), q), "(not p) == q"),
    ],
)
def test_operators_with_the_least_parentheses(expr, text):
    assert repr(expr) == text


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Add(one, two), "T.Add(1, 2)"),
        (Add(i, const(0)), "T.Add(i, 0)"),
        (Mul(one, i), "T.Mul(1, i)"),
        (Sub(i, const(0)), "T.Sub(i, 0)"),
        (Add(n, one), "T.Add(n, 1)"),
        (FloorDiv(i, const(0)), "T.FloorDiv(i, 0)"),
        (Div(i, one), "T.Div(i, 1)"),
        (Mod(const(5), two), "T.Mod(5, 2)"),
        (Min(i, i), "T.Min(i, i)"),
        (Max(one, two), "T.Max(1, 2)"),
        (EQ(one, two), "T.EQ(1, 2)"),
        (And(const(True), p), "T.And(T.bool(True), p)"),
        (Not(const(True)), "T.Not(T.bool(True))"),
        (Add(Add(one, two), i), "T.Add(1, 2) + i"),
    ],
)
def test_what_would_fold_or_change_is_written_as_a_node(expr, text):
    assert repr(expr) == text


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (const(5), "5"),
        (const(-5), "-5"),
        (const(5, "int64"), "T.int64(5)"),
        (const(5, "uint8"), "T.uint8(5)"),
        (const(True), "T.bool(True)"),
        (const(0.0), "T.float32(0.0)"),
        (const(-0.0), "T.float32(-0.0)"),
        (const(0.1), "T.float32(0.1)"),
        (const(1 / 3), "T.float32(0.33333334)"),
        (const(1 / 3, "float64"), "T.float64(0.3333333333333333)"),
        (const(1 / 3, "float16"), "T.float16(0.3333)"),
        (const(16777216.0), "T.float32(16777216.0)"),
        (const(1e30), "T.float32(1e+30)"),
        (const(float("inf")), 'T.float32("inf")'),
        (const(float("-inf")), 'T.float32("-inf")'),
        (FloatImm(F32, float("nan")), 'T.float32("nan")'),
        (StringImm('a "b"\n'), '"a \\"b\\"\\n"'),
        (StringImm("字 \\ \x02"), '"字 \\\\ \\u0002"'),
        (PrimType(F32), "T.float32"),
        (PointerType(PrimType(F32), "shared"), 'T.handle("float32", "shared")'),
        (PointerType(PrimType(F32)), 'T.handle("float32")'),
        (GlobalVar("f"), "cls.f"),
    ],
)
def test_constants_and_types(expr, text):
    assert repr(expr) == text


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Cast(F32, i), 'T.Cast("float32", i)'),
        (Select(p, i, j), "T.Select(p, i, j)"),
        (Ramp(i, one, 8), "T.Ramp(i, 1, 8)"),
        (Broadcast(const(0.0), 4), "T.Broadcast(T.float32(0.0), 4)"),
        (Shuffle((f, f), (one, const(0))), "T.Shuffle([f, f], [1, 0])"),
        (tir.exp(f + 1), "T.exp(f + T.float32(1.0))"),
        (i << 2, "T.shift_left(i, 2)"),
        (tir.call_extern("int32", "f", i), 'T.call_extern("int32", "f", i)'),
        (tir.call_packed("g", i), 'T.call_packed("g", i)'),
        (tir.reinterpret("float32", i), 'T.reinterpret("float32", i)'),
        (tir.if_then_else(p, i, 2), "T.if_then_else(p, i, 2)"),
        (tir.ret(i), "T.ret(i)"),
        (Call(I32, Op.get("tir.exp"), (i,)), 'T.call_intrin("int32", "tir.exp", i)'),
        (Call(F32, Op.get("tir.pow"), (f,)), 'T.call_intrin("float32", "tir.pow", f)'),
        (Call(DType("void"), GlobalVar("g"), (i, j)), "cls.g(i, j)"),
        (Let(j, i + 1, j * j), "T.Let(j * j, where={j: i + 1})"),
    ],
)
def test_calls_and_constructors(expr, text):
    assert repr(expr) == text


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (A[i, j], "A[i, j]"),
        (A[0:4, i], "A[0:4, i]"),
        (A[i, j * 4 : j * 4 + 4], "A[i, j * 4:j * 4 + 4]"),
        (A.vload((i, j), "float32x4"), "A[i, j:j + 4]"),
        (A.vload((i, 4), "float32x4"), "A[i, 4:8]"),
        (A.vload((i, Ramp(j, two, 4))), "A[i, T.Ramp(j, 2, 4)]"),
        (A.vload((i, j), predicate=p), "A.vload([i, j], predicate=p)"),
        (decl_buffer((), name="s")[()], "s[()]"),
        (Range.from_min_extent(i, const(4)), "T.Range(i, i + 4)"),
        (A, "A"),
    ],
)
def test_accesses_and_regions(expr, text):
    assert repr(expr) == text


def test_a_point_of_another_dtype_is_no_plain_index():
    assert (
        repr(tir.BufferRegion(A, (Range.from_min_extent(i, one), Range.from_min_extent(n, one))))
        == "A[i, n:n + T.int64(1)]"
    )


def test_reductions_of_tensor_expressions():
    x, y = Var("x", F32), Var("y", F32)
    k = IterVar(Range.from_extent(8), Var("k", I32), IterType.COMM_REDUCE)
    reducer = CommReducer((x,), (y,), (x + y,), (const(0.0),))
    text = repr(Reduce(reducer, (A[i, k.var],), (k,), const(True)))
    assert text == (
        "T.Reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), [A[i, k]], "
        '[T.iter_var(k, T.Range(0, 8), "CommReduce", "")], T.bool(True), 0, [])'
    )


def test_different_variables_of_one_name_are_told_apart():
    assert repr(Add(Var("i", I32), Add(Var("i", I32), i))) == "i + (i_1 + i_2)"


def test_names_that_are_no_identifiers():
    assert repr(Var("a.b", I32) + Var("for", I32) + Var("T", I32)) == "a_b + for_1 + T_1"


def test_verbose_expressions():
    assert script(i * 16 + j, verbose_expr=True) == "T.Add(T.Mul(i, 16), j)"


def test_a_malformed_node_still_has_a_text():
    assert "IntImm" in repr(IntImm("int32", "no number"))
