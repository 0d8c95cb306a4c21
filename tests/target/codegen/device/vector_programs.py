"""Programs that access memory by vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.target.codegen.device.programs import (
    FLOATS,
    INTEGERS,
    Program,
    named,
    plain_matmul,
    program,
)

from tilewright import te, tir
from tilewright.script import tir as T

THREADS = 4


def vector_product(n: int = 32) -> tir.Schedule:
    """A product whose tiles come into shared memory by vectors, and results into global memory."""
    sch = tir.Schedule(plain_matmul(n))
    block = sch.get_block("C")
    local = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    by, ty, i = sch.split(i, [None, THREADS, 4])
    bx, tx, j = sch.split(j, [None, THREADS, 4])
    k, inner = sch.split(k, [None, 8])
    sch.reorder(by, bx, ty, tx, k, inner, i, j)
    sch.vectorize(j)
    sch.reverse_compute_at(local, tx)
    sch.vectorize(sch.get_loops(local)[-1])
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y")):
        sch.bind(loop, axis)
    sch.bind(tx, "threadIdx.x")
    for operand in (0, 1):
        shared = sch.cache_read(block, operand, "shared")
        sch.compute_at(shared, k)
        copied = sch.fuse(*sch.get_loops(shared)[-2:])
        _, y, x, vector = sch.split(copied, [None, THREADS, THREADS, 4])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        sch.vectorize(vector)
    sch.decompose_reduction(block, k)
    return sch


@program
def vectors_through_shared_memory() -> Program:
    return Program(
        named(vector_product().mod["main"], "vectors_through_shared_memory"), plain_matmul(32)
    )


def by_vectors(name: str, lanes: int, *arguments: Any) -> Program:
    """A function whose outputs are computed by threads, each some elements."""
    func = te.create_prim_func(arguments)
    sch = tir.Schedule(func)
    for block in sch.get_child_blocks(sch.get_block("root")):
        *_, loop = sch.get_loops(block)
        outer, thread, vector = sch.split(loop, [None, THREADS, lanes])
        sch.bind(outer, "blockIdx.x")
        sch.bind(thread, "threadIdx.x")
        sch.vectorize(vector)
    return Program(named(sch.mod["main"], name), func)


FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x,
    lambda x: tir.Select(x > tir.const(1, x.dtype), x * x, x + x).astype("float32"),
)


@program
def vectors_of_all_types() -> Program:
    """Copies, arithmetic, casts, comparisons."""
    dtypes = (*FLOATS, *INTEGERS)
    inputs = [te.placeholder((128,), dtype, name=f"in_{dtype}") for dtype in dtypes]
    outputs = [
        te.compute((128,), lambda i, x=x, f=f: f(x[i]), name=f"out_{x.dtype}_{number}")
        for x in inputs
        for number, f in enumerate(FUNCTIONS)
    ]
    return by_vectors("vectors_of_all_types", 16, *inputs, *outputs)


@program
def vectors_of_truth_values() -> Program:
    a, b = (te.placeholder((64,), dtype, name=dtype) for dtype in ("float32", "bool"))
    less = te.compute((64,), lambda i: tir.And(b[i], a[i] < 0.5), name="less")
    chosen = te.compute((64,), lambda i: tir.if_then_else(b[i], a[i], 1.0), name="chosen")
    return by_vectors("vectors_of_truth_values", 8, a, b, less, chosen)


@program
def vectors_and_single_elements() -> Program:
    """Addresses that suit vectors, and others."""
    a = te.placeholder((132,), name="A")
    parts = [
        te.compute((64,), lambda i: a[i] + a[i + 1] * a[i + 2], name="shifted"),
        te.compute((64,), lambda i: a[i * 2] - a[i + 64], name="gathered"),
        te.compute((64,), lambda i: a[63 - i], name="reversed"),
        te.compute((64,), lambda i: tir.if_then_else(i > 1, a[i - 2], a[0]), name="padded"),
        te.compute((60,), lambda i: tir.exp(a[i + 4]), name="rest"),
    ]
    return by_vectors("vectors_and_single_elements", 4, a, *parts)


@program
def vectors_of_rows_around_a_matrix() -> Program:
    """Rows above and below a matrix are zeros: there is no memory to load them from."""
    a = te.placeholder((3, 32), name="A")

    def padded(i, j):
        return tir.if_then_else(tir.all(i >= 1, i < 4), a[i - 1, j] * 2.0, 0.0) + 1.0

    return by_vectors("vectors_of_rows_around_a_matrix", 4, a, te.compute((5, 32), padded, "B"))


@program
def vectors_of_rows_that_end_early() -> Program:
    """As many elements as nobody knows: the last ones come one by one."""
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    return by_vectors(
        "vectors_of_rows_that_end_early", 4, a, te.compute((n,), lambda i: a[i] * 2.0, name="B")
    )


@program
def vectors_that_are_transposed() -> Program:
    """A row by vectors into columns of shared memory, and elements of them into vectors."""

    @T.prim_func
    def vectors_that_are_transposed(
        A: T.Buffer((16, 16), "float16"), B: T.Buffer((16, 16), "float16")
    ):
        T.func_attr({"global_symbol": "vectors_that_are_transposed"})
        memory = T.allocate([8, 24], "float16", "shared")
        tile = T.Buffer((8, 24), "float16", data=memory, scope="shared")
        for b in T.thread_binding(2, thread="blockIdx.x"):
            for i in T.thread_binding(16, thread="threadIdx.y"):
                for v in T.vectorized(8):
                    tile[v, i] = A[i, b * 8 + v]
            for i in T.thread_binding(8, thread="threadIdx.y"):
                for j in T.thread_binding(2, thread="threadIdx.x"):
                    for v in T.vectorized(8):
                        B[b * 8 + i, j * 8 + v] = tile[i, j * 8 + v]

    return Program(vectors_that_are_transposed)


@program
def vectors_written_by_hand() -> Program:
    """Slices of buffers, values that several statements use, and an order that must be kept."""

    @T.prim_func
    def vectors_written_by_hand(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"global_symbol": "vectors_written_by_hand"})
        for i in T.thread_binding(8, thread="threadIdx.x"):
            B[i * 8 : i * 8 + 4] = A[i * 8 : i * 8 + 4] * T.Broadcast(T.float32(3), 4)
            for v in T.vectorized(4):
                square: T.float32 = A[i * 8 + v] * A[i * 8 + v]
                if v < 3 and square > A[i * 8 + 7 - v]:
                    B[i * 8 + 4 + v] = square + T.float32(1)
            A[T.Ramp(i * 8, 2, 4)] = A[T.Ramp(i * 8 + 1, 1, 4)]

    return Program(vectors_written_by_hand)
