"""Programs whose threads add to the same elements."""

from __future__ import annotations

from tests.target.codegen.device.programs import Program, program

from tilewright.script import tir as T


def histogram(dtype: str) -> Program:
    """Values are added up by their class, by threads of several blocks."""

    @T.prim_func
    def histogram(
        classes: T.Buffer((3, 40), "int32"),
        values: T.Buffer((3, 40), dtype),
        sums: T.Buffer((6,), dtype),
    ):
        for i in T.thread_binding(3, thread="blockIdx.x"):
            for j in T.thread_binding(40, thread="threadIdx.x"):
                T.evaluate(T.atomic_add(sums[T.floormod(classes[i, j], 6)], values[i, j]))

    return Program(histogram.with_attr("global_symbol", f"histogram_{dtype}"))


@program
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


@program
def tickets() -> Program:
    """Each thread gets a number of its own."""

    @T.prim_func
    def tickets(count: T.Buffer((1,), "int32"), owner: T.Buffer((64,), "int32")):
        for _ in T.thread_binding(64, thread="threadIdx.x"):
            owner[T.floormod(T.atomic_add(count[0], 1), 64)] = 1

    return Program(tickets)


def _histogram_of(dtype: str) -> None:
    """Register the histogram of a dtype as a program."""

    def make() -> Program:
        return histogram(dtype)

    make.__name__ = f"histogram_{dtype}"
    program(make)


for _dtype in ("int32", "uint32", "int64", "float16", "float32", "float64"):
    _histogram_of(_dtype)
