"""Memory of dead buffers is used again, and only where nothing can notice."""

import pytest
from tests.tir.transform.programs import of_kind

import tilewright.te as te
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32
from tilewright.ir.rewrite import Rewriter
from tilewright.tir import (
    Allocate,
    BufferStore,
    Call,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    Op,
    PrimFunc,
    Var,
    While,
    decl_buffer,
    seq,
)
from tilewright.tir.transform.flatten_buffers import flatten_buffers
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.storage_rewrite import storage_rewrite


def flat(*args):
    """The flat form of the tensors that compute `args`."""
    return flatten_buffers(lower_blocks(te.create_prim_func(list(args))))


def allocated(func):
    """The names of the allocations that are left."""
    return [a.buffer_var.name for a in of_kind(storage_rewrite(func).body, Allocate)]


def vector(name, n=16, dtype="float32"):
    return te.placeholder((n,), dtype, name)


def each(name, formula, n=16):
    return te.compute((n,), formula, name)


def test_elementwise_steps_work_in_place():
    x = vector("X")
    a = each("A", lambda i: x[i] + 1.0)
    b = each("B", lambda i: a[i] * 2.0)
    c = each("C", lambda i: te.exp(b[i]))
    y = each("Y", lambda i: c[i] + x[i])
    func = flat(x, y)
    assert [v.buffer_var.name for v in of_kind(func.body, Allocate)] == ["A", "B", "C"]
    assert allocated(func) == ["A"]


def test_two_dimensions_work_in_place():
    x = te.placeholder((4, 8), name="X")
    a = te.compute((4, 8), lambda i, j: x[i, j] + 1.0, name="A")
    b = te.compute((4, 8), lambda i, j: a[i, j] + a[i, j], name="B")
    y = te.compute((4, 8), lambda i, j: b[3 - i, j], name="Y")
    assert allocated(flat(x, y)) == ["A"]


def test_renamed_buffers_have_the_name_of_their_memory():
    x = vector("X")
    a = each("A", lambda i: x[i] + 1.0)
    b = each("B", lambda i: a[i] * 2.0)
    y = each("Y", lambda i: b[15 - i])
    func = storage_rewrite(flat(x, y))
    (memory,) = of_kind(func.body, Allocate)
    pointers = {s.buffer.data for s in of_kind(func.body, BufferStore)}
    assert memory.buffer_var in pointers
    assert {s.buffer.name for s in of_kind(func.body, BufferStore)} == {"A", "Y"}


def test_memory_is_free_after_the_last_use():
    x = vector("X")
    a = each("A", lambda i: x[i] + 1.0)
    b = each("B", lambda i: a[15 - i])
    c = each("C", lambda i: b[15 - i])
    y = each("Y", lambda i: c[15 - i])
    assert allocated(flat(x, y)) == ["A", "B"]


SEPARATE = {
    "reversed": lambda a, x: each("B", lambda i: a[15 - i]),
    "neighbour": lambda a, x: each("B", lambda i: a[i] + a[te.max(i - 1, 0)]),
    "other dtype": lambda a, x: each("B", lambda i: a[i].astype("int32")),
    "other size": lambda a, x: each("B", lambda i: a[i], n=15),
    "data dependent": lambda a, x: each("B", lambda i: a[x[i].astype("int32")]),
    "reduction": lambda a, x: row_sums(a),
}


def row_sums(a):
    k = te.reduce_axis((0, 4), "k")
    return te.compute((16,), lambda i: te.sum(a[te.floormod(i + k, 16)], axis=k), name="B")


@pytest.mark.parametrize("name", SEPARATE)
def test_other_steps_do_not_work_in_place(name):
    x = vector("X")
    a = each("A", lambda i: x[i] + 1.0)
    b = SEPARATE[name](a, x)
    y = te.compute(b.shape, lambda i: b[i].astype("float32") + x[i], name="Y")
    assert allocated(flat(x, y)) == ["A", "B"]


def test_a_buffer_that_is_read_later_keeps_its_memory():
    x = vector("X")
    a = each("A", lambda i: x[i] + 1.0)
    b = each("B", lambda i: a[i] * 2.0)
    y = each("Y", lambda i: b[i] + a[i])
    assert allocated(flat(x, y)) == ["A", "B"]


