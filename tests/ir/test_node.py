"""The node decorator: what it generates, and what the guard refuses."""

import copy
import pickle
from types import FunctionType

import pytest

from tilewright.error import DTypeError
from tilewright.ir import (
    Add,
    Broadcast,
    Call,
    DType,
    FloatImm,
    IntImm,
    Op,
    Range,
    Select,
    Var,
    const,
    structural_equal,
    walk,
)
from tilewright.ir.node import Node, Role, child, node
from tilewright.ir.rewrite import Rewriter, rewrite
from tilewright.tir import (
    BufferLoad,
    Evaluate,
    For,
    ForKind,
    IterType,
    IterVar,
    PrimFunc,
    SeqStmt,
    decl_buffer,
)

I32 = DType("int32")


def loop(body=None):
    return For(Var("i", I32), const(0), const(8), ForKind.SERIAL, body or Evaluate(const(1)))


def test_roles_of_a_loop():
    roles = {f.name: f.role for f in For.__node_fields__}
    assert roles["loop_var"] is Role.BINDS
    assert roles["extent"] is Role.CHILD
    assert roles["kind"] is Role.ATTR
    assert roles["span"] is Role.META


def test_construction_by_position_by_name_and_with_defaults():
    x = Var(name="x", dtype=I32)
    assert x.type_annotation is None
    assert loop().annotations == {}
    with pytest.raises(TypeError):
        Add(x)


def test_pattern_matching():
    x = Var("x", I32)
    match x + 1:
        case Add(a, IntImm(_, value)):
            assert a is x
            assert value == 1
        case _:
            pytest.fail("Add did not match")


def test_children_in_order_without_missing_ones():
    stmt = loop()
    assert stmt.children() == (stmt.min, stmt.extent, stmt.body)
    assert SeqStmt((stmt, stmt)).children() == (stmt, stmt)


def test_map_children_keeps_what_does_not_change():
    stmt = loop()
    assert stmt.map_children(lambda child: child) is stmt
    new = Evaluate(const(2))
    changed = stmt.map_children(lambda child: new if child is stmt.body else child)
    assert changed.body is new
    assert changed.loop_var is stmt.loop_var
    assert stmt.body is not new


def test_replace():
    stmt = loop()
    assert stmt.replace(kind=ForKind.PARALLEL).kind == ForKind.PARALLEL
    with pytest.raises(TypeError):
        stmt.replace(exent=const(3))


def test_nodes_are_immutable_under_the_guard():
    with pytest.raises(AttributeError, match="replace"):
        loop().extent = const(3)
    with pytest.raises(AttributeError):
        loop().unknown = 1


def test_children_are_checked():
    x = Var("x", I32)
    with pytest.raises(TypeError, match="For: body is of type Stmt, got 3"):
        For(x, x, x, ForKind.SERIAL, 3)
    with pytest.raises(TypeError, match="SeqStmt: seq is of type Stmt, got 3"):
        SeqStmt([loop(), 3])


def test_children_of_copies_are_checked_under_the_guard():
    with pytest.raises(TypeError, match=r"For\.body must be a Stmt, got 3"):
        loop().map_children(lambda child: 3 if isinstance(child, Evaluate) else child)
    with pytest.raises(TypeError, match=r"SeqStmt\.seq must be a tuple of Stmts, got"):
        SeqStmt([loop(), loop()]).map_children(lambda child: const(0))


def test_constructors_convert_what_stands_for_an_expression():
    x, buffer = Var("x", I32), decl_buffer((4, 4))
    assert isinstance(Add(x, 1).b, IntImm)
    assert isinstance(Select(True, 0, 2.0).false_value, FloatImm)
    assert Broadcast(0, 4).dtype == "int32x4"
    load = BufferLoad(buffer, [x, 3])
    assert load.indices[0] is x
    assert isinstance(load.indices[1], IntImm)
    assert all(isinstance(index, IntImm) for index in BufferLoad(buffer, (0, 1)).indices)
    assert isinstance(SeqStmt([loop(), loop()]).seq, tuple)
    iterator = IterVar(Range.from_min_extent(0, 4), x, IterType.DATA_PAR)
    assert Add(iterator, x).a is x
    assert isinstance(PrimFunc([], Evaluate(0)).body.value, IntImm)
    with pytest.raises(DTypeError, match="expected a number or an expression"):
        Add(x, None)


def test_derived_fields_follow_the_children():
    x = Var("x", DType("float32x4"))
    assert (x < x).dtype == "boolx4"
    assert Add(x, x).dtype == "float32x4"


def test_copies_are_the_node_itself():
    x = Var("x", I32)
    node = Add(x, x)
    assert copy.copy(node) is node
    assert copy.deepcopy({1: [node]})[1][0] is node


def test_pickling_keeps_structure_and_sharing():
    x = Var("x", I32)
    restored = pickle.loads(pickle.dumps(Add(x, x)))
    assert restored.a is restored.b
    assert restored.a is not x
    assert structural_equal(restored, Add(x, x), map_free_vars=True)
    exp = Op.get("tir.exp")
    assert pickle.loads(pickle.dumps(exp)) is exp


def test_identity_is_the_key_of_dictionaries():
    x, y = Var("x", I32), Var("x", I32)
    assert len({x, y}) == 2
    assert {x: 1}[x] == 1


def test_walk_is_parents_first_and_can_skip():
    stmt = SeqStmt((loop(), Evaluate(const(5))))
    names = [type(n).__name__ for n in walk(stmt)]
    assert names[:2] == ["SeqStmt", "For"]
    assert names[-2:] == ["Evaluate", "IntImm"]
    names = [type(n).__name__ for n in walk(stmt, skip=lambda n: isinstance(n, For))]
    assert names == ["SeqStmt", "For", "Evaluate", "IntImm"]


def test_rewrite_is_bottom_up():
    x = Var("x", I32)
    expr = Add(Add(x, const(1)), const(1))
    result = rewrite(expr, {IntImm: lambda n: const(n.value + 1)})
    assert structural_equal(result, Add(Add(x, const(2)), const(2)))
    assert rewrite(expr, {Call: lambda n: n}) is expr


def test_rewriter_methods_decide_whether_to_descend():
    x, y = Var("x", I32), Var("y", I32)

    class Rename(Rewriter):
        def Var(self, node):
            return y if node is x else node

        def Call(self, node):
            return node

    call = Call(I32, Op.get("tir.clz"), (x,))
    result = Rename()(Add(x, call))
    assert result.a is y
    assert result.b is call


def test_a_dtype_may_be_given_by_name():
    from tilewright.ir import DType, IntImm, Var

    for dtype in (Var("x", "int32").dtype, IntImm("int8", 1).dtype, Var("x", "int32", None).dtype):
        assert isinstance(dtype, DType)
    assert (Var("x", "int32") + 1.5).dtype == "float32"


@node
class Pair(Node):
    first: IntImm = child()
    second: IntImm = child()


def test_a_method_is_compiled_when_it_is_first_used():
    assert not isinstance(vars(Pair)["replace"], FunctionType)
    pair = Pair(IntImm(I32, 1), IntImm(I32, 2))
    changed = pair.replace(second=IntImm(I32, 3))
    assert isinstance(vars(Pair)["replace"], FunctionType)
    assert not isinstance(vars(Pair)["map_children"], FunctionType)
    assert changed.first is pair.first
    assert changed.second.value == 3
    assert Pair.replace.__qualname__ == "Pair.replace"
