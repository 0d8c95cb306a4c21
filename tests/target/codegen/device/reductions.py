"""Programs whose threads share reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.target.codegen.device.programs import Program, named, program

from tilewright import te, tir


def rows(
    reducer: Callable[..., Any] = te.sum,
    shape: tuple[Any, Any] = (4, 20),
    threads: int = 6,
    count: int = 1,
    dtype: str = "float32",
) -> tuple[tir.PrimFunc, tir.PrimFunc]:
    """A reduction of rows, of which a block of threads takes some; without and with threads."""
    a = te.placeholder(shape, dtype, name="A")
    k = te.reduce_axis((0, shape[1]), name="k")
    b = te.compute(shape[:1], lambda i: reducer(a[i, k], axis=k), name="B")
    func = te.create_prim_func([a, b])
    sch = tir.Schedule(func)
    i, k = sch.get_loops("B")
    i, row = sch.split(i, [None, count])
    _, thread = sch.split(k, [None, threads])
    sch.bind(i, "blockIdx.x")
    sch.bind(row, "threadIdx.y")
    sch.bind(thread, "threadIdx.x")
    return func, sch.mod["main"]


def reduced_rows(name: str, *arguments: Any) -> Callable[[], Program]:
    """Register a reduction of rows."""

    def make() -> Program:
        func, scheduled = rows(*arguments)
        return Program(named(scheduled, name), func)

    make.__name__ = name
    return program(make)


reduced_rows("sums_of_a_warp", te.sum, (4, 32), 32)
reduced_rows("sums_with_a_rest", te.sum, (5, 100), 16, 2)
reduced_rows("maxima_with_a_rest", te.max, (6, 37), 7, 3)
reduced_rows("sums_of_fewer_than_threads", te.sum, (2, 3), 8)
reduced_rows("sums_of_one_thread", te.sum, (3, 64), 1, 4)
reduced_rows("sums_of_halves", te.sum, (2, 40), 16, 1, "float16")
reduced_rows("sums_of_bytes", te.sum, (2, 40), 16, 1, "int8")
reduced_rows("sums_of_long_integers", te.sum, (2, 40), 16, 1, "int64")
reduced_rows("sums_of_unknown_sizes", te.sum, (te.var("n"), te.var("m")), 8, 2)


@program
def products_of_rows() -> Program:
    """A reducer of the program."""
    product = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, t), name="product")
    func, scheduled = rows(product, (3, 20), 8)
    return Program(named(scheduled, "products_of_rows"), func)


def argmax(shape: tuple[int, int] = (5, 50), threads: int = 16) -> tir.Schedule:
    """Where the maxima of rows are, and these."""

    def combine(x: Any, y: Any) -> Any:
        first = tir.any(x[1] > y[1], tir.all(x[1].equal(y[1]), x[0] < y[0]))
        return tir.Select(first, x[0], y[0]), tir.Select(first, x[1], y[1])

    reducer = te.comm_reducer(combine, lambda a, b: (tir.const(-1, a), te.min_value(b)))
    a = te.placeholder(shape, name="A")
    k = te.reduce_axis((0, shape[1]), name="k")
    index, value = te.compute(shape[:1], lambda i: reducer((k.var, a[i, k]), axis=k), name="R")
    sch = tir.Schedule(te.create_prim_func([a, index, value]))
    i, k = sch.get_loops("R")
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(k, [None, threads])[1], "threadIdx.x")
    return sch


@program
def arguments_of_maxima() -> Program:
    return Program(named(argmax().mod["main"], "arguments_of_maxima"))


@program
def sums_along_two_axes() -> Program:
    """Two axes of threads share a reduction."""
    a = te.placeholder((4, 6, 8), name="A")
    k, m = te.reduce_axis((0, 6), name="k"), te.reduce_axis((0, 8), name="m")
    b = te.compute((4,), lambda i: te.sum(a[i, k, m], axis=[k, m]), name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    axes = ("blockIdx.x", "threadIdx.y", "threadIdx.x")
    for loop, axis in zip(sch.get_loops("B"), axes, strict=True):
        sch.bind(loop, axis)
    return Program(named(sch.mod["main"], "sums_along_two_axes"))


@program
def several_sums_of_a_thread() -> Program:
    a = te.placeholder((40, 6), name="A")
    k = te.reduce_axis((0, 40), name="k")
    b = te.compute((6,), lambda j: te.sum(a[k, j], axis=k), name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    j, k = sch.get_loops("B")
    k, thread = sch.split(k, [None, 16])
    sch.reorder(k, thread, j)
    sch.bind(thread, "threadIdx.x")
    return Program(named(sch.mod["main"], "several_sums_of_a_thread"))


@program
def centred_rows() -> Program:
    """Rows less their sums, in one kernel: threads read what they have reduced."""
    a = te.placeholder((3, 40), name="A")
    k = te.reduce_axis((0, 40), name="k")
    total = te.compute((3,), lambda i: te.sum(a[i, k], axis=k), name="total")
    b = te.compute((3, 40), lambda i, j: a[i, j] - total[i], name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    i, j = sch.get_loops("B")
    sch.set_scope("total", 0, "shared")
    sch.compute_at("total", i)
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(j, [None, 16])[1], "threadIdx.x")
    sch.bind(sch.split(sch.get_loops("total")[-1], [None, 16])[1], "threadIdx.x")
    return Program(named(sch.mod["main"], "centred_rows"))


def factored() -> tuple[te.Schedule, list[te.Tensor]]:
    """Sums of rows as the tutorials write them: factorised, bound, and stored by one thread."""
    a = te.placeholder((4, 20), name="A")
    k = te.reduce_axis((0, 20), "k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=8)
    part = s.rfactor(b, inner)
    outer, row = s[b].split(s[b].op.axis[0], factor=2)
    s[b].bind(outer, te.thread_axis("blockIdx.x"))
    s[b].bind(row, te.thread_axis("threadIdx.y"))
    thread = te.thread_axis("threadIdx.x")
    s[b].bind(s[b].op.reduce_axis[0], thread)
    s[part].compute_at(s[b], s[b].op.reduce_axis[0])
    s[b].set_store_predicate(thread.var.equal(0))
    return s, [a, b]


@program
def factored_sums() -> Program:
    """A schedule of stages."""
    s, tensors = factored()
    return Program(s, te.create_prim_func(tensors), tensors)
