"""Parallel loops: their bodies as functions, and how their iterations are divided."""

import ctypes
import re

import numpy as np
import pytest
from tests.passes import legalize_for
from tests.target.llvm.programs import (
    as_int,
    check,
    compiled,
    function,
    loop,
    native,
    over_pointers,
)

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import LoweringError
from tilewright.ir import DType, IRModule, const
from tilewright.runtime.linking import link_shared
from tilewright.target import Target
from tilewright.target.codegen.llvm import compile_module, parallel
from tilewright.tir import op

PARALLEL = tir.ForKind.PARALLEL
AVX512 = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512")


def scaled_copy():
    """C[i] = A[i] * k + i, in parallel, for n elements."""
    n, k = te.var("n"), te.var("k", "float32")
    a, c = (tir.decl_buffer((n,), "float32", name) for name in "AC")
    body = loop(n, lambda i: c.vstore((i,), a[i] * k + tir.Cast(k.dtype, i)), PARALLEL)
    return function([a, c, k], body)


def expected(a, k):
    return (a * np.float32(k) + np.arange(len(a), dtype="float32")).astype("float32")


@pytest.fixture(scope="module", autouse=True)
def small_loops_are_shared_too():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "LEAST_WORK", 0)
        yield


@pytest.fixture(scope="module")
def run():
    return native(scaled_copy())


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 64, 1000, 100_003])
def test_all_iterations_run_once(run, count):
    a = np.random.default_rng(0).normal(size=count).astype("float32")
    c = np.zeros(count, "float32")
    for _ in range(20):
        c[:] = 0
        assert run(a, c, 1.5, count) == 0
        np.testing.assert_allclose(c, expected(a, 1.5), rtol=1e-6)


def test_starts_that_are_not_zero():
    c = tir.decl_buffer((64,), "int32", "C")
    i, first = te.var("i"), te.var("first")
    body = tir.For(i, first, const(20), PARALLEL, c.vstore((i,), c[i] + i))
    check(function([c, first], body), np.zeros(64, "int32"), 13)
    body = tir.For(i, const(40), const(20), PARALLEL, c.vstore((i,), c[i] + i))
    check(function([c], body), np.zeros(64, "int32"))


def test_everything_outside_can_be_used_inside():
    """Outer loop variables, lets of all kinds, vectors, allocations, pointers, bools."""
    c, a = tir.decl_buffer((6, 32), "float32", "C"), tir.decl_buffer((32,), "float32", "A")
    flat = tir.decl_buffer((192,), "float32", "C", data=c.data)
    data = tir.Var("W", DType("handle"), tvm.ir.PointerType(tvm.ir.PrimType(DType("float32"))))
    w = tir.decl_buffer((32,), "float32", "W", data=data)
    wide, flag, half = te.var("wide", "float32x16"), te.var("flag", "bool"), te.var("h", "float16")
    whole = tir.Ramp(const(0), const(1), 16)

    def body(i):
        def inner(j):
            value = w[j] + tir.Select(flag, tir.Cast(w.dtype, half), tir.Cast(w.dtype, i))
            first = tir.Shuffle((wide,), (const(3),))
            return flat.vstore((i * 32 + j,), value + first)

        prepare = loop(32, lambda j: w.vstore((j,), a[j] * 2.0), name="j")
        parallel = loop(32, inner, PARALLEL, name="j")
        lets = tir.LetStmt(flag, i > 2, tir.LetStmt(half, tir.Cast(half.dtype, i * 3), parallel))
        return tir.seq(prepare, tir.LetStmt(wide, a.vload((whole,)), lets))

    stmt = tir.Allocate(data, w.dtype, (const(32),), const(True), loop(6, body))
    func = function([flat, a], stmt)
    check(func, np.zeros(192, "float32"), np.arange(32, dtype="float32"))


def test_nested_parallel_loops():
    c = tir.decl_buffer((144,), "int32", "C")

    def body(i):
        return loop(12, lambda j: c.vstore((i * 12 + j,), i * j), PARALLEL, name="j")

    check(function([c], loop(12, body, PARALLEL)), np.zeros(144, "int32"))


def test_a_call_inside_a_parallel_loop_may_be_parallel_itself():
    c, d = tir.decl_buffer((64,), "int32", "C"), tir.decl_buffer((64,), "int32", "D")
    start = te.var("start")
    fill = loop(16, lambda j: c.vstore((start + j,), start + j), PARALLEL, name="j")

    def body(i):
        arguments = (d.data, i * 16)
        return tir.Evaluate(tir.Call(DType("int32"), tvm.ir.GlobalVar("fill"), arguments))

    main = function([d], loop(4, body, PARALLEL))
    code = compiled(main, fill=function([c, start], fill, "fill"))
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.function_address("f"))
    target = np.zeros(64, "int32")
    for _ in range(50):
        target[:] = 0
        assert run(target.ctypes.data) == 0
        np.testing.assert_array_equal(target, np.arange(64))


