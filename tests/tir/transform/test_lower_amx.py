"""Instructions on tile registers in place of loops."""

import re

import pytest

from tilewright.error import LoweringError
from tilewright.script import tir as T
from tilewright.target import Target
from tilewright.tir.transform.lower_amx import lower_amx

TILES = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids").dot_products


def program(*, row=128, start=0, columns=16, middle=None, kind="serial", inner=None, result=None):
    """Sixteen rows and columns of a sum of two steps of 64.

    Args:
        row: elements between rows of A.
        start: of the block in its memory.
        columns: what the mark of the product says.
        middle: makes a statement between the product and what reads it.
        kind: of the loop over steps.
        inner: makes a statement in the loop.
        result: makes the value of an element of the result from that of the block.
    """
    loop = {"serial": T.serial, "parallel": T.parallel}[kind]

    @T.prim_func
    def func(a: T.handle, b: T.handle, d: T.handle):
        A = T.match_buffer(a, (2048,), "uint8")
        B = T.match_buffer(b, (2048,), "int8")
        D = T.match_buffer(d, (256,), "int32")
        C_data = T.allocate([256], "int32", "amx.tmm")
        C = T.decl_buffer((256,), "int32", data=C_data, scope="amx.tmm")
        with T.attr(0, "amx_operation", "zero 16 16"):
            for i, j in T.grid(16, 16):
                C[start + i * 16 + j] = 0
        for k in loop(2):
            with T.attr(0, "amx_operation", f"multiply 16 {columns} 64"):
                for i, j, g, p in T.grid(16, 16, 16, 4):
                    C[start + i * 16 + j] = C[start + i * 16 + j] + T.cast(
                        A[i * row + k * 64 + (g * 4 + p)], "int32"
                    ) * T.cast(B[k * 1024 + g * 64 + j * 4 + p], "int32")
            if inner is not None:
                T.evaluate(inner())
        if middle is not None:
            T.evaluate(middle())
        with T.attr(0, "amx_operation", "store 16 16"):
            for i, j in T.grid(16, 16):
                D[i * 16 + j] = C[start + i * 16 + j]
        if result is not None:
            D[0] = result(C[0])

    return func


def lines(func, dot_products=TILES, first_cache=49152):
    """The statements of a function, without its signature."""
    text = lower_amx(func, dot_products, first_cache).script().split("):\n", 1)[1]
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_instructions():
    assert lines(program()) == [
        'T.call_intrin("void", "tir.amx_permit")',
        'T.call_intrin("void", "tir.amx_configure", 16, 64)',
        'T.call_intrin("void", "tir.amx_zero", 0)',
        "for k in range(2):",
        'T.call_intrin("void", "tir.amx_load", 4, T.address_of(A[k * 64]), T.int64(128))',
        'T.call_intrin("void", "tir.amx_load", 6, T.address_of(B[k * 1024]), T.int64(64))',
        'T.call_intrin("void", "tir.amx_multiply", "busd", 0, 4, 6)',
        'T.call_intrin("void", "tir.amx_store", 0, T.address_of(D[0]), T.int64(64))',
        'T.call_intrin("void", "tir.amx_release")',
    ]


def test_other_processors_keep_the_loops():
    found = lines(program(), frozenset({"int8", "mixed int8"}))
    assert not any("amx_operation" in line or "tir.amx" in line for line in found)
    assert "for k, i, j, g, p in T.grid(2, 16, 16, 16, 4):" in found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": 16}, "C has another place than the registers"),
        ({"columns": 32}, "multiply 16 x 32: its loops are"),
        ({"middle": lambda: T.call_packed("f")}, "without a block that they begin and end"),
        ({"inner": lambda: T.call_extern("int32", "f")}, "without a block that they begin and end"),
        ({"kind": "parallel"}, "without a block that they begin and end"),
        ({"result": lambda value: value}, "C: tile registers have no single elements"),
    ],
    ids=["place", "shape", "registered function", "C function", "threads", "element"],
)
def test_what_is_refused(options, message):
    with pytest.raises(LoweringError, match=message):
        lines(program(**options))


