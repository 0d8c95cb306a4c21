"""Programs with memory that threads, blocks or kernels share, and with virtual threads."""

from __future__ import annotations

from tests.target.codegen.device.programs import Program, program

from tilewright import te
from tilewright.script import tir as T


@program
def memory_between_kernels() -> Program:
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: te.exp(a[i]), name="B")
    c = te.compute((64,), lambda i: b[63 - i] + 1.0, name="C")
    s = te.create_schedule(c.op)
    for tensor in (b, c):
        block, thread = s[tensor].split(tensor.op.axis[0], factor=16)
        s[tensor].bind(block, te.thread_axis("blockIdx.x"))
        s[tensor].bind(thread, te.thread_axis("threadIdx.x"))
    return Program(s, te.create_prim_func([a, c]), [a, c])


@program
def memory_around_a_kernel() -> Program:
    """Shared memory that is allocated outside of the loops on threads."""

    @T.prim_func
    def memory_around_a_kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "memory_around_a_kernel"})
        shared = T.allocate([8], "float32", "shared")
        cells = T.Buffer((8,), data=shared, scope="shared")
        for i in T.thread_binding(8, thread="threadIdx.x"):
            cells[i] = A[i]
            B[i] = cells[7 - i]

    a = te.placeholder((8,), name="A")
    reversed_cells = te.compute((8,), lambda i: a[7 - i], name="B")
    return Program(memory_around_a_kernel, te.create_prim_func([a, reversed_cells]))


@program
def barriers_under_conditions() -> Program:
    """Threads of a block wait for each other where all of them come, or none."""

    @T.prim_func
    def barriers_under_conditions(
        A: T.Buffer((4, 6), "int32"), n: T.int32, B: T.Buffer((2,), "int32")
    ):
        T.func_attr({"global_symbol": "barriers_under_conditions"})
        for t in T.thread_binding(2, thread="threadIdx.x"):
            memory = T.allocate([2], "int32", "shared")
            cells = T.Buffer((2,), "int32", data=memory, scope="shared")
            for i in range(4):
                for j in range(3):
                    if i + n % 2 < 4:
                        cells[t] = A[i, j * 2 + t]
                        for k in range(2):
                            if k * 2 + i < 4 and j + k < 3:
                                if i == 0 and j == 0 and k == 0 and t == 0:
                                    B[0] = -1
                                    B[1] = -100
                                best: T.int32 = T.Select(B[1] >= cells[k], B[0], i * 6 + j * 2 + k)
                                most: T.int32 = T.max(B[1], cells[k])
                                if t == 0:
                                    B[0] = best
                                    B[1] = most

    return Program(barriers_under_conditions)


def virtual_product(n: int = 16, tile: int = 8) -> tuple[te.Schedule, list[te.Tensor]]:
    """A product in the form of the classic schedule: virtual threads, and copies by all threads."""
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[k, i] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    shared = [s.cache_read(tensor, "shared", [c]) for tensor in (a, b)]
    local = [s.cache_read(tensor, "local", [c]) for tensor in shared]
    total = s.cache_write(c, "local")
    threads = {name: te.thread_axis((0, 2), f"threadIdx.{name}") for name in "xy"}
    for axis, name in zip(c.op.axis, "yx", strict=True):
        block, inner = s[c].split(axis, factor=tile)
        virtual, inner = s[c].split(inner, nparts=2)
        thread, inner = s[c].split(inner, nparts=2)
        s[c].bind(block, te.thread_axis(f"blockIdx.{name}"))
        s[c].bind(virtual, te.thread_axis((0, 2), "vthread", name=f"v{name}"))
        s[c].bind(thread, threads[name])
    loops = s[c].leaf_iter_vars
    s[c].reorder(*loops[0::4], *loops[1::4], *loops[2::4], *loops[3::4])
    s[total].compute_at(s[c], s[c].leaf_iter_vars[5])
    i, j = total.op.axis
    outer, inner = s[total].split(k, factor=8)
    s[total].reorder(outer, inner, i, j)
    for copy in shared:
        s[copy].compute_at(s[total], outer)
        y, x = copy.op.axis
        thread, x = s[copy].split(x, nparts=2)
        row, y = s[copy].split(y, nparts=2)
        s[copy].reorder(row, thread, y, x)
        s[copy].bind(row, threads["y"])
        s[copy].bind(thread, threads["x"])
    for copy in local:
        s[copy].compute_at(s[total], inner)
    return s, [a, b, c]


@program
def product_of_virtual_threads() -> Program:
    s, tensors = virtual_product()
    return Program(s, te.create_prim_func(tensors), tensors)
