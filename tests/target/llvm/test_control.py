"""Loops, branches, variables, assertions, and calls between functions."""

import numpy as np
import pytest
from tests.target.llvm.programs import check, function, loop, native

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import CodegenError, InternalError, LoweringError
from tilewright.ir import Call, DType, GlobalVar, Let, StringImm, const
from tilewright.tir import op


@pytest.mark.parametrize(("start", "extent"), [(0, 5), (3, 4), (-3, 6), (2, 1), (4, 0), (4, -2)])
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64", "int8"])
def test_loops_run_from_their_start(start, extent, symbolic, dtype):
    c = tir.decl_buffer((16,), "int64", "C")
    i = te.var("i", dtype)
    first, count = te.var("first", dtype), te.var("count", dtype)
    bounds = (first, count) if symbolic else (const(start, dtype), const(extent, dtype))
    index = tir.Cast(DType("int32"), i) + 3
    store = c.vstore((index,), tir.Cast(DType("int64"), i) * 10 + c[index])
    func = function([c, first, count], tir.For(i, *bounds, tir.ForKind.SERIAL, store))
    check(func, np.arange(16, dtype="int64"), start, extent)


def test_triangular_loops():
    c = tir.decl_buffer((100,), "int32", "C")
    n = te.var("n")
    body = loop(n, lambda i: loop(n - i, lambda j: c.vstore((i * 10 + j,), i - j), name="j"))
    check(function([c, n], body), np.zeros(100, "int32"), 9)


def test_while_with_a_changing_condition():
    c = tir.decl_buffer((2,), "int32", "C")
    body = tir.seq(c.vstore((0,), c[0] * 2), c.vstore((1,), c[1] + 1))
    func = function([c], tir.While(c[0] < 1000, body))
    check(func, np.array([3, 0], "int32"))
    check(func, np.array([3000, 0], "int32"))