def test_workspaces_inside_of_parallel_loops():
    n = te.var("n")
    c = tir.decl_buffer((64,), "float32", "C")
    data = tir.Var("W", DType("handle"), tvm.ir.PointerType(tvm.ir.PrimType(DType("float32"))))
    w = tir.decl_buffer((n,), "float32", "W", data=data)

    def body(i):
        fill = loop(n, lambda j: w.vstore((j,), tir.Cast(w.dtype, i)), name="j")
        total = loop(n, lambda j: c.vstore((i,), c[i] + w[j]), name="j")
        return tir.Allocate(data, w.dtype, (n,), const(True), tir.seq(fill, total))

    run = native(function([c, n], loop(64, body, PARALLEL)))
    target = np.zeros(64, "float32")
    assert run(target, 3000) == 0
    np.testing.assert_array_equal(target, np.arange(64) * 3000)
    assert 'c"f: not enough memory for the workspace W' in run.code.llvm_ir


def product(kind):
    """C[i, 0:64] += A[i, k] * B[k, 0:64] with the loop over i of a kind."""
    a = tir.decl_buffer((256 * 256,), "float32", "A")
    b = tir.decl_buffer((256 * 64,), "float32", "B")
    c = tir.decl_buffer((256 * 64,), "float32", "C")

    def update(i, k):
        def column(j):
            def at(start):
                return tir.Ramp(start + j * 16, const(1), 16)

            value = tir.Broadcast(a[i * 256 + k], 16) * b.vload((at(k * 64),))
            return c.vstore((at(i * 64),), c.vload((at(i * 64),)) + value)

        return tir.seq(*(column(j) for j in range(4)))

    body = loop(256, lambda i: loop(256, lambda k: update(i, k), name="k"), kind)
    func = over_pointers(function([a, b, c], body, **{"tir.noalias": True}))
    return legalize_for(func, AVX512)


def test_a_parallel_body_is_the_code_of_the_serial_loop():
    """Which memory has no alias is known in it."""

    def vector_instructions(kind):
        code = compile_module(IRModule({"f": product(kind)}), AVX512)
        return re.findall(r"^\t(v\S+)", code.assembly, re.MULTILINE), code

    serial, _ = vector_instructions(tir.ForKind.SERIAL)
    shared, code = vector_instructions(PARALLEL)
    assert sorted(shared) == sorted(serial)
    assert code.llvm_ir.count("ptr noalias") == 6


def test_a_part_takes_the_memory_of_its_iterations_once():
    data = tir.Var("W", DType("handle"), tvm.ir.PointerType(tvm.ir.PrimType(DType("float32"))))
    w, c = tir.decl_buffer((1 << 16,), "float32", "W", data=data), tir.decl_buffer((64,), "float32")

    def body(i):
        fill = loop(1 << 16, lambda j: w.vstore((j,), tir.Cast(w.dtype, i)), name="j")
        use = c.vstore((i,), w[0] + w[(1 << 16) - 1])
        return tir.Allocate(data, w.dtype, (const(1 << 16),), const(True), tir.seq(fill, use))

    func = function([c], loop(64, body, PARALLEL))
    check(func, np.zeros(64, "float32"))
    part = compiled(func).llvm_ir.split("@tilewright.part0(")[1]
    assert part.index('@"tilewright_workspace_allocate"') < part.index(" phi ")


# --- how they are divided -------------------------------------------------------------------------


def divided(body, extent=1000, annotations=None):
    """A parallel loop over `body(i)`."""
    var, notes = te.var("i"), annotations or {}
    return tir.For(var, const(0), as_int(extent), PARALLEL, body(var), annotations=notes)


@pytest.mark.parametrize(
    "schedule", ["static", "dynamic", "dynamic,1", "dynamic, 7", "dynamic,5000"]
)
def test_dynamic_parts_give_the_same(schedule):
    a = np.random.default_rng(0).normal(size=1000).astype("float32")
    n = te.var("n")
    x, c = (tir.decl_buffer((n,), "float32", name) for name in "AC")
    notes = {"pragma_parallel_schedule": schedule}
    run = native(function([x, c], divided(lambda i: c.vstore((i,), x[i] * 2.0), n, notes)))
    for count in (0, 1, 5, 999):
        result = np.zeros(1000, "float32")
        assert run(a, result, count) == 0
        np.testing.assert_array_equal(result[:count], a[:count] * 2)
        assert not result[count:].any()


def arguments_of_the_pool(stmt, *params):
    """The least iterations of a part, and whether parts are dynamic; None for a serial loop."""
    text = compiled(function(params, stmt)).llvm_ir
    found = re.search(
        r"call i32 @tilewright_parallel\(.*, i64 (\S+), i64 \S+, i32 0, i1 (\w+)\)", text
    )
    return found and (found[1], found[2])