def test_two_blocks_at_once_are_refused():
    @T.prim_func
    def func(a: T.handle, d: T.handle):
        A = T.match_buffer(a, (1024,), "int8")
        D = T.match_buffer(d, (256,), "int32")
        first_data = T.allocate([256], "int32", "amx.tmm")
        first = T.decl_buffer((256,), "int32", data=first_data, scope="amx.tmm")
        second_data = T.allocate([256], "int32", "amx.tmm")
        second = T.decl_buffer((256,), "int32", data=second_data, scope="amx.tmm")
        with T.attr(0, "amx_operation", "zero 16 16"):
            for i, j in T.grid(16, 16):
                first[i * 16 + j] = 0
        with T.attr(0, "amx_operation", "zero 16 16"):
            for i, j in T.grid(16, 16):
                second[i * 16 + j] = 0
        with T.attr(0, "amx_operation", "multiply 16 16 64"):
            for i, j, g, p in T.grid(16, 16, 16, 4):
                first[i * 16 + j] = first[i * 16 + j] + T.cast(
                    A[i * 64 + g * 4 + p], "int32"
                ) * T.cast(A[g * 64 + j * 4 + p], "int32")
        with T.attr(0, "amx_operation", "store 16 16"):
            for i, j in T.grid(16, 16):
                D[i * 16 + j] = second[i * 16 + j]

    with pytest.raises(LoweringError, match="another block of results in tile registers"):
        lines(func)


def test_blocks_one_after_the_other():
    """Each has the registers for itself, in a configuration of its own."""

    @T.prim_func
    def func(a: T.handle, d: T.handle):
        A = T.match_buffer(a, (1024,), "int8")
        D = T.match_buffer(d, (384,), "int32")
        first_data = T.allocate([256], "int32", "amx.tmm")
        first = T.decl_buffer((256,), "int32", data=first_data, scope="amx.tmm")
        second_data = T.allocate([128], "int32", "amx.tmm")
        second = T.decl_buffer((128,), "int32", data=second_data, scope="amx.tmm")
        with T.attr(0, "amx_operation", "zero 16 16"):
            for i, j in T.grid(16, 16):
                first[i * 16 + j] = 0
        with T.attr(0, "amx_operation", "multiply 16 16 64"):
            for i, j, g, p in T.grid(16, 16, 16, 4):
                first[i * 16 + j] = first[i * 16 + j] + T.cast(
                    A[i * 64 + g * 4 + p], "int32"
                ) * T.cast(A[g * 64 + j * 4 + p], "int32")
        with T.attr(0, "amx_operation", "store 16 16"):
            for i, j in T.grid(16, 16):
                D[i * 16 + j] = first[i * 16 + j]
        with T.attr(0, "amx_operation", "zero 8 16"):
            for i, j in T.grid(8, 16):
                second[i * 16 + j] = 0
        with T.attr(0, "amx_operation", "multiply 8 16 32"):
            for i, j, g, p in T.grid(8, 16, 8, 4):
                second[i * 16 + j] = second[i * 16 + j] + T.cast(
                    A[i * 64 + g * 4 + p], "int32"
                ) * T.cast(A[g * 64 + j * 4 + p], "int32")
        with T.attr(0, "amx_operation", "store 8 16"):
            for i, j in T.grid(8, 16):
                D[256 + i * 16 + j] = second[i * 16 + j]

    names = [re.search(r"amx_(\w+)\"(, \d+)*", line) for line in lines(func)]
    found = [name.group(0) for name in names if name is not None]
    assert [name.split('"')[0] for name in found] == [
        "amx_permit",
        *["amx_configure", "amx_zero", "amx_load", "amx_load", "amx_multiply", "amx_store"],
        *["amx_release", "amx_configure", "amx_zero", "amx_load", "amx_load", "amx_multiply"],
        *["amx_store", "amx_release"],
    ]
    configurations = [name for name in found if "configure" in name]
    assert configurations == ['amx_configure", 16, 64', 'amx_configure", 8, 32']


