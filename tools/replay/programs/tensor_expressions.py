"""Schedules of tensor expressions, step by step from the loops as written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tools.replay.program import VECTORS, Program
from tools.replay.record import compiled

from tilewright import te, tir

SIZE = 256

Scheduled: TypeAlias = tuple[te.Schedule, list[Any]]
"""A schedule and the parameters."""

Step: TypeAlias = Callable[[Any, Any], None]
"""Schedules a product of matrices, given the `te.Schedule` and the tensor."""


def product(dtype: str = "float32", size: Any = SIZE) -> tuple[Any, Any, Any]:
    """A, B and C = A @ B."""
    A, B = (te.placeholder((size, size), dtype, name) for name in "AB")
    k = te.reduce_axis((0, size), "k")
    return A, B, te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), "C")


def product_steps() -> dict[str, Step]:
    """Schedules of a product of matrices."""

    def as_written(s: Any, C: Any) -> None:
        pass

    def reordered(s: Any, C: Any) -> None:
        i, j = C.op.axis
        s[C].reorder(i, C.op.reduce_axis[0], j)

    def blocked(s: Any, C: Any) -> None:
        i, j, ii, ji = s[C].tile(*C.op.axis, 32, 32)
        ko, ki = s[C].split(C.op.reduce_axis[0], 4)
        s[C].reorder(i, j, ko, ki, ii, ji)

    def uneven(s: Any, C: Any) -> None:
        i, j, ii, ji = s[C].tile(*C.op.axis, 24, 20)
        s[C].reorder(i, j, C.op.reduce_axis[0], ii, ji)

    def vectorized(s: Any, C: Any) -> None:
        blocked(s, C)
        s[C].vectorize(s[C].leaf_iter_vars[-1])

    def parallel(s: Any, C: Any) -> None:
        vectorized(s, C)
        s[C].parallel(s[C].leaf_iter_vars[0])

    def unrolled(s: Any, C: Any) -> None:
        vectorized(s, C)
        s[C].unroll(s[C].leaf_iter_vars[3])

    def cached(s: Any, C: Any) -> None:
        local = s.cache_write(C, "local")
        i, j, *_ = s[C].tile(*C.op.axis, 32, 32)
        s[local].compute_at(s[C], j)
        ko, ki = s[local].split(local.op.reduce_axis[0], 4)
        y, x = local.op.axis
        s[local].reorder(ko, y, ki, x)
        s[local].vectorize(x)
        s[local].unroll(ki)
        s[C].parallel(i)

    def factored(s: Any, C: Any) -> None:
        _, ki = s[C].split(C.op.reduce_axis[0], 16)
        s.rfactor(C, ki)

    steps = (
        as_written, reordered, blocked, uneven, vectorized, parallel, unrolled, cached, factored,
    )  # fmt: skip
    return {step.__name__.replace("_", " "): step for step in steps}


def scheduled_product(
    step: Step, dtype: str = "float32", size: Any = SIZE
) -> Callable[[], Scheduled]:
    """Makes the schedule of a product."""

    def make() -> Scheduled:
        A, B, C = product(dtype, size)
        s = te.create_schedule(C.op)
        step(s, C)
        return s, [A, B, s.outputs[0].output(0)]

    return make


def packed() -> Scheduled:
    """B in panels, which are read by vectors."""
    A, B = te.placeholder((SIZE, SIZE), name="A"), te.placeholder((SIZE, SIZE), name="B")
    k = te.reduce_axis((0, SIZE), "k")
    panels = te.compute((SIZE // 16, SIZE, 16), lambda p, r, x: B[r, p * 16 + x], "panels")
    C = te.compute(
        (SIZE, SIZE), lambda i, j: te.sum(A[i, k] * panels[j // 16, k, j % 16], axis=k), "C"
    )
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    i, j, ii, ji = s[C].tile(i, j, 4, 16)
    s[C].reorder(i, j, k, ii, ji)
    s[C].vectorize(ji)
    s[C].unroll(ii)
    s[panels].vectorize(panels.op.axis[2])
    s[panels].parallel(panels.op.axis[0])
    return s, [A, B, C]


def column_sums() -> Scheduled:
    """Sums along columns, in two stages with a function of each element."""
    A = te.placeholder((100, 70), name="A")
    B = te.compute(A.shape, lambda i, j: te.exp(A[i, j]), "B")
    k = te.reduce_axis((0, 100), "k")
    C = te.compute((70,), lambda j: te.sum(B[k, j], axis=k), "C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    jo, ji = s[C].split(C.op.axis[0], 8)
    s[C].reorder(jo, k, ji)
    s[C].vectorize(ji)
    return s, [A, C]


def blur(size: Any) -> Callable[[], Scheduled]:
    """Two one-dimensional windows, the first at the rows of the second."""

    def make() -> Scheduled:
        X = te.placeholder((size, 128), name="X")
        Y = te.compute((size, 126), lambda i, j: X[i, j] + X[i, j + 1] + X[i, j + 2], "Y")
        Z = te.compute((size - 2, 126), lambda i, j: Y[i, j] + Y[i + 1, j] + Y[i + 2, j], "Z")
        s = te.create_schedule(Z.op)
        io, _ = s[Z].split(Z.op.axis[0], 8)
        s[Y].compute_at(s[Z], io)
        s[Z].parallel(io)
        s[Y].vectorize(s[Y].split(Y.op.axis[1], 16)[1])
        return s, [X, Z]

    return make


def recurrence() -> Scheduled:
    """Sums of all earlier rows."""
    X = te.placeholder((40, 32), name="X")
    state = te.placeholder((40, 32), name="state")
    first = te.compute((1, 32), lambda _, j: X[0, j], "first")
    update = te.compute((40, 32), lambda t, j: state[t - 1, j] + X[t, j], "update")
    result = te.scan(first, update, state, inputs=[X])
    return te.create_schedule(result.op), [X, result]


def largest_with_index() -> Scheduled:
    """The largest element of each row, and where it is: a reduction of pairs."""

    def larger(x: Any, y: Any) -> Any:
        first = x[1] >= y[1]
        return tir.Select(first, x[0], y[0]), tir.Select(first, x[1], y[1])

    def smallest(index: Any, value: Any) -> Any:
        return tir.const(-1, index), te.min_value(value)

    X = te.placeholder((64, 100), name="X")
    k = te.reduce_axis((0, 100), "k")
    argmax = te.comm_reducer(larger, smallest, name="argmax")
    index, value = te.compute((64,), lambda i: argmax((k, X[i, k]), axis=k), name="Y")
    return te.create_schedule(index.op), [X, index, value]


def of_any_size(step: Step) -> Callable[[], Scheduled]:
    """Makes the schedule of a product of matrices of a symbolic size."""
    return lambda: scheduled_product(step, size=te.var("n"))()


STEPS = product_steps()

PROGRAMS = (
    *(
        Program(f"te/product, {name}", compiled(scheduled_product(step)))
        for name, step in STEPS.items()
    ),
    *(
        Program(
            f"te/product of {dtype}, {name}",
            compiled(scheduled_product(STEPS[name], dtype)),
            VECTORS,
        )
        for dtype in ("float16", "bfloat16", "float64", "int8", "int64")
        for name in ("vectorized", "cached")
    ),
    *(
        Program(f"te/product of n x n, {name}", compiled(of_any_size(STEPS[name])))
        for name in ("as written", "uneven", "parallel")
    ),
    Program("te/product, packed panels", compiled(packed)),
    Program("te/sums of columns", compiled(column_sums)),
    Program("te/blur", compiled(blur(64))),
    Program("te/blur of n rows", compiled(lambda: blur(te.var("n"))())),
    Program("te/recurrence", compiled(recurrence)),
    Program("te/largest with index", compiled(largest_with_index)),
)
