"""The workflows that introductions to tensor expressions go through, each checked against numpy.

python examples/te_tutorials.py

Programs written for TVM 0.18 look like these; only the line that imports the compiler differs.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import tilewright as tvm
from tilewright import te, tir, topi

TARGET = "llvm"
RNG = np.random.default_rng(2024)


def arrays(*shapes: tuple[int, ...]) -> list[tvm.nd.NDArray]:
    """Random arrays of these shapes."""
    return [tvm.nd.array(RNG.random(shape).astype("float32")) for shape in shapes]


def vector_add() -> None:
    """A first computation: split, run in parallel, saved as a library and loaded."""
    n = te.var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    assert C.shape[0] == n
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=16)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    fadd = tvm.build(s, [A, B, C], TARGET, name="vector_add")

    a, b, c = arrays((1000,), (1000,), (1000,))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "vector_add.so")
        fadd.export_library(path)
        loaded = tvm.runtime.load_module(path)
        for function in (fadd, loaded["vector_add"]):
            function(a, b, c)
            np.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy())


def blocked_product() -> None:
    """A matrix product in blocks, with a packed operand, a write cache and several cores."""
    M = K = N = 256
    bn, kfactor = 32, 4
    k = te.reduce_axis((0, K), "k")
    A, B = te.placeholder((M, K), name="A"), te.placeholder((K, N), name="B")
    # Python divides integers to a float; an extent that is whole is an integer all the same.
    packed = te.compute((N / bn, K, bn), lambda x, y, z: B[y, x * bn + z], name="packed")
    C = te.compute(
        (M, N),
        lambda m, n: te.sum(
            A[m, k] * packed[n // bn, k, tir.indexmod(n, bn)],
            axis=k,
        ),
        name="C",
    )
    s = te.create_schedule(C.op)
    cached = s.cache_write(C, "global")
    mo, no, _, _ = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    s[cached].compute_at(s[C], no)
    mc, nc = s[cached].op.axis
    (kaxis,) = s[cached].op.reduce_axis
    ko, ki = s[cached].split(kaxis, factor=kfactor)
    s[cached].reorder(ko, mc, ki, nc)
    s[cached].vectorize(nc)
    s[cached].unroll(ki)
    s[C].parallel(mo)
    x, _, z = s[packed].op.axis
    s[packed].vectorize(z)
    s[packed].parallel(x)
    func = tvm.build(s, [A, B, C], target=TARGET, name="mmult")

    a, b, c = arrays((M, K), (K, N), (M, N))
    func(a, b, c)
    np.testing.assert_allclose(c.numpy(), a.numpy() @ b.numpy(), rtol=1e-4)
    evaluator = func.time_evaluator(func.entry_name, tvm.cpu(), number=3)
    print(f"blocked product: {evaluator(a, b, c).mean * 1e3:.2f} ms")


def tensorized_product() -> None:
    """Rows of a product by a function of our own, which compiled code calls."""
    N, M, L, factor = 32, 64, 48, 16

    @tvm.register_func("example.gemv_update", override=True)
    def gemv_update(row, column_block, result):
        total = result.numpy() + column_block.numpy() @ row.numpy()
        result.copyfrom(total)

    @tvm.register_func("example.gemv_reset", override=True)
    def gemv_reset(result):
        result.copyfrom(np.zeros(result.shape, "float32"))

    def intrin_gemv(m: int, length: int) -> te.TensorIntrin:
        a = te.placeholder((length,), name="a")
        b = te.placeholder((m, length), name="b")
        k = te.reduce_axis((0, length), name="k")
        c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
        Ab = tir.decl_buffer(a.shape, a.dtype, name="A", offset_factor=1, strides=[1])
        Bb = tir.decl_buffer(b.shape, b.dtype, name="B", offset_factor=1, strides=[te.var("s1"), 1])
        Cb = tir.decl_buffer(c.shape, c.dtype, name="C", offset_factor=1, strides=[1])

        def intrin_func(ins, outs):
            def reset():
                return tir.call_packed("example.gemv_reset", outs[0])

            def update():
                return tir.call_packed("example.gemv_update", ins[0], ins[1], outs[0])

            def body():
                ib = tir.ir_builder.create()
                ib.emit(reset())
                ib.emit(update())
                return ib.get()

            return body(), tir.Evaluate(reset()), tir.Evaluate(update())

        return te.decl_tensor_intrin(c.op, intrin_func, binds={a: Ab, b: Bb, c: Cb})

    A, B = te.placeholder((N, L), name="A"), te.placeholder((M, L), name="B")
    k = te.reduce_axis((0, L), name="k")
    C = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    x, y = C.op.axis
    (z,) = C.op.reduce_axis
    yo, yi = s[C].split(y, factor=factor)
    zo, zi = s[C].split(z, factor=factor)
    s[C].reorder(x, yo, zo, yi, zi)
    s[C].tensorize(yi, intrin_gemv(factor, factor))
    func = tvm.build(s, [A, B, C], target=TARGET, name="gemv")

    a, b, c = arrays((N, L), (M, L), (N, M))
    func(a, b, c)
    np.testing.assert_allclose(c.numpy(), a.numpy() @ b.numpy().T, rtol=1e-4)


def reductions() -> None:
    """Sums of rows, with a factored reduction, and a reduction of our own."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    BF = s.rfactor(B, ki)
    assert BF.shape[0] == 16
    del ko
    sums = tvm.build(s, [A, B], TARGET)

    product = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, dtype=t), name="product")
    k = te.reduce_axis((0, m), name="k")
    P = te.compute((n,), lambda i: product(A[i, k], axis=k), name="P")
    products = tvm.build(te.create_schedule(P.op), [A, P], TARGET)

    a, b = arrays((9, 37), (9,))
    sums(a, b)
    np.testing.assert_allclose(b.numpy(), a.numpy().sum(axis=1), rtol=1e-5)
    products(a, b)
    np.testing.assert_allclose(b.numpy(), a.numpy().prod(axis=1), rtol=1e-5)


