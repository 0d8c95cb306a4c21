"""Whole programs: loops, blocks, buffers, calls and control flow."""

import numpy as np
import pytest
from tests.tir.transform.programs import (
    TRUE,
    function,
    int_var,
    iterator,
    loop_nest,
    matmul,
    point,
)

from tilewright import tir
from tilewright.error import InterpreterError, ProgramAssertionError
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import HANDLE, INT32, DType
from tilewright.tir import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferLoad,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    GlobalVar,
    IfThenElse,
    IRModule,
    LetStmt,
    MatchBufferRegion,
    PointerType,
    PrimFunc,
    PrimType,
    Ramp,
    StringImm,
    Var,
    While,
    decl_buffer,
    seq,
)
from tilewright.tir.interpreter import Interpreter, add_function_lookup, interpret

ZERO = const(0)


def random(*shape, dtype="float32"):
    """Numbers from 0 to 1, the same in each run."""
    return np.random.default_rng(len(shape)).random(shape).astype(dtype)


@pytest.mark.parametrize("tiles", [None, (2, 2, 4)])
def test_matmul_with_init_and_predicates(tiles):
    a, b, c = random(7, 6), random(6, 5), np.full((7, 5), 3, "float32")
    interpret(matmul(7, 5, 6, tiles), a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_the_order_of_loops_decides_when_init_runs():
    # With k outermost, init runs at k = 0 of each element and the sums are still right.
    a, b, c = random(3, 4), random(4, 2), np.full((3, 2), np.nan, "float32")
    interpret(matmul(3, 2, 4, order="knm"), a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_loops_of_no_iterations_and_negative_extent():
    A = decl_buffer((4,), "int32", "A")
    i, n = int_var("i"), int_var("n")
    body = For(i, const(1), n, ForKind.SERIAL, BufferStore(A, A[i] + i, (i,)))
    func = PrimFunc((n, A.data), body)
    for count, expected in ((-2, [0, 0, 0, 0]), (0, [0, 0, 0, 0]), (2, [0, 1, 2, 0])):
        a = np.zeros(4, "int32")
        interpret(func, count, a)
        assert a.tolist() == expected


def test_while_let_if_and_allocate():
    A = decl_buffer((1,), "int32", "A")
    pointer = Var("c", HANDLE, PointerType(PrimType(INT32), "local"))
    C = decl_buffer((1,), "int32", "C", data=pointer)
    n, t = int_var("n"), int_var("t")
    step = LetStmt(
        t,
        C[0] // 2,
        IfThenElse(
            (C[0] % 2).equal(0), BufferStore(C, t, (ZERO,)), BufferStore(C, C[0] * 3 + 1, (ZERO,))
        ),
    )
    count = BufferStore(A, A[0] + 1, (ZERO,))
    body = seq(BufferStore(C, n, (ZERO,)), While(C[0] > 1, seq(step, count)))
    func = PrimFunc((n, A.data), Allocate(pointer, INT32, (const(1),), TRUE, body))
    a = np.zeros(1, "int32")
    interpret(func, 27, a)
    assert a[0] == 111  # the length of the Collatz sequence of 27


def test_symbolic_shapes_strides_and_offsets():
    n, s, start = int_var("n"), int_var("s"), int_var("start")
    A = decl_buffer((n, 3), "float32", "A", strides=(s, 1), elem_offset=start)
    B = decl_buffer((n * 3,), "float32", "B")
    i, j = int_var("i"), int_var("j")
    body = loop_nest([(i, n), (j, 3)], BufferStore(B, A[i, j], (i * 3 + j,)))
    func = function((A, B), body)
    whole, b = random(4, 8), np.zeros(12, "float32")
    interpret(func, whole[:, 2:5], b)
    assert (b.reshape(4, 3) == whole[:, 2:5]).all()
    interpret(func, whole[::-1, 2:5], b)
    assert (b.reshape(4, 3) == whole[::-1, 2:5]).all()


def test_parallel_loops_run_backwards_on_request():
    A = decl_buffer((4,), "int32", "A")
    i = int_var("i")
    body = BufferStore(A, tir.if_then_else(i > 0, A[tir.max(i - 1, 0)] + 1, 5), (i,))
    func = function((A,), loop_nest([(i, 4)], body, {"i": ForKind.PARALLEL}))
    a = np.zeros(4, "int32")
    interpret(func, a)
    assert a.tolist() == [5, 6, 7, 8]
    a[:] = 0
    interpret(func, a, reverse_parallel=True)
    assert a.tolist() == [5, 1, 1, 1]


def test_an_array_without_dimensions_is_written():
    cell = tir.decl_buffer((), "float32", "cell")
    program = function([cell], BufferStore(cell, BufferLoad(cell, ()) + 1.0, ()))
    value = np.array(2, "float32")
    interpret(program, value)
    assert value == 3


def test_vector_accesses_masks_and_undeclared_flat_buffers():
    A, B = decl_buffer((8,), "float32", "A"), decl_buffer((8,), "float32", "B")
    flat = decl_buffer((4,), "float32x2", "B", data=B.data)
    ramp = Ramp(const(6), const(-2), 4)
    mask = tir.Broadcast(const(4), 4) <= ramp
    pairs = BufferStore(flat, A.vload([const(2)], "float32x2"), (const(3),))
    body = seq(BufferStore(B, A.vload([const(1)], "float32x4") * 2.0, (ramp,), mask), pairs)
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    interpret(function((A, B), body), a, b)
    assert b.tolist() == [0, 0, 0, 0, 4, 0, 2, 3]


def test_match_buffer_views_a_region():
    A = decl_buffer((4, 6), "float32", "A")
    n, s0 = int_var("rows"), int_var("s0")
    start = int_var("start")
    V = decl_buffer((n, 2), "float32", "V", strides=(s0, 1), elem_offset=start)
    i, j, o = int_var("i"), int_var("j"), iterator("o", 3)
    body = loop_nest([(i, n), (j, 2)], BufferStore(V, V[i, j] + o.var, (i, j)))
    source = tir.BufferRegion(
        A,
        (
            tir.Range.from_min_extent(const(1), const(2)),
            tir.Range.from_min_extent(o.var * 2, const(2)),
        ),
    )
    block = Block((o,), (), (), "b", body, match_buffers=(MatchBufferRegion(V, source),))
    x = int_var("x")
    func = function((A,), loop_nest([(x, 3)], BlockRealize((x,), TRUE, block)))
    a = np.zeros((4, 6), "float32")
    interpret(func, a)
    expected = np.zeros((4, 6))
    expected[1:3] = [0, 0, 1, 1, 2, 2]
    assert (a == expected).all()


def test_functions_of_a_module_call_each_other_and_return():
    x, y = int_var("x"), int_var("y")
    result = Call(INT32, GlobalVar("square"), (x + 1,))
    square = PrimFunc((y,), Evaluate(tir.ret(y * y)), PrimType(INT32))
    main = PrimFunc((x,), Evaluate(tir.ret(result + 1)), PrimType(INT32))
    module = IRModule({"main": main, "square": square})
    assert interpret(module, 4) == 26
    assert interpret(module, "square", 4) == 16
    assert Interpreter(module).run("main", 1) == 5


def test_buffers_are_passed_to_other_functions_as_addresses():
    A, B = decl_buffer((4,), "float32", "A"), decl_buffer((2,), "float32", "B")
    callee = function((B,), BufferStore(B, const(7.0), (const(1),)))
    call = Call(INT32, GlobalVar("callee"), (tir.address_of(A[2]),))
    a = np.zeros(4, "float32")
    interpret(IRModule({"main": function((A,), Evaluate(call)), "callee": callee}), a)
    assert a.tolist() == [0, 0, 0, 7]


def test_calls_of_python_functions():
    A = decl_buffer((2, 2), "float32", "A")
    first = Evaluate(tir.call_packed("fill", A, 3, "text"))
    second = BufferStore(A, tir.call_extern("float32", "half", A[0, 0]), (ZERO, ZERO))
    seen = []

    def fill(array, number, text):
        array[:] = number
        seen.append(text)

    a = np.zeros((2, 2), "float32")
    functions = {"fill": fill, "half": lambda x: x / 2}
    interpret(function((A,), seq(first, second)), a, functions=functions)
    assert a.tolist() == [[1.5, 3], [3, 3]]
    assert seen == ["text"]
    with pytest.raises(InterpreterError, match="no function named 'fill'"):
        interpret(function((A,), first), a)
    add_function_lookup(functions.get)
    interpret(function((A,), first), a)
    assert (a == 3).all()


def test_errors_of_python_functions_pass_through():
    def fail():
        raise ZeroDivisionError("mine")

    func = PrimFunc((), Evaluate(tir.call_packed("fail")))
    with pytest.raises(ZeroDivisionError, match="mine"):
        interpret(func, functions={"fail": fail})


def test_assertions_and_raised_errors():
    n = int_var("n")
    text = StringImm("n must be small")
    func = PrimFunc((n,), AssertStmt(n < 3, text, Evaluate(tir.ret(n))))
    assert interpret(func, 2) == 2
    with pytest.raises(ProgramAssertionError, match="n must be small"):
        interpret(func, 3)
    func = PrimFunc((n,), Evaluate(tir.raise_error("IndexError", "%lld of %s", n, "many")))
    with pytest.raises(IndexError, match="5 of many"):
        interpret(func, 5)


def test_constant_arrays_and_declared_views():
    A = decl_buffer((3,), "float16", "A")
    pointer = Var("table", HANDLE, PointerType(PrimType(DType("float16"))))
    T = decl_buffer((3,), "float16", "T", data=pointer)
    i = int_var("i")
    body = DeclBuffer(T, loop_nest([(i, 3)], BufferStore(A, T[i], (2 - i,))))
    data = np.array([1, 2, 3], "float16")
    a = np.zeros(3, "float16")
    stmt = AllocateConst(pointer, DType("float16"), (const(3),), data, body)
    interpret(function((A,), stmt), a)
    assert a.tolist() == [3, 2, 1]


def test_threads_run_one_after_the_other():
    A = decl_buffer((4,), "int32", "A")
    thread = tir.IterVar(None, int_var("tx"), tir.IterType.THREAD_INDEX, "threadIdx.x")
    store = BufferStore(A, thread.var * 2, (thread.var,))
    a = np.zeros(4, "int32")
    interpret(function((A,), AttrStmt(thread, "thread_extent", const(4), store)), a)
    assert a.tolist() == [0, 2, 4, 6]


def test_deep_nests_and_deep_expressions():
    A = decl_buffer((1,), "int32", "A")
    loops = [(int_var(f"i{k}"), 1 + (k == 20)) for k in range(45)]
    total = as_expr(0)
    for _ in range(2):
        for var, _ in loops:
            total = total + var
    chain = tir.if_then_else(total > 0, A[0] + 1, A[0])
    for _ in range(60):
        chain = tir.if_then_else(loops[0][0] > 0, 0, chain)
    body = loop_nest(loops, BufferStore(A, chain, (ZERO,)))
    a = np.zeros(1, "int32")
    interpret(function((A,), body), a)
    assert a[0] == 1


def test_let_expressions_keep_their_scope():
    x, n = int_var("x"), int_var("n")
    deep = x
    for _ in range(60):
        deep = tir.max(deep + 1, 0)
    func = PrimFunc((n,), Evaluate(tir.ret(tir.Let(x, n * 2, deep + x))))
    assert interpret(func, 5) == 80


def test_bounds_of_loop_variables_do_not_hide_overflow():
    A = decl_buffer((2,), "int8", "A")
    i = Var("i", DType("int8"))
    body = BufferStore(A, i * const(100, "int8"), (i,))
    loop = For(i, const(0, "int8"), const(2, "int8"), ForKind.SERIAL, body)
    double = seq(loop, BufferStore(A, A[1] + A[1], (ZERO,)))
    a = np.zeros(2, "int8")
    interpret(function((A,), double), a)
    assert a.tolist() == [-56, 100]


def test_loop_variables_of_unknown_extent_are_converted():
    n, i = int_var("n"), int_var("i")
    A = decl_buffer((4,), "int64", "A")
    body = BufferStore(A, tir.Cast(DType("int64"), i) * 3, (i,))
    a = np.zeros(4, "int64")
    interpret(function((A,), loop_nest([(i, n)], body)).replace(params=(n, A.data), buffer_map={}),
              4, a)  # fmt: skip
    assert a.tolist() == [0, 3, 6, 9]


def test_point_regions_are_only_declarations():
    A = decl_buffer((2,), "int32", "A")
    v = iterator("v", 2)
    block = Block((v,), (), (point(A, v.var),), "b", BufferStore(A, v.var, (v.var,)))
    i = int_var("i")
    a = np.full(2, 9, "int32")
    interpret(function((A,), loop_nest([(i, 2)], BlockRealize((i,), i > 0, block))), a)
    assert a.tolist() == [9, 1]


def test_loads_are_checked_lane_by_lane():
    A = decl_buffer((4,), "float32", "A")
    load = BufferLoad(A, (Ramp(const(1), const(1), 4),), Ramp(ZERO, const(1), 4) < 3)
    func = function((A,), BufferStore(A, load, (Ramp(ZERO, const(1), 4),)))
    a = np.array([1, 2, 3, 4], "float32")
    interpret(func, a)
    assert a.tolist() == [2, 3, 4, 0]


def test_a_loop_of_which_the_bound_depends_on_data():
    A, N = decl_buffer((4,), "int32", "A"), decl_buffer((1,), "int32", "N")
    v, i = iterator("v", 4), int_var("i")
    block = Block((v,), (), (), "b", BufferStore(A, v.var + 1, (v.var,)))
    nest = loop_nest([(i, BufferLoad(N, (ZERO,)))], BlockRealize((i,), TRUE, block))
    a = np.zeros(4, "int32")
    interpret(function((A, N), nest), a, np.array([3], "int32"))
    assert a.tolist() == [1, 2, 3, 0]
    with pytest.raises(InterpreterError, match="iterator v of block 'b' is bound to 4"):
        interpret(function((A, N), nest), a, np.array([5], "int32"))