def program(*stmts):
    """A function over A and B, two allocated vectors of 16 floats, and the parameter X."""
    a, b, x = (decl_buffer((16,), "float32", name) for name in "ABX")
    body = seq([stmt(a, b, x) for stmt in stmts])
    for buffer in (b, a):
        body = Allocate(buffer.data, buffer.dtype, buffer.shape, const(True), body)
    handle = Var("x", "handle")
    return PrimFunc((handle,), body, None, {handle: x})


def loop(body, n=16, kind=ForKind.SERIAL):
    i = Var("i", INT32)
    return For(i, const(0), const(n), kind, body(i))


def fill_a(a, b, x):
    return loop(lambda i: BufferStore(a, x[i], (i,)))


def copy(a, b, x):
    return loop(lambda i: BufferStore(b, a[i] * const(2.0), (i,)))


def use_b(a, b, x):
    return loop(lambda i: BufferStore(x, b[const(15) - i], (i,)))


def test_the_program_of_the_following_tests_works_in_place():
    assert allocated(program(fill_a, copy, use_b)) == ["A"]


def twice(a, b, x):
    return loop(lambda i: loop(lambda j: BufferStore(b, a[i] * const(2.0), (i,)), n=2))


def under_a_condition_on_a(a, b, x):
    return loop(lambda i: IfThenElse(a[i] > 0.0, BufferStore(b, a[i], (i,))))


def another_reader(a, b, x):
    other = BufferStore(x, a[const(0)], (const(0),))
    return loop(lambda i: seq(BufferStore(b, a[i], (i,)), other))


def writes_both(a, b, x):
    return loop(lambda i: seq(BufferStore(b, a[i], (i,)), BufferStore(a, const(0.0), (i,))))


def strided(a, b, x):
    return loop(lambda i: BufferStore(b, a[i // 2], (i // 2,)))


def in_threads(a, b, x):
    return loop(lambda i: BufferStore(b, a[i], (i,)), kind=ForKind.THREAD_BINDING)


def in_a_while(a, b, x):
    return While(x[0] > 0.0, BufferStore(b, a[0], (const(0),)))


@pytest.mark.parametrize(
    "step",
    [twice, under_a_condition_on_a, another_reader, writes_both, strided, in_threads, in_a_while],
)
def test_steps_that_others_would_notice(step):
    assert allocated(program(fill_a, step, use_b)) == ["A", "B"]


def test_memory_whose_pointer_is_used_otherwise_stays():
    def pass_pointer(a, b, x):
        return Evaluate(Call(INT32, Op.get("tir.popcount"), (a.data,)))

    assert allocated(program(pass_pointer, fill_a, copy, use_b)) == ["A", "B"]


def test_a_parallel_loop_works_in_place():
    def step(a, b, x):
        return loop(lambda i: BufferStore(b, a[i], (i,)), kind=ForKind.PARALLEL)

    assert allocated(program(fill_a, step, use_b)) == ["A"]


def test_nothing_to_do_keeps_the_function():
    x = vector("X")
    func = flat(x, each("Y", lambda i: x[i]))
    assert storage_rewrite(func) is func


def test_annotations_name_the_memory_that_a_buffer_moves_to():
    x = vector("X")
    a = each("A", lambda i: x[i] + 1.0)
    b = each("B", lambda i: a[i] * 2.0)
    y = each("Y", lambda i: b[i] + x[i])
    func = flat(x, y)
    *_, last = of_kind(func.body, For)
    named = {"software_prefetch": {"B": 4, "X": 2}, "nontemporal_stores": ("B", "Y")}
    func = func.with_body(_replaced(func.body, last, last.replace(annotations=named)))
    *_, last = of_kind(storage_rewrite(func).body, For)
    assert sorted(last.annotations["software_prefetch"]) == ["A", "X"]
    assert last.annotations["nontemporal_stores"] == ("A", "Y")


def _replaced(body, old, new):
    class Replacing(Rewriter):
        def For(self, loop):
            return new if loop is old else loop.map_children(self)

    return Replacing()(body)
