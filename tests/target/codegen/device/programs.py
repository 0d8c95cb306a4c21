"""Programs for devices: all of them run on OpenCL devices, under Oclgrind and by an emulation of
CUDA, and NVRTC compiles them; see `test_programs`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tilewright as tvm
from tilewright import te, tir
from tilewright.script import tir as T
from tilewright.tir.interpreter import interpret
from tilewright.tir.numerics import KERNELS


class Program(NamedTuple):
    """A program for a device.

    Attributes:
        func: what is built: a function, or a schedule of tensors.
        reference: the same without threads, for the interpreter; `func` if there is none.
        tensors: the parameters of a schedule of tensors.
    """

    func: tir.PrimFunc | te.Schedule
    reference: tir.PrimFunc | None = None
    tensors: Sequence[te.Tensor] = ()

    def build(self, target: str) -> tvm.runtime.Module:
        """The module."""
        return tvm.build(self.func, self.tensors or None, target=target)

    @property
    def meaning(self) -> tir.PrimFunc:
        """What the interpreter runs."""
        found = self.reference or self.func
        assert isinstance(found, tir.PrimFunc)
        return found


PROGRAMS: dict[str, Callable[[], Program]] = {}
"""Programs by name, of this module and of others that register theirs."""


def program(function: Callable[[], Program]) -> Callable[[], Program]:
    """Register a program."""
    PROGRAMS[function.__name__] = function
    return function


def assert_computes(program: Program, module: Any, device: tvm.runtime.Device) -> None:
    """Run a built program on a device, and compare its results with those of the interpreter."""
    func = program.meaning
    expected = arguments_of(func, np.random.default_rng(0))
    arrays = [
        tvm.nd.array(value, device) if isinstance(value, np.ndarray) else value
        for value in expected
    ]
    module(*arrays)
    interpret(func, *expected)
    for found, wanted in zip(arrays, expected, strict=True):
        if isinstance(wanted, np.ndarray):
            tolerance = 1e-2 if "float16" in str(wanted.dtype) else 1e-4
            numbers = (array.astype("float64") for array in (found.numpy(), wanted))
            np.testing.assert_allclose(*numbers, rtol=tolerance, atol=1e-5)


def arguments_of(func: tir.PrimFunc, rng: np.random.Generator) -> list[Any]:
    """Arguments of a function; sizes that it does not name are 37."""
    arguments: list[Any] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        dtype = str(param.dtype if buffer is None else buffer.dtype)
        shape = () if buffer is None else [getattr(n, "value", 37) for n in buffer.shape]
        values = rng.integers(0, 2, shape) if dtype == "bool" else rng.normal(size=shape) * 3
        array = np.asarray(values).astype(tvm.nd.empty((0,), dtype).numpy().dtype)
        arguments.append(array.item() if buffer is None else array)
    return arguments


def named(func: tir.PrimFunc, name: str) -> tir.PrimFunc:
    """The function with a symbol of its own, without which kernels of several would clash."""
    return func.with_attr("global_symbol", name)


def matmul(n: int = 32) -> Any:
    """A product in tiles of 8 rows and columns, which come into shared memory."""
    sch = tir.Schedule(plain_matmul(n))
    block = sch.get_block("C")
    local = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    by, ty, i = sch.split(i, [None, 4, 2])
    bx, tx, j = sch.split(j, [None, 4, 2])
    k, inner = sch.split(k, [None, 8])
    sch.reorder(by, bx, ty, tx, k, inner, i, j)
    sch.reverse_compute_at(local, tx)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y")):
        sch.bind(loop, axis)
    sch.bind(tx, "threadIdx.x")
    for operand in (0, 1):
        shared = sch.cache_read(block, operand, "shared")
        sch.compute_at(shared, k)
        _, y, x = sch.split(sch.fuse(*sch.get_loops(shared)[-2:]), [None, 4, 4])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    sch.decompose_reduction(block, k)
    return sch.mod


def plain_matmul(n: int) -> tir.PrimFunc:
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def reverse() -> tir.PrimFunc:
    """Rows turned round through shared memory."""

    @T.prim_func
    def reverse(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
        T.func_attr({"global_symbol": "reverse", "tir.noalias": True})
        row = T.alloc_buffer((4, 32), scope="shared")
        for b in T.thread_binding(4, thread="blockIdx.x"):
            for i in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("row"):
                    vb, vi = T.axis.remap("SS", [b, i])
                    row[vb, vi] = T.exp(A[vb, vi])
            for i in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("B"):
                    vb, vi = T.axis.remap("SS", [b, i])
                    B[vb, vi] = row[vb, 31 - vi]

    return reverse


@program
def tiled_product() -> Program:
    return Program(named(matmul()["main"], "tiled_product"), plain_matmul(32))


@program
def reversed_rows() -> Program:
    return Program(named(reverse(), "reversed_rows"))


@program
def softmax() -> Program:
    """Several kernels, with memory in between."""
    data = te.placeholder((6, 33), name="data")
    return Program(named(te.create_prim_func([data, tvm.topi.nn.softmax(data)]), "softmax"))


@program
def convolution() -> Program:
    data, weight = te.placeholder((1, 4, 9, 9), name="data"), te.placeholder((8, 4, 3, 3), name="w")
    result = tvm.topi.nn.relu(tvm.topi.nn.conv2d_nchw(data, weight, 1, 1, 1))
    return Program(named(te.create_prim_func([data, weight, result]), "convolution"))


@program
def half_product() -> Program:
    a, b = (te.placeholder((24, 40), "float16", name=name) for name in "AB")
    k = te.reduce_axis((0, 40), name="k")
    c = te.compute(
        (24, 24),
        lambda i, j: te.sum(a[i, k].astype("float32") * b[j, k].astype("float32"), axis=k),
        name="C",
    )
    return Program(named(te.create_prim_func([a, b, c]), "half_product"))


@program
def virtual_threads() -> Program:
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[63 - i] * 2.0, name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    for loop, axis in zip(
        sch.split(sch.get_loops(sch.get_block("B"))[0], [2, 4, 8]),
        ("blockIdx.x", "vthread.x", "threadIdx.x"),
        strict=True,
    ):
        sch.bind(loop, axis)
    return Program(named(sch.mod["main"], "virtual_threads"))


@program
def rows_of_a_block() -> Program:
    """Blocks of threads take other rows of a matrix into shared memory, as many as they need."""
    a = te.placeholder((8, 3, 3), name="A")
    b = te.compute(
        (10, 3, 3),
        lambda i, j, k: tir.if_then_else(tir.all(i >= 1, i < 9), a[i - 1, j, k], 0.0),
        name="B",
    )
    func = te.create_prim_func([a, b])
    sch = tir.Schedule(func)
    block = sch.get_block("B")
    shared = sch.cache_read(block, 0, "shared")
    loop = sch.fuse(*sch.get_loops(block))
    outer, virtual, thread, _ = sch.split(loop, [None, 4, 2, 2])
    for each, axis in ((outer, "blockIdx.y"), (virtual, "vthread.x"), (thread, "threadIdx.z")):
        sch.bind(each, axis)
    sch.compute_at(shared, outer)
    sch.split(sch.get_loops(shared)[-1], [None, 4])
    return Program(named(sch.mod["main"], "rows_of_a_block"), func)


@program
def rows_exchanged_in_some_iterations() -> Program:
    """Threads wait for each other in a branch that all of them take, or none."""

    @T.prim_func
    def rows_exchanged_in_some_iterations(
        A: T.Buffer((5, 8), "float32"), B: T.Buffer((5, 8), "float32"), N: T.Buffer((1,), "int32")
    ):
        shared = T.allocate([8], "float32", "shared")
        cells = T.Buffer((8,), data=shared, scope="shared")
        for t in T.thread_binding(8, thread="threadIdx.x"):
            for i in range(5):
                if i < N[0]:
                    last: T.float32 = A[i, 7 - t]
                    for k in range(i):
                        cells[t] = A[k, t]
                        B[i, t] = cells[7 - t] + last
                    if i % 2 == 0:
                        cells[t] = last
                        B[i, t] = cells[(t + 1) % 8]
                else:
                    cells[7 - t] = A[i, t]
                    B[i, t] = cells[t]

    @T.prim_func
    def reference(
        A: T.Buffer((5, 8), "float32"), B: T.Buffer((5, 8), "float32"), N: T.Buffer((1,), "int32")
    ):
        for i, t in T.grid(5, 8):
            if i < N[0]:
                for k in range(i):
                    B[i, t] = A[k, 7 - t] + A[i, 7 - t]
                if i % 2 == 0:
                    B[i, t] = A[i, 7 - (t + 1) % 8]
            else:
                B[i, t] = A[i, 7 - t]

    return Program(rows_exchanged_in_some_iterations, reference)


@program
def blocks_that_the_first_launch_lacks() -> Program:
    """A part of a kernel has no block to run it, and the other part one."""

    @T.prim_func
    def blocks_that_the_first_launch_lacks(
        A: T.Buffer((3, 4), "float32"),
        B: T.Buffer((3, 4), "float32"),
        C: T.Buffer((3, 3, 4), "float32"),
    ):
        for i in range(3):
            for x in T.thread_binding(4, thread="threadIdx.x"):
                for z in T.thread_binding(i, thread="blockIdx.z"):
                    C[i, z, x] = A[z, x]
                B[i, x] = A[i, 3 - x]

    return Program(blocks_that_the_first_launch_lacks.with_attr("tir.noalias", True))


@program
def sums_of_some_loops() -> Program:
    """Sums to which some iterations of the loop around add nothing."""

    @T.prim_func
    def sums_of_some_loops(A: T.Buffer((3, 4), "float32"), B: T.Buffer((2, 3), "float32")):
        for _ in T.thread_binding(1, thread="threadIdx.x"):
            for i in range(3):
                for half in range(2):
                    B[half, i] = T.float32(0)
                    for k in range(2):
                        if half < 1:
                            B[half, i] = B[half, i] + A[i, half * 2 + k]

    return Program(sums_of_some_loops.with_attr("tir.noalias", True))


@program
def barriers_in_some_loops() -> Program:
    """Threads that wait for each other in a few iterations of the loops around."""

    @T.prim_func
    def barriers_in_some_loops(A: T.Buffer((2, 12), "float32"), B: T.Buffer((2, 4), "float32")):
        for y in T.thread_binding(2, thread="threadIdx.y"):
            for x in T.thread_binding(4, thread="threadIdx.z"):
                B[y, x] = T.float32(1)
            for k, i, j, x in T.grid(3, 3, 4, 4):
                if j * 3 + i < 1 and j < 1:
                    B[y, x] = B[y, x] + A[y, x * 3 + k]

    return Program(barriers_in_some_loops.with_attr("tir.noalias", True))


@program
def decided_by_shared_memory() -> Program:
    """Memory that decides what threads do, and that they change then."""

    @T.prim_func
    def decided_by_shared_memory(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
        for b in T.thread_binding(4, thread="blockIdx.x"):
            memory = T.allocate([8], "int32", "shared")
            row = T.Buffer((8,), "int32", data=memory, scope="shared")
            for t in T.thread_binding(8, thread="threadIdx.x"):
                row[t] = A[b, t]
            if row[0] < 0:
                for t in T.thread_binding(8, thread="threadIdx.x"):
                    row[t] = 0 - row[t]
            for _ in range(row[0]):
                for t in T.thread_binding(8, thread="threadIdx.x"):
                    row[t] = row[t] + 1
            while row[0] > 1:
                for t in T.thread_binding(8, thread="threadIdx.x"):
                    row[t] = row[t] - 1
            for t in T.thread_binding(8, thread="threadIdx.x"):
                B[b, t] = row[t]

    return Program(decided_by_shared_memory)


def elementwise(name: str, *columns: Any) -> Program:
    """A program of which each output is computed element by element.

    Args:
        name: of its function.
        columns: the dtypes of the inputs, and functions from their elements to that of an output.
    """
    dtypes = [column for column in columns if isinstance(column, str)]
    inputs = [te.placeholder((48,), dtype, name=f"in{n}") for n, dtype in enumerate(dtypes)]
    functions = [column for column in columns if not isinstance(column, str)]
    outputs = [
        te.compute((48,), lambda i, f=f: f(*(tensor[i] for tensor in inputs)), name=f"out{n}")
        for n, f in enumerate(functions)
    ]
    return Program(named(te.create_prim_func([*inputs, *outputs]), name))


FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FUNCTIONS = sorted(
    {*KERNELS, "rsqrt", "sqrt", "fabs", "floor", "ceil", "trunc", "round", "nearbyint"}
    - {"pow", "atan2", "hypot"}
)


def unary(name: str) -> Callable[[Any], Any]:
    """An operator as a function."""
    return lambda x: getattr(tir, name)(x)


@program
def integers() -> Program:
    """Arithmetic of integers of all widths."""
    parts: list[Any] = []
    for n, dtype in enumerate(INTEGERS):
        parts += [dtype, *(_of(n, f) for f in _INTEGER_FUNCTIONS)]
    return elementwise("integers", *parts)


def _of(place: int, function: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *values: function(values[place])


_INTEGER_FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x * x + x,
    lambda x: tir.floordiv(x, tir.max(x - tir.const(3, x.dtype), tir.const(1, x.dtype))),
    lambda x: tir.truncmod(x, tir.const(7, x.dtype)) - x,
    lambda x: (x ^ tir.const(5, x.dtype)) & (x | tir.const(2, x.dtype)),
    lambda x: ~x >> tir.const(1, x.dtype),
    lambda x: tir.popcount(x),
)


@program
def floats() -> Program:
    """Arithmetic of numbers of all precisions."""
    parts: list[Any] = []
    for n, dtype in enumerate(FLOATS):
        parts += [dtype, *(_of(n, f) for f in _FLOAT_FUNCTIONS)]
    return elementwise("floats", *parts)


_FLOAT_FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x * x + x,
    lambda x: x / (x * x + tir.const(1, x.dtype)),
    lambda x: tir.max(tir.min(x, tir.const(0.5, x.dtype)), tir.const(-0.5, x.dtype)),
    lambda x: tir.Select(x > tir.const(0, x.dtype), tir.exp(x), -x),
)


@program
def functions_of_float32() -> Program:
    return elementwise("functions_of_float32", "float32", *map(unary, FUNCTIONS))


@program
def functions_of_float64() -> Program:
    return elementwise("functions_of_float64", "float64", *map(unary, FUNCTIONS))


@program
def functions_of_float16() -> Program:
    return elementwise("functions_of_float16", "float16", *map(unary, FUNCTIONS))


@program
def conversions() -> Program:
    """Casts between types, bits, truth values, constants that are no numbers."""
    return elementwise(
        "conversions", "float32", "int32", "bool", "float64",
        lambda x, i, t, d: x.astype("int32") + i,
        lambda x, i, t, d: d.astype("float16"),
        lambda x, i, t, d: d.astype("bfloat16"),
        lambda x, i, t, d: tir.reinterpret("int32", x),
        lambda x, i, t, d: tir.reinterpret("uint64", d),
        lambda x, i, t, d: tir.And(t, x > 0),
        lambda x, i, t, d: tir.Or(tir.Not(t), tir.isnan(x)),
        lambda x, i, t, d: t.astype("int8") + i.astype("int8"),
        lambda x, i, t, d: tir.if_then_else(t, x, tir.const(float("-inf"), "float32")),
        lambda x, i, t, d: tir.if_then_else(t, d, tir.const(float("nan"), "float64")),
        lambda x, i, t, d: tir.if_then_else(i > 0, tir.const(-(1 << 63), "int64"), tir.clz(i)),
        lambda x, i, t, d: tir.power(x * x, tir.const(0.75, "float32")),
        lambda x, i, t, d: tir.atan2(x, x + tir.const(2, "float32")),
        lambda x, i, t, d: tir.fmod(d, tir.const(0.3, "float64")),
        lambda x, i, t, d: tir.fma(x, x, x) + tir.copysign(x, x * x) + tir.ldexp(x, i),
        lambda x, i, t, d: tir.fma(x.astype("float16"), x.astype("float16"), x.astype("float16")),
        lambda x, i, t, d: tir.nextafter(x, x + tir.const(1, "float32")),
        lambda x, i, t, d: tir.round(d) + tir.trunc(d),
    )  # fmt: skip


@program
def constants() -> Program:
    table = np.array([1.5, np.inf, -2.5, np.nan], "float32")

    @T.prim_func
    def constants(A: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "constants"})
        for i in T.thread_binding(8, thread="threadIdx.x"):
            data = T.allocate_const(table, "float32", [4])
            cells = T.Buffer((4,), data=data)
            A[i] = cells[i % 4]

    return Program(constants)


@program
def symbolic_sizes() -> Program:
    """Numbers of blocks that follow from the arguments, with a rest."""

    @T.prim_func
    def symbolic_sizes(a: T.handle, b: T.handle):
        T.func_attr({"global_symbol": "symbolic_sizes"})
        n = T.int64()
        A, B = T.match_buffer(a, (n,)), T.match_buffer(b, (n,))
        for block in T.thread_binding((n + 15) // 16, thread="blockIdx.x"):
            for i in T.thread_binding(16, thread="threadIdx.x"):
                if block * 16 + i < n:
                    B[block * 16 + i] = A[n - 1 - block * 16 - i]

    return Program(symbolic_sizes)


@program
def scalars() -> Program:
    """Numbers of all kinds as arguments of a kernel."""

    @T.prim_func
    def scalars(
        A: T.Buffer((8,), "float64"), flag: T.bool, small: T.int8, half: T.float16,
        brain: T.bfloat16, single: T.float32, wide: T.int64,
    ):  # fmt: skip
        T.func_attr({"global_symbol": "scalars"})
        for i in T.thread_binding(8, thread="threadIdx.x"):
            if flag:
                A[i] = (
                    T.Cast("float64", small) + T.Cast("float64", half) + T.Cast("float64", brain)
                    + T.Cast("float64", single) + T.Cast("float64", wide)
                )  # fmt: skip

    return Program(scalars)


@program
def awkward_names() -> Program:
    """Names that C++ has."""

    @T.prim_func
    def awkward_names(new: T.Buffer((8,), "float32"), xor: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "awkward_names"})
        for this in T.thread_binding(8, thread="threadIdx.x"):
            template: T.float32 = new[this]
            xor[this] = template * T.float32(2)

    return Program(awkward_names)


@program
def search() -> Program:
    """A loop that ends when something is found, over memory of one thread."""

    @T.prim_func
    def search(A: T.Buffer((8, 16), "int32"), B: T.Buffer((8,), "int32")):
        T.func_attr({"global_symbol": "search"})
        for i in T.thread_binding(8, thread="threadIdx.x"):
            place = T.allocate([1], "int32", "local")
            cell = T.Buffer((1,), "int32", data=place, scope="local")
            cell[0] = 0
            while cell[0] < 16 and A[i, cell[0]] < 3:
                cell[0] = cell[0] + 1
            B[i] = cell[0]

    return Program(search)


from tests.target.codegen.device import (  # noqa: E402, they register their programs
    pipeline_programs,  # noqa: F401
    vector_programs,  # noqa: F401
)
