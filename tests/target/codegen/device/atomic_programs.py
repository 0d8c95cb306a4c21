"""Programs whose threads add to the same elements."""

from __future__ import annotations

from typing import Any

from tests.target.codegen.device.programs import Program

from tilewright.script import tir as T


def histogram(dtype: str) -> Program:
    """Values are added up by their class, by threads of several blocks."""

    @T.prim_func
    def histogram(
        classes: T.Buffer((3, 40), "int32"),
        values: T.Buffer((3, 40), dtype),
        sums: T.Buffer((5,), dtype),
    ):
        for i in T.thread_binding(3, thread="blockIdx.x"):
            for j in T.thread_binding(40, thread="threadIdx.x"):
                T.evaluate(T.atomic_add(sums[T.floormod(classes[i, j], 5)], values[i, j]))

    return Program(histogram.with_attr("global_symbol", f"histogram_{dtype}"))


def shared_histogram() -> Program:
    """The sums of a block are in shared memory first."""

    @T.prim_func
    def shared_histogram(values: T.Buffer((3, 40), "float32"), sums: T.Buffer((4,), "float32")):
        for i in T.thread_binding(3, thread="blockIdx.x"):
            memory = T.allocate([4], "float32", "shared")
            own = T.Buffer((4,), data=memory, scope="shared")
            for j in T.thread_binding(4, thread="threadIdx.x"):
                own[j] = T.float32(0)
            for j in T.thread_binding(40, thread="threadIdx.x"):
                T.evaluate(T.atomic_add(own[j % 4], values[i, j]))
            for j in T.thread_binding(4, thread="threadIdx.x"):
                T.evaluate(T.atomic_add(sums[j], own[j]))

    return Program(shared_histogram)


def tickets() -> Program:
    """Each thread gets a number of its own."""

    @T.prim_func
    def tickets(count: T.Buffer((1,), "int32"), owner: T.Buffer((64,), "int32")):
        for _ in T.thread_binding(64, thread="threadIdx.x"):
            owner[T.floormod(T.atomic_add(count[0], 1), 64)] = 1

    return Program(tickets)


ATOMIC_PROGRAMS: dict[str, Any] = {
    **{
        f"histogram_{dtype}": lambda dtype=dtype: histogram(dtype)
        for dtype in ("int32", "uint32", "int64", "float16", "float32", "float64")
    },
    "shared_histogram": shared_histogram,
    "tickets": tickets,
}
"""Programs by name."""
