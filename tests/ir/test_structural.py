"""Structural equality, mismatches and hashes."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ir.random_trees import random_function

from tilewright import tir
from tilewright.error import StructuralMismatchError
from tilewright.ir import (
    Add,
    DType,
    Expr,
    FloatImm,
    GlobalVar,
    IntImm,
    IRModule,
    Let,
    Mul,
    SizeVar,
    Span,
    StringImm,
    Var,
    assert_structural_equal,
    assert_structural_equal_ignore_global_symbol,
    const,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from tilewright.ir.convert import attributes
from tilewright.ir.dtype import PointerType, PrimType
from tilewright.ir.node import Node, Role, node_of_fields
from tilewright.tir import (
    Allocate,
    AllocateConst,
    Buffer,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    LetStmt,
    PrimFunc,
    SeqStmt,
    decl_buffer,
)

I32, F32, HANDLE = DType("int32"), DType("float32"), DType("handle")
seeds = st.integers(0, 2**32)


def x(name="x", dtype="int32"):
    return Var(name, DType(dtype))


def loop(var, body, extent=8):
    return For(var, const(0), const(extent), ForKind.SERIAL, body)


def equal(a, b, **options):
    """`structural_equal`, checked to be symmetric and consistent with the hash."""
    result = structural_equal(a, b, **options)
    assert structural_equal(b, a, **options) == result
    assert (get_first_structural_mismatch(a, b, **options) is None) == result
    if result:
        assert structural_hash(a) == structural_hash(b)
    return result


class Copy:
    """A deep copy with new variables and buffers under new names; independent of the comparer."""

    def __init__(self):
        self.copies = {}

    def __call__(self, value):
        if isinstance(value, tuple):
            return tuple(map(self, value))
        if hasattr(value, "items"):
            return {self(k): self(v) for k, v in reversed(list(value.items()))}
        if not isinstance(value, Node) or isinstance(value, tir.Op):
            return value
        if isinstance(value, (Var, Buffer)):
            if value not in self.copies:
                self.copies[value] = self.fields(value)
            return self.copies[value]
        return self.fields(value)

    def fields(self, value):
        values = {}
        for field in value.__node_fields__:
            if field.role is Role.DERIVED:
                continue
            old = getattr(value, field.name)
            values[field.name] = self(old)
            if field.role is Role.META and isinstance(old, str):
                values[field.name] = f"other_{len(self.copies)}"
            elif field.name == "span":
                values[field.name] = Span("f.py", 1, 0, 1, 1)
        return node_of_fields(type(value), values)


def mutations(value, path=()):
    """All places of a tree where `mutated` can change something."""
    if isinstance(value, tuple):
        for position, item in enumerate(value):
            yield from mutations(item, (*path, position))
    elif isinstance(value, (IntImm, FloatImm, For, StringImm)):
        yield path
    if isinstance(value, Node) and not isinstance(value, (Buffer, Var, tir.Op)):
        for field in value.__node_fields__:
            if field.role is Role.CHILD:
                yield from mutations(getattr(value, field.name), (*path, field.name))


def mutated(value, path):
    """`value` with the node at `path` changed a little."""
    if path:
        if isinstance(value, tuple):
            i = path[0]
            return (*value[:i], mutated(value[i], path[1:]), *value[i + 1 :])
        return value.replace(**{path[0]: mutated(getattr(value, path[0]), path[1:])})
    if isinstance(value, IntImm):
        return value.replace(value=1 - value.value)
    if isinstance(value, FloatImm):
        return value.replace(value=3.5 if value.value != 3.5 else 0.0)
    if isinstance(value, StringImm):
        return value.replace(value=value.value + "!")
    kind = ForKind.SERIAL if value.kind == ForKind.PARALLEL else ForKind.PARALLEL
    return value.replace(kind=kind)


class TestRandomFunctions:
    @given(seeds)
    def test_a_renamed_copy_is_equal(self, seed):
        function = random_function(seed)
        copy = Copy()(function)
        assert copy is not function
        assert equal(function, copy)

    @given(seeds)
    def test_a_mutation_is_unequal_and_found(self, seed):
        function = random_function(seed)
        places = list(mutations(function))
        if not places:
            return
        place = random.Random(seed).choice(places)
        changed = mutated(Copy()(function), place)
        assert not equal(function, changed)
        assert structural_hash(function) != structural_hash(changed)
        mismatch = get_first_structural_mismatch(function, changed)
        assert mismatch.path[: len(place)] == place

    @given(seeds, seeds)
    def test_different_seeds_agree_with_the_hash(self, one, other):
        a, b = random_function(one, depth=1), random_function(other, depth=1)
        assert equal(a, b) == (structural_hash(a) == structural_hash(b))


class TestVariables:
    def test_free_variables_are_equal_only_if_identical(self):
        a, b = x(), x()
        assert equal(a, a)
        assert not equal(a, b)
        assert not equal(a + 1, b + 1)
        assert equal(a + 1, a + 1)

    def test_mapping_free_variables_is_one_to_one(self):
        a, b = x("a"), x("b")
        assert equal(a + b, b + a, map_free_vars=True)
        assert not equal(a + a, a + b, map_free_vars=True)
        assert not equal(a + b, a + a, map_free_vars=True)

    def test_dtypes_and_types_of_variables_count(self):
        assert not equal(x(), x(dtype="int64"), map_free_vars=True)
        assert not equal(x(), SizeVar("x", I32), map_free_vars=True)
        pointers = [Var("p", HANDLE, PointerType(PrimType(F32), s)) for s in ("global", "local")]
        assert not equal(*pointers, map_free_vars=True)
        assert not equal(Var("p", HANDLE), pointers[0], map_free_vars=True)

    def test_bound_variables_correspond(self):
        i, j = x("i"), x("j")
        assert equal(loop(i, Evaluate(i)), loop(j, Evaluate(j)))
        assert not equal(loop(i, Evaluate(i)), loop(j, Evaluate(i)))
        assert equal(Let(i, const(1), i + 1), Let(j, const(1), j + 1))

    def test_nested_variables_are_not_confused(self):
        i, j = x("i"), x("j")
        assert not equal(loop(i, loop(j, Evaluate(i))), loop(i, loop(j, Evaluate(j))))

    def test_a_shared_subtree_equals_two_copies(self):
        i, j, k = x(), x(), x()
        once = loop(i, Evaluate(i))
        twice = SeqStmt((loop(j, Evaluate(j)), loop(k, Evaluate(k))))
        assert equal(SeqStmt((once, once)), twice)

    def test_a_shared_subtree_whose_variable_is_bound_on_one_side_only(self):
        i, j = x(), x()
        shared = Evaluate(i)
        assert not equal(loop(i, shared), loop(j, shared))


class TestBuffers:
    def store(self, buffer):
        return BufferStore(buffer, const(0.0), (const(0),) * len(buffer.shape))

    def declared(self, buffer):
        return Allocate(buffer.data, buffer.dtype, buffer.shape, const(True), self.store(buffer))

    def test_free_buffers_are_equal_only_if_they_are_the_same(self):
        a, b = decl_buffer((4,), name="a"), decl_buffer((4,), name="a")
        zero = (const(0),)
        assert equal(BufferLoad(a, zero), BufferLoad(a, zero))
        assert not equal(BufferLoad(a, zero), BufferLoad(b, zero))
        assert equal(BufferLoad(a, zero), BufferLoad(b, zero), map_free_vars=True)
        view = decl_buffer((4,), data=a.data)
        assert equal(BufferLoad(a, zero), BufferLoad(view, zero))

    @pytest.mark.parametrize(
        "change",
        [
            {"dtype": "float16"},
            {"shape": (5,)},
            {"shape": (4, 1)},
            {"strides": (1,)},
            {"elem_offset": 1},
            {"data_alignment": 64},
            {"buffer_type": "auto_broadcast"},
            {"axis_separators": (1,)},
            {"scope": "shared"},
        ],
    )
    def test_what_counts(self, change):
        a = decl_buffer((4,))
        b = decl_buffer(**{"shape": (4,), **change})
        assert not equal(self.store(a), BufferStore(b, const(0.0), (const(0),)))

    def test_what_does_not_count(self):
        a = decl_buffer((4,), name="a")
        b = decl_buffer((4,), name="b", offset_factor=8, elem_offset=0)
        assert equal(self.declared(a), self.declared(b))

    def test_two_buffers_are_not_confused(self):
        a, b = decl_buffer((4,)), decl_buffer((4,))
        assert not equal(
            SeqStmt((self.store(a), self.store(a))), SeqStmt((self.store(a), self.store(b)))
        )

    def test_views_of_the_same_memory(self):
        def program(same):
            c, d = (Var(n, HANDLE, PointerType(PrimType(F32), "global")) for n in "cd")
            views = decl_buffer((4,), data=c), decl_buffer((2, 2), data=c if same else d)
            body = SeqStmt(tuple(map(self.store, views)))
            for pointer in (d, c):
                body = Allocate(pointer, F32, (const(4),), const(True), body)
            return body

        assert equal(program(True), program(True))
        assert not equal(program(True), program(False))

    def test_declared_is_not_undeclared(self):
        a = decl_buffer((4,))
        assert not equal(DeclBuffer(a, self.store(a)), self.store(a))

    def test_an_allocation_that_occurs_twice(self):
        def allocation():
            c = Var("c", HANDLE, PointerType(PrimType(F32), "global"))
            body = self.store(decl_buffer((4,), data=c))
            return Allocate(c, F32, (const(4),), const(True), body)

        once = allocation()
        assert equal(SeqStmt((once, once)), SeqStmt((allocation(), allocation())))


class TestFunctions:
    def function(self, extents=2, symbol="main", order=(0, 1)):
        n = [x("n"), x("m")]
        params = [Var(f"p{i}", HANDLE) for i in range(2)]
        buffers = [decl_buffer((n[i % extents], 4)) for i in range(2)]
        body = Evaluate(n[0] + 1)
        mapping = {params[i]: buffers[i] for i in order}
        return PrimFunc(tuple(params), body, None, mapping, attributes({"global_symbol": symbol}))

    def test_symbolic_sizes_are_defined_by_parameters(self):
        assert equal(self.function(), self.function())
        assert not equal(self.function(extents=1), self.function(extents=2))

    def test_the_order_of_the_buffer_map_does_not_count(self):
        assert equal(self.function(), self.function(order=(1, 0)))

    def test_attributes_count(self):
        f, g = self.function(), self.function(symbol="other")
        assert not equal(f, g)
        assert_structural_equal_ignore_global_symbol(f, g)
        with pytest.raises(StructuralMismatchError):
            assert_structural_equal_ignore_global_symbol(f, g.with_attr("x", 1))

    def test_return_type_counts(self):
        f = self.function()
        assert not equal(f, f.replace(ret_type=PrimType(I32)))

    def test_modules_by_name(self):
        f, g = self.function(symbol="f"), self.function(symbol="g")
        assert equal(IRModule({"f": f, "g": g}), IRModule({"g": g, "f": f}))
        assert not equal(IRModule({"f": f}), IRModule({"g": f}))
        assert not equal(IRModule({"f": f}), IRModule({"f": f, "g": g}))
        assert not equal(IRModule({"f": f}), IRModule({"f": f}).with_attr("a", 1))
        assert not equal(
            IRModule({"f": f}), IRModule({"f": f}, global_infos={"vdevice": (StringImm("x"),)})
        )

    def test_global_variables_by_name(self):
        assert equal(GlobalVar("f"), GlobalVar("f"))
        assert not equal(GlobalVar("f"), GlobalVar("g"))


class TestValues:
    @pytest.mark.parametrize(
        ("a", "b", "result"),
        [
            (1, 1, True),
            (1, 1.0, False),
            (1, True, False),
            (float("nan"), float("nan"), True),
            (0.0, -0.0, False),
            ("float32", DType("float32"), True),
            ([1, (2,)], (1, [2]), True),
            ((1, 2), (1, 2, 3), False),
            ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
            ({"a": 1}, {"a": 2}, False),
            ({"a": 1}, {"b": 1}, False),
            ({"a": 1}, {"a": 1, "b": None}, False),
            (None, None, True),
            (None, 0, False),
            (np.arange(3), np.arange(3), True),
            (np.arange(3), np.arange(3.0), False),
            (np.arange(4), np.arange(4).reshape(2, 2), False),
            (const(1), const(1), True),
            (const(1), const(1, "int64"), False),
            (const(float("nan")), const(float("nan")), True),
        ],
    )
    def test_plain_values(self, a, b, result):
        assert equal({"key": a}, {"key": b}) is result

    def test_constant_arrays(self):
        def program(values):
            pointer = Var("c", HANDLE, PointerType(PrimType(F32), "global"))
            data = np.array(values, "float32")
            return AllocateConst(pointer, F32, (const(2),), data, Evaluate(const(0)))

        assert equal(program([1, 2]), program([1, 2]))
        assert not equal(program([1, 2]), program([1, 3]))

    def test_a_node_is_no_other_node(self):
        a = x()
        assert not equal(Add(a, a), Mul(a, a))
        assert not equal(Evaluate(a), a)


class TestMismatch:
    def test_the_path_leads_to_the_difference(self):
        body = [LetStmt(x("v"), const(n), Evaluate(const(0))) for n in range(2)]
        a = loop(x("i"), SeqStmt(tuple(body)))
        b = loop(x("j"), SeqStmt((body[0], body[1].replace(value=const(32)))))
        mismatch = get_first_structural_mismatch(a, b)
        assert mismatch.path == ("body", "seq", 1, "value")
        assert str(mismatch) == "<root>.body.seq[1].value: 1 vs 32"

    @pytest.mark.parametrize(
        ("a", "b", "text"),
        [
            (loop(x(), Evaluate(const(0))), loop(x(), Evaluate(const(0)), 9), ".extent: 8 vs 9"),
            (const(1) + x("a"), const(1) + x("b"), ".b: a vs b"),
            (SeqStmt(()), SeqStmt((Evaluate(const(0)),)), ".seq.length: 0 vs 1"),
            ({"a.b": (1, 2)}, {"a.b": (1, 3)}, "['a.b'][1]: 2 vs 3"),
            ({"a": 1}, {}, ".a: 1 vs None"),
            ({}, {"a": 1}, ".a: None vs 1"),
            (const(2), const(2, "int64"), "<root>: 2 vs T.int64(2)"),
        ],
    )
    def test_paths(self, a, b, text):
        assert str(get_first_structural_mismatch(a, b)).endswith(text)

    def test_the_error_shows_both_sides_and_underlines_the_difference(self):
        a, b = (loop(x(), Evaluate(const(0)), extent) for extent in (8, 16))
        with pytest.raises(StructuralMismatchError) as caught:
            assert_structural_equal(a, b)
        message = str(caught.value)
        assert message.startswith("not structurally equal at <root>.extent: 8 vs 16\n")
        assert "for x in range(8):\n               ^\n" in message
        assert "for x in range(16):\n               ^^\n" in message
        assert isinstance(caught.value, ValueError)

    def test_equal_sides_raise_nothing(self):
        assert_structural_equal(const(1), const(1))
        assert get_first_structural_mismatch(const(1), const(1)) is None


def test_the_hash_is_the_same_in_another_process():
    function = random_function(12345)
    code = (
        "from tests.ir.random_trees import random_function\n"
        "from tilewright.ir import structural_hash\n"
        "print(structural_hash(random_function(12345)))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    output = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert int(output.stdout) == structural_hash(function)


def test_expressions_can_be_roots():
    a = x()
    first: Expr = a * 2 + 1
    assert equal(first, a * 2 + 1)
    assert not equal(first, a * 2 + 2)