def recurrence() -> None:
    """A scan: each row is the sum of the one before and of a new one."""
    m, n = te.var("m"), te.var("n")
    X = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    scan = te.scan(init, update, state, inputs=[X], name="scan")
    s = te.create_schedule(scan.op)
    xo, xi = s[update].split(update.op.axis[1], factor=8)
    s[update].vectorize(xi)
    del xo
    cumulated = tvm.build(s, [X, scan], TARGET, name="scan")

    x, found = arrays((12, 21), (12, 21))
    cumulated(x, found)
    np.testing.assert_allclose(found.numpy(), np.cumsum(x.numpy(), axis=0), rtol=1e-5)


def mathematics() -> None:
    """Intrinsics, functions of the C library, and conditions."""
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute(A.shape, lambda i: te.exp(A[i]) * te.sqrt(A[i]) + te.tanh(A[i]), name="B")
    C = te.compute(A.shape, lambda i: tir.call_pure_extern("float32", "expm1f", A[i]), name="C")
    D = te.compute(A.shape, lambda i: te.if_then_else(i % 2 == 0, B[i], -C[i]), name="D")
    func = tvm.build(te.create_schedule(D.op), [A, D], TARGET)

    a, d = arrays((50,), (50,))
    func(a, d)
    x = a.numpy()
    expected = np.where(np.arange(50) % 2 == 0, np.exp(x) * np.sqrt(x) + np.tanh(x), -np.expm1(x))
    np.testing.assert_allclose(d.numpy(), expected, rtol=1e-5)


def tuples() -> None:
    """Several results at once, and a reduction of pairs."""
    m, n = te.var("m"), te.var("n")
    A0, A1 = te.placeholder((m, n), name="A0"), te.placeholder((m, n), name="A1")
    B0, B1 = te.compute((m, n), lambda i, j: (A0[i, j] + 2, A1[i, j] * 3), name="B")
    both = tvm.build(te.create_schedule(B0.op), [A0, A1, B0, B1], TARGET)
    a0, a1, b0, b1 = arrays((4, 6), (4, 6), (4, 6), (4, 6))
    both(a0, a1, b0, b1)
    np.testing.assert_allclose(b0.numpy(), a0.numpy() + 2)
    np.testing.assert_allclose(b1.numpy(), a1.numpy() * 3)

    def combine(x, y):
        first = x[1] >= y[1]
        return tir.Select(first, x[0], y[0]), tir.Select(first, x[1], y[1])

    def identity(index_dtype, value_dtype):
        return tir.const(-1, index_dtype), te.min_value(value_dtype)

    argmax = te.comm_reducer(combine, identity, name="argmax")
    index = te.placeholder((m, n), dtype="int32", name="index")
    value = te.placeholder((m, n), name="value")
    k = te.reduce_axis((0, n), "k")
    T0, T1 = te.compute((m,), lambda i: argmax((index[i, k], value[i, k]), axis=k), name="T")
    func = tvm.build(te.create_schedule(T0.op), [index, value, T0, T1], TARGET)
    numbers = np.tile(np.arange(6, dtype="int32"), (4, 1))
    found, largest = np.zeros(4, "int32"), np.zeros(4, "float32")
    func(numbers, a0, found, largest)
    np.testing.assert_array_equal(found, a0.numpy().argmax(axis=1))


def external_functions() -> None:
    """Tensors that functions over whole arrays compute: in Python, and in statements of our own."""
    n, m = 24, 16

    @tvm.register_func("example.sort_rows", override=True)
    def sort_rows(x, y):
        y.copyfrom(np.sort(x.numpy(), axis=1))

    A = te.placeholder((n, m), name="A")
    B = te.extern(
        [(n, m)], [A], lambda ins, outs: tir.call_packed("example.sort_rows", ins[0], outs[0]),
        name="B", dtype="float32",
    )  # fmt: skip

    def running_maximum(ins, outs):
        ib = tir.ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n, name="i", kind="parallel") as i:
            result[i, 0] = source[i, 0]
            with ib.for_range(1, m, name="j") as j:
                result[i, j] = te.max(result[i, j - 1], source[i, j])
        return ib.get()

    C = te.extern([(n, m)], [A], running_maximum, name="C", dtype="float32")
    D = topi.add(B, C)
    func = tvm.build(te.create_schedule(D.op), [A, D], TARGET)

    a, d = arrays((n, m), (n, m))
    func(a, d)
    x = a.numpy()
    expected = np.sort(x, axis=1) + np.maximum.accumulate(x, axis=1)
    np.testing.assert_allclose(d.numpy(), expected, rtol=1e-6)


def main() -> None:
    for tutorial in (
        vector_add, blocked_product, tensorized_product, reductions, recurrence, mathematics,
        tuples, external_functions,
    ):  # fmt: skip
        tutorial()
        print(f"{tutorial.__name__}: correct")


if __name__ == "__main__":
    main()