def blocks_of(steps, order="columns last"):
    """Blocks of a product of 64 rows by 64 columns, with sums of `steps` steps of 64 bytes."""

    def row(first, second):
        return first if order == "columns last" else second

    def column(first, second):
        return row(second, first)

    @T.prim_func
    def func(a: T.handle, b: T.handle, d: T.handle):
        A = T.match_buffer(a, (4096 * steps,), "int8")
        B = T.match_buffer(b, (4096 * steps,), "int8")
        D = T.match_buffer(d, (4096,), "int32")
        for x, y in T.grid(4, 4):
            C_data = T.allocate([256], "int32", "amx.tmm")
            C = T.decl_buffer((256,), "int32", data=C_data, scope="amx.tmm")
            with T.attr(0, "amx_operation", "zero 16 16"):
                for i, j in T.grid(16, 16):
                    C[i * 16 + j] = 0
            for once, k in T.grid(1, steps):
                with T.attr(0, "amx_operation", "multiply 16 16 64"):
                    for i, j, g, p in T.grid(16, 16, 16, 4):
                        C[i * 16 + j] = C[i * 16 + j] + T.cast(
                            A[(row(x, y) * 16 + i) * (64 * steps) + (k + once) * 64 + (g * 4 + p)],
                            "int32",
                        ) * T.cast(
                            B[(column(x, y) * steps + k) * 1024 + g * 64 + j * 4 + p], "int32"
                        )
            with T.attr(0, "amx_operation", "store 16 16"):
                for i, j in T.grid(16, 16):
                    D[(row(x, y) * 16 + i) * 64 + column(x, y) * 16 + j] = C[i * 16 + j]

    return func


@pytest.mark.parametrize(
    ("steps", "order", "streamed"),
    [
        (12, "columns last", None),  # 12 KB of both operands are in the cache together
        (16, "columns last", None),
        (17, "columns last", "B"),
        (17, "rows last", "A"),
        (64, "columns last", "B"),
        (65, "columns last", None),  # the rows do not stay, whatever the columns do
    ],
)
def test_the_operand_that_changes_makes_room_for_the_other_one(steps, order, streamed):
    found = lines(blocks_of(steps, order), first_cache=32768)
    loads = [line for line in found if "amx_load" in line or "amx_stream" in line]
    names = {line.split("address_of(")[1][0]: "amx_stream" in line for line in loads}
    assert names == {name: name == streamed for name in "AB"}


def test_a_sum_of_unknown_length_streams_nothing():
    @T.prim_func
    def func(a: T.handle, b: T.handle, d: T.handle, n: T.int32):
        A = T.match_buffer(a, (n * 1024,), "int8")
        B = T.match_buffer(b, (n * 4096,), "int8")
        D = T.match_buffer(d, (1024,), "int32")
        for y in range(4):
            C_data = T.allocate([256], "int32", "amx.tmm")
            C = T.decl_buffer((256,), "int32", data=C_data, scope="amx.tmm")
            with T.attr(0, "amx_operation", "zero 16 16"):
                for i, j in T.grid(16, 16):
                    C[i * 16 + j] = 0
            for k in range(n):
                with T.attr(0, "amx_operation", "multiply 16 16 64"):
                    for i, j, g, p in T.grid(16, 16, 16, 4):
                        C[i * 16 + j] = C[i * 16 + j] + T.cast(
                            A[k * 1024 + i * 64 + (g * 4 + p)], "int32"
                        ) * T.cast(B[(y * n + k) * 1024 + g * 64 + j * 4 + p], "int32")
            with T.attr(0, "amx_operation", "store 16 16"):
                for i, j in T.grid(16, 16):
                    D[i * 64 + y * 16 + j] = C[i * 16 + j]

    assert not any("amx_stream" in line for line in lines(func))