def test_loops_that_are_not_worth_it_are_serial(monkeypatch):
    monkeypatch.setattr(parallel, "LEAST_WORK", 10_000)
    a = tir.decl_buffer((1 << 20,), "float32", "A")

    def scale(i):
        return a.vstore((i,), a[i] * 2.0)

    assert arguments_of_the_pool(divided(scale), a) is None
    least, dynamic = arguments_of_the_pool(divided(scale, 1 << 20), a)
    assert 1000 <= int(least) <= 10_000
    assert dynamic == "false"

    def rows(i):
        return loop(1 << 15, lambda j: a.vstore((i * 32 + j,), 1.0), name="j")

    assert arguments_of_the_pool(divided(rows, 3), a) == ("1", "false")
    # What the user says holds, however little there is to do.
    notes = {"pragma_parallel_schedule": "dynamic,4"}
    assert arguments_of_the_pool(divided(scale, 100, notes), a) == ("4", "true")
    assert arguments_of_the_pool(divided(scale, 4, notes), a) is None
    # What a function does is not known.
    call = tir.Evaluate(tir.call_extern("int32", "abs", const(1)))
    assert arguments_of_the_pool(divided(lambda i: call, 2), a) == ("1", "false")


def test_whether_it_is_worth_it_is_decided_when_sizes_are_known(monkeypatch):
    monkeypatch.setattr(parallel, "LEAST_WORK", 10_000)
    m = te.var("m")
    a = tir.decl_buffer((64, m), "int32", "A")
    flat = tir.decl_buffer((64 * m,), "int32", "A", data=a.data)

    def row(i):
        return loop(m, lambda j: flat.vstore((i * m + j,), i + j), name="j")

    least, _ = arguments_of_the_pool(divided(row, 64), flat)
    assert least.startswith("%")
    run = native(function([flat], divided(row, 64)))
    for columns in (1, 5, 4000):
        result = np.zeros((64, columns), "int32")
        assert run(result, columns) == 0
        np.testing.assert_array_equal(result, np.add.outer(np.arange(64), np.arange(columns)))


def test_a_wrong_annotation_is_refused():
    a = tir.decl_buffer((1000,), "float32", "A")
    for value in ("guided", "dynamic,0", "static,4", 3):
        stmt = divided(
            lambda i: a.vstore((i,), 1.0), annotations={"pragma_parallel_schedule": value}
        )
        with pytest.raises(LoweringError, match="'static', 'dynamic' or 'dynamic,CHUNK'"):
            compiled(function([a], stmt))


# --- errors ---------------------------------------------------------------------------------------


def failing_module():
    """A packed function that fails in iteration 700 of a parallel loop."""
    n = te.size_var("n")
    a = tir.decl_buffer((n,), "float32", "A")

    def body(i):
        error = op.raise_error("IndexError", "iteration %lld of %lld", i, n)
        check = tir.IfThenElse(tir.EQ(i, const(700)), tir.Evaluate(error), None)
        return tir.seq(check, a.vstore((i,), a[i] + 1.0))

    handle = te.var("A", "handle")
    attrs = {"global_symbol": "main"}
    func = tir.PrimFunc((handle,), loop(n, body, PARALLEL), buffer_map={handle: a}, attrs=attrs)
    return tvm.build(func, target="llvm")


def test_an_error_in_a_worker_reaches_the_caller():
    main = failing_module()["main"]
    for _ in range(10):
        with pytest.raises(IndexError, match="iteration 700 of 1000"):
            main(np.zeros(1000, "float32"))
        short = np.zeros(600, "float32")
        main(short)
        np.testing.assert_array_equal(short, 1)


def test_a_python_exception_in_a_worker_reaches_the_caller():
    def complain(i):
        if i == 37:
            raise KeyError("thirty-seven")

    tvm.register_func("test.parallel.complain", complain, override=True)
    a = tir.decl_buffer((64,), "float32", "A")
    body = loop(64, lambda i: tir.Evaluate(op.call_packed("test.parallel.complain", i)), PARALLEL)
    handle = te.var("A", "handle")
    attrs = {"global_symbol": "main"}
    func = tir.PrimFunc((handle,), body, buffer_map={handle: a}, attrs=attrs)
    with pytest.raises(KeyError, match="thirty-seven"):
        tvm.build(func, target="llvm")["main"](np.zeros(64, "float32"))


# --- targets --------------------------------------------------------------------------------------


def test_num_cores_of_the_target():
    func = scaled_copy()
    assert "tilewright_parallel" not in compiled(func, Target("llvm -num-cores=1")).llvm_ir
    assert "i32 3, i1 false)" in compiled(func, Target("llvm -num-cores=3")).llvm_ir


@pytest.mark.parametrize("triple", ["wasm32-unknown-unknown", "aarch64-apple-darwin"])
def test_elsewhere_the_loop_is_serial(triple):
    code = compiled(scaled_copy(), Target(f"llvm -mtriple={triple}"))
    assert "tilewright_parallel" not in code.llvm_ir


def test_an_exported_library_has_its_own_pool(tmp_path):
    code, library = tmp_path / "f.o", tmp_path / "f.so"
    code.write_bytes(compiled(scaled_copy()).object_code())
    link_shared(str(library), [str(code)])
    f = ctypes.CDLL(str(library)).f
    a, c = np.arange(999, dtype="float32"), np.zeros(999, "float32")
    arguments = (ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(c.ctypes.data))
    for _ in range(5):
        assert f(*arguments, ctypes.c_float(2.0), 999) == 0
        np.testing.assert_allclose(c, expected(a, 2.0))
