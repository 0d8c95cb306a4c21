"""Loads, stores, and memory of the program's own."""

import numpy as np
import pytest
from tests.target.llvm.programs import as_int, check, compiled, function, loop, native

from tilewright import te, tir
from tilewright.ir import DType, PointerType, PrimType, const
from tilewright.tir import op

DTYPES = ("float32", "float64", "int8", "uint16", "int64", "bool", "float16", "bfloat16")


def array(count, dtype, seed=0):
    values = np.random.default_rng(seed).integers(-100, 100, count)
    return (values % 2 if dtype == "bool" else values).astype(DType(dtype).numpy)


def ramp(base, stride, lanes):
    return tir.Ramp(base, const(stride, "int32"), lanes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stride", [1, -1, 2, 3, 4, 5, -2])
@pytest.mark.parametrize("masked", [False, True])
def test_vectors_with_strides(dtype, stride, masked):
    lanes = 8
    a, c = tir.decl_buffer((64,), dtype, "A"), tir.decl_buffer((64,), dtype, "C")

    def body(i):
        start = i * 2 + (lanes - 1) * max(-stride, 0)
        index = ramp(start, stride, lanes)
        mask = None
        if masked:
            mask = ramp(i, 1, lanes) < tir.Broadcast(const(7, "int32"), lanes)
        load = tir.BufferLoad(a, (index,), mask)
        return tir.BufferStore(c, load, (index,), mask)

    check(function([a, c], loop(4, body)), array(64, dtype), array(64, dtype, 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_gather_and_scatter_by_data(dtype):
    lanes = 4
    a, c = tir.decl_buffer((16,), dtype, "A"), tir.decl_buffer((16,), dtype, "C")
    positions = tir.decl_buffer((16,), "int32", "P")

    def body(i):
        index = tir.BufferLoad(positions, (ramp(i * lanes, 1, lanes),))
        return tir.BufferStore(c, tir.BufferLoad(a, (index,)), (index,))

    order = np.random.default_rng(3).permutation(16).astype("int32")
    check(function([a, positions, c], loop(4, body)), array(16, dtype), order, array(16, dtype, 1))


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("is_masked", [False, True])
def test_lanes_that_are_not_accessed_touch_no_memory(stride, is_masked):
    """A whole page after the array is missing; the mask, or the last lane, ends at the array."""
    import mmap

    lanes, count = 16, 10 if is_masked else 16
    size = (count - 1) * stride + 1
    a, c = tir.decl_buffer((size,), "float32", "A"), tir.decl_buffer((size,), "float32", "C")
    mask = ramp(const(0, "int32"), 1, lanes) < tir.Broadcast(const(count, "int32"), lanes)
    mask = mask if is_masked else None
    index = ramp(const(0, "int32"), stride, lanes)
    body = tir.BufferStore(c, tir.BufferLoad(a, (index,), mask), (index,), mask)
    run = native(function([a, c], body))
    memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    page = np.frombuffer(memory, "float32", mmap.PAGESIZE // 4)
    import ctypes

    address = page.ctypes.data
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(address + mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0
    source, target = page[-size:], np.zeros(size, "float32")
    source[:] = np.arange(size)
    assert run(source, target) == 0
    assert run(target, source) == 0
    np.testing.assert_array_equal(target[::stride], np.arange(size)[::stride])
    assert libc.mprotect(ctypes.c_void_p(address + mmap.PAGESIZE), mmap.PAGESIZE, 3) == 0


def test_broadcast_loads():
    a, c = tir.decl_buffer((8,), "float32", "A"), tir.decl_buffer((64,), "float32", "C")
    body = loop(8, lambda i: tir.BufferStore(
        c, tir.BufferLoad(a, (tir.Broadcast(i, 8),)), (ramp(i * 8, 1, 8),)))  # fmt: skip
    check(function([a, c], body), array(8, "float32"), array(64, "float32"))


def test_arrays_need_no_more_than_element_alignment():
    from tests.target.llvm.programs import elementwise

    run = native(elementwise(lambda x: x + x, 32, "float32", lanes=16))
    for shift in range(1, 16):
        source = np.zeros(64, "float32")[shift : shift + 32]
        target = np.zeros(64, "float32")[shift : shift + 32]
        source[:] = np.arange(32)
        assert run(source, target) == 0
        np.testing.assert_array_equal(target, 2 * source)


def test_an_index_that_statements_share_follows_its_variables():
    """Where no loop is written for one iteration, the variable is the same, and its value not."""
    a, b = (tir.decl_buffer((64,), "float32", name) for name in "ab")
    i = te.var("i", "int32")
    index = i * 3 + 1
    copy = tir.BufferStore(b, a[index] + 1.0, (index,))
    several = tir.seq(copy, tir.IfThenElse(a[index] > 0.0, copy), copy)
    loops = (tir.For(i, as_int(n), as_int(1), tir.ForKind.SERIAL, several) for n in (0, 4, 9))
    lets = (tir.LetStmt(i, as_int(n), copy) for n in (15, 20))
    check(function([a, b], tir.seq(*loops, *lets)), array(64, "float32"), np.zeros(64, "float32"))


def test_symbolic_strides():
    n, m = te.var("n"), te.var("m")
    a = tir.decl_buffer((100,), "float32", "A")
    c = tir.decl_buffer((100,), "float32", "C")
    body = loop(n, lambda i: loop(m, lambda j: c.vstore((i * m + j,), a[j * n + i]), name="j"))
    func = function([a, c, n, m], body)
    check(func, array(100, "float32"), array(100, "float32"), 7, 9)


def test_indices_beyond_32_bits():
    """An element 2**31 elements away, of which only that page exists."""
    import mmap

    a = tir.decl_buffer(((1 << 31) + 64,), "int8", "A")
    i = te.var("i", "int32")
    big = tir.Cast(DType("int64"), i) * const(1 << 24, "int64") + 5
    run = native(function([a, i], a.vstore((big,), const(7, "int8"))))
    memory = mmap.mmap(-1, (1 << 31) + 4096, flags=mmap.MAP_PRIVATE | 0x4000)  # no reserve
    view = np.frombuffer(memory, "int8")
    assert run(view, 128) == 0
    assert view[(1 << 31) + 5] == 7


# --- memory of the program ------------------------------------------------------------------------


def allocated(extents, dtype, body, scope="global"):
    """`body(buffer)` with a buffer of a fresh allocation."""
    data = te.var("W", "handle")
    data = tir.Var("W", DType("handle"), PointerType(PrimType(DType(dtype)), scope))
    count = 1
    for extent in extents:
        count = count * extent
    buffer = tir.decl_buffer((count,), dtype, "W", data=data)
    extents = tuple(const(e, "int32") if isinstance(e, int) else e for e in extents)
    return tir.Allocate(data, DType(dtype), extents, const(True), body(buffer))


def reversed_copy(n, a, c):
    """C = A backwards, by way of a workspace of `n` elements."""

    def body(w):
        fill = loop(n, lambda i: w.vstore((i,), a[n - 1 - i]))
        return tir.seq(fill, loop(n, lambda i: c.vstore((i,), w[i])))

    return body


@pytest.mark.parametrize("count", [1, 100, 5000, 100_000])
def test_workspaces_of_constant_size(count):
    a, c = (tir.decl_buffer((count,), "float64", name) for name in "AC")
    func = function([a, c], allocated((count,), "float64", reversed_copy(count, a, c)))
    run, source = native(func), array(count, "float64")
    for _ in range(3):
        target = np.zeros(count)
        assert run(source, target) == 0
        np.testing.assert_array_equal(target, source[::-1])


def test_workspaces_of_symbolic_size():
    n = te.var("n")
    a, c = (tir.decl_buffer((n,), "int32", name) for name in "AC")
    func = function([a, c], allocated((n,), "int32", reversed_copy(n, a, c)))
    run = native(func)
    for count in (0, 1, 10, 100_000, 10):
        source, target = array(count, "int32"), np.zeros(count, "int32")
        assert run(source, target, count) == 0
        np.testing.assert_array_equal(target, source[::-1])


def test_nested_workspaces_are_different_memory():
    a = tir.decl_buffer((4,), "int64", "A")
    n = te.var("n")

    def level(depth, outer):
        def body(w):
            write = w.vstore((0,), const(depth, "int64"))
            if depth == 4:
                stores = [a.vstore((k,), b[0]) for k, b in enumerate([*outer, w])]
                return tir.seq(write, *stores)
            return tir.seq(write, level(depth + 1, [*outer, w]))

        return allocated((n,), "int64", body)

    target = np.zeros(4, "int64")
    assert native(function([a, n], level(1, [])))(target, 1000) == 0
    np.testing.assert_array_equal(target, [1, 2, 3, 4])


@pytest.mark.parametrize("extents", [(1 << 30, 1 << 30), (1 << 31 - 1, 1 << 30, 1 << 30)])
def test_too_much_memory_is_an_error(extents, capfd):
    n = te.var("n", "int64")
    c = tir.decl_buffer((1,), "int8", "C")
    sizes = (n, *(const(e, "int64") for e in extents))
    data = tir.Var("W", DType("handle"), PointerType(PrimType(DType("int8"))))
    w = tir.decl_buffer((1,), "int8", "W", data=data)
    body = tir.seq(w.vstore((0,), const(1, "int8")), c.vstore((0,), w[0]))
    func = function([c, n], tir.Allocate(data, DType("int8"), sizes, const(True), body))
    run = native(func)
    target = np.zeros(1, "int8")
    assert run(target, 1 << 20) == -1
    assert target[0] == 0


def test_constants_of_the_program():
    for dtype in DTYPES:
        values = array(300, dtype)
        data = tir.Var("K", DType("handle"), PointerType(PrimType(DType(dtype))))
        k = tir.decl_buffer((300,), dtype, "K", data=data)
        c = tir.decl_buffer((300,), dtype, "C")
        body = loop(300, lambda i, c=c, k=k: c.vstore((i,), k[299 - i]))
        stmt = tir.AllocateConst(data, DType(dtype), (const(300),), values, body)
        target = np.zeros_like(values)
        assert native(function([c], stmt))(target) == 0
        np.testing.assert_array_equal(target.view("uint8"), values[::-1].copy().view("uint8"))


def test_local_arrays_become_registers():
    a = tir.decl_buffer((16,), "float32", "A")

    def body(w):
        index = (ramp(const(0, "int32"), 1, 16),)
        start = tir.BufferStore(w, tir.Broadcast(const(0.0, "float32"), 16), index)
        add = tir.BufferStore(w, w.vload(index) + a.vload(index), index)
        return tir.seq(start, loop(8, lambda i: add), tir.BufferStore(a, w.vload(index), index))

    func = function([a], allocated((16,), "float32", body, "local"))
    source = array(16, "float32")
    check(func, source)
    assembly = compiled(func).assembly
    assert "(%rsp" not in assembly
    assert "(%rbp" not in assembly


def test_prefetch_may_lie_outside():
    a = tir.decl_buffer((16,), "float32", "A")
    far = op.prefetch_address(a[const(1 << 20, "int32")], 0, 3)
    func = function([a], tir.seq(tir.Evaluate(far), a.vstore((0,), const(1.0, "float32"))))
    run, target = native(func), np.zeros(16, "float32")
    assert run(target) == 0
    assert target[0] == 1
    assert "llvm.prefetch" in run.code.llvm_ir


@pytest.mark.parametrize("lanes", [2, 3, 4])
def test_buffers_of_vectors(lanes):
    dtype = f"float32x{lanes}"
    a, c = tir.decl_buffer((8,), dtype, "A"), tir.decl_buffer((8,), dtype, "C")
    body = loop(8, lambda i: c.vstore((i,), a[7 - i] + c[i]))
    source, target = array(8 * lanes, "float32"), array(8 * lanes, "float32", 1)
    expected = target + source.reshape(8, lanes)[::-1].reshape(-1)
    assert native(function([a, c], body))(source, target) == 0
    np.testing.assert_array_equal(target, expected)


def test_positions_are_computed_with_64_bits():
    n = te.var("n")
    a = tir.decl_buffer((n * n,), "int8", "A")
    i, j = te.var("i"), te.var("j")
    text = compiled(function([a, i, j, n], a.vstore((i * n + j,), const(1, "int8")))).llvm_ir
    assert "mul i64" in text
    assert "mul i32" not in text