def test_nested_while_and_for():
    c = tir.decl_buffer((8,), "int32", "C")

    def body(i):
        return tir.While(c[i] % 7 != const(0, "int32"), c.vstore((i,), c[i] + i + 1))

    check(function([c], loop(6, body)), np.arange(8, dtype="int32") * 5 + 1)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_variable_of_almost_any_value(dtype):
    a, c = tir.decl_buffer((1,), dtype, "A"), tir.decl_buffer((1,), dtype, "C")
    limit = const(DType(dtype).max_int, dtype)
    x = te.var("x", dtype)
    value = tir.max(tir.min(a[0], limit - 1), const(0, dtype) - limit)
    func = function([a, c], c.vstore((0,), Let(x, value, x // 2 - x % 5)))
    for number in (-(2**31), -1, 2**31 - 1):
        check(func, np.array([number], dtype), np.zeros(1, dtype))


def test_branches():
    c = tir.decl_buffer((32,), "int32", "C")

    def body(i):
        inner = tir.IfThenElse(i > 20, c.vstore((i,), i * 3), c.vstore((i,), i * 5))
        return tir.IfThenElse(i % 3 == const(0, "int32"), inner, None)

    check(function([c], loop(32, body)), np.zeros(32, "int32"))


def test_values_of_a_branch_are_not_used_outside():
    """The same expression in both branches and after them."""
    a, c = tir.decl_buffer((16,), "float32", "A"), tir.decl_buffer((16,), "float32", "C")
    n = te.var("n")

    def body(i):
        value = op.sqrt(tir.Cast(DType("float32"), n * i)) + a[i]
        branch = tir.IfThenElse(a[i] > 0.0, c.vstore((i,), value), c.vstore((i,), value * 2.0))
        return tir.seq(branch, c.vstore((i,), c[i] + value))

    values = np.random.default_rng(0).normal(size=16).astype("float32")
    check(function([a, c, n], loop(16, body)), values, np.zeros(16, "float32"), 5, tolerance=1e-6)


def test_only_the_chosen_side_is_evaluated():
    a, c = tir.decl_buffer((4,), "int32", "A"), tir.decl_buffer((8,), "int32", "C")
    guarded = loop(8, lambda i: c.vstore((i,), op.if_then_else(i < 4, a[i], -1)))
    check(function([a, c], guarded), np.arange(4, dtype="int32"), np.zeros(8, "int32"))
    both = loop(8, lambda i: tir.IfThenElse(
        tir.And(i < 4, a[i] > 1), c.vstore((i,), const(1, "int32")), None))  # fmt: skip
    check(function([a, c], both), np.arange(4, dtype="int32"), np.zeros(8, "int32"))
    either = loop(8, lambda i: tir.IfThenElse(
        tir.Or(i >= 4, a[i] > 1), c.vstore((i,), const(1, "int32")), None))  # fmt: skip
    check(function([a, c], either), np.arange(4, dtype="int32"), np.zeros(8, "int32"))


def test_variables_keep_their_value():
    c = tir.decl_buffer((8,), "int32", "C")
    x, y = te.var("x"), te.var("y")

    def body(i):
        after = tir.seq(c.vstore((i,), const(-1, "int32")), c.vstore((i,), x + y))
        value = Let(y, x + 1, y * y)
        return tir.LetStmt(x, c[i] + value_of(i), tir.LetStmt(y, value, after))

    def value_of(i):
        return i * 2

    check(function([c], loop(8, body)), np.arange(8, dtype="int32"))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_variables_of_any_range(dtype):
    """What is known of a variable may span more numbers than its dtype can count."""
    a, c = tir.decl_buffer((64,), dtype, "A"), tir.decl_buffer((64,), dtype, "C")
    x = te.var("x", dtype)

    def body(i):
        value = op.min(op.max(a[i], -100), 27)
        return tir.LetStmt(x, value, c.vstore((i,), x // const(3, dtype) + x % const(5, dtype)))

    values = np.arange(64, dtype=dtype) * np.array(7, dtype)
    check(function([a, c], loop(64, body)), values, np.zeros(64, dtype))


def test_assertions(capfd):
    c = tir.decl_buffer((4,), "int32", "C")
    message = StringImm("C[0] is 100% wrong")
    func = function([c], tir.AssertStmt(c[0] > 0, message, c.vstore((1,), const(7, "int32"))))
    run = native(func)
    good, bad = np.array([1, 0, 0, 0], "int32"), np.zeros(4, "int32")
    assert run(good) == 0
    assert good[1] == 7
    assert run(bad) == -1
    assert bad[1] == 0


def test_functions_call_each_other():
    from tests.target.llvm.programs import compiled

    a = tir.decl_buffer((4,), "int32", "A")
    k = te.var("k")
    add = function([a, k], loop(4, lambda i: a.vstore((i,), a[i] + k)), "add")
    c = tir.decl_buffer((4,), "int32", "C")
    call = Call(DType("int32"), GlobalVar("add"), (c.data, const(5, "int32")))
    main = function([c], tir.seq(tir.Evaluate(call), tir.Evaluate(call)))
    code = compiled(main, add=add)
    import ctypes

    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.function_address("f"))
    target = np.arange(4, dtype="int32")
    assert run(target.ctypes.data) == 0
    np.testing.assert_array_equal(target, np.arange(4) + 10)


def test_c_functions():
    c = tir.decl_buffer((2,), "int32", "C")
    call = op.call_extern("int32", "abs", c[0])
    run, target = native(function([c], c.vstore((1,), call))), np.array([-5, 0], "int32")
    assert run(target) == 0
    assert target[1] == 5


def test_a_missing_c_function_is_named():
    c = tir.decl_buffer((2,), "int32", "C")
    call = op.call_extern("int32", "there_is_no_such_function", c[0])
    with pytest.raises(CodegenError, match="there_is_no_such_function"):
        native(function([c], c.vstore((1,), call)))


def test_gpu_threads_are_refused():
    c = tir.decl_buffer((2,), "int32", "C")
    store = c.vstore((0,), const(1, "int32"))
    i = te.var("i")
    bound = tir.For(i, const(0), const(2), tir.ForKind.THREAD_BINDING, store)
    with pytest.raises((CodegenError, LoweringError), match="thread"):
        native(function([c], bound))


def test_variables_out_of_scope_are_refused():
    c = tir.decl_buffer((2,), "int32", "C")
    with pytest.raises((CodegenError, InternalError), match="stray"):
        native(function([c], c.vstore((0,), te.var("stray"))))


# --- calls of functions of the module, as a whole program ---------------------------------------

CALLEE = """
@I.ir_module
class Module:
    @T.prim_func
    def helper(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (8,), "float32")
        assert n > 3, "n is small"
        for i in range(8):
            A[i] = A[i] + T.float32(1)

    @T.prim_func
    def main(a: T.handle, n: T.int32):
        T.func_attr({"global_symbol": "main"})
        A = T.match_buffer(a, (8,), "float32")
        Module.helper(A.data, n)
        A[0] = T.float32(100)
"""


def test_an_error_of_a_called_function_ends_the_caller():
    main = tvm.build(tvm.script.from_source(CALLEE), target="llvm")["main"]
    good, bad = np.zeros(8, "float32"), np.zeros(8, "float32")
    main(good, 5)
    np.testing.assert_array_equal(good, [100, *[1] * 7])
    with pytest.raises(tvm.TVMError, match="n is small"):
        main(bad, 1)
    np.testing.assert_array_equal(bad, 0)


VALUE = """
@T.prim_func
def main(n: T.int32) -> T.float32:
    T.func_attr({"global_symbol": "main"})
    CHECK
    return T.float32(n) * T.float32(2)
"""


def test_functions_that_return_values():
    func = tvm.script.from_source(VALUE.replace("CHECK", "pass"))
    assert tvm.build(func, target="llvm")["main"](5) == 10.0
    func = tvm.script.from_source(VALUE.replace("CHECK", 'assert n > 3, "n is small"'))
    with pytest.raises(CodegenError, match="cannot fail"):
        tvm.build(func, target="llvm")


INTRINSICS = """
@T.prim_func
def main(a: T.handle):
    T.func_attr({"global_symbol": "main"})
    A = T.match_buffer(a, (8,), "float32")
    for i in range(8):
        A[i] = T.call_llvm_pure_intrin("float32", "llvm.fabs", A[i]) + T.call_llvm_pure_intrin(
            "float32", "llvm.sqrt.f32", T.float32(4)
        )
"""


def test_llvm_intrinsics_by_name():
    main = tvm.build(tvm.script.from_source(INTRINSICS), target="llvm")["main"]
    array = -np.arange(8, dtype="float32")
    main(array)
    np.testing.assert_array_equal(array, np.arange(8) + 2)


def test_the_number_of_arguments_of_a_signature():
    text = INTRINSICS.replace('"llvm.fabs", A', '"llvm.fabs", T.uint32(1), A')
    func = tvm.script.from_source(text)
    tvm.ir.assert_structural_equal(func, tvm.script.from_source(INTRINSICS))
    tvm.ir.assert_structural_equal(tvm.script.from_source(func.script()), func)
    assert len(tvm.tir.call_llvm_intrin("int32", "llvm.x", tvm.tir.const(3, "uint32"), 1).args) == 3


def test_an_undefined_value_is_one_number():
    """Whatever number it is: its difference from itself is 0."""
    c, x = tir.decl_buffer((1,), "int32", "C"), te.var("x")
    values = np.array([7], "int32")
    func = function([c], tir.LetStmt(x, op.undef(), c.vstore((0,), x - x)))
    assert native(func)(values) == 0
    assert values[0] == 0
