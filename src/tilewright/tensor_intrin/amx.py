"""Blocks of a product of matrices in tile registers, as Intel's AMX computes them.

The names are those of an operation and the size of a block::

    amx_zero_32x32_i32               C[i, j] = 0
    amx_multiply_32x32x64_i8i8i32    C[i, j] += A[i, k] * B[k // 4, j, k % 4]
    amx_store_32x32_i32              D[i, j] = C[i, j]

A block has 16 or 32 columns, and up to 32 rows, an even number if they are more than 16. The steps
take up to 64 bytes: 4, 8, ... 64 of ``i8`` and ``u8``, with sums in ``i32``, and 2, 4, ... 32 of
``bf16``, with sums in ``f32``. In B those are side by side which are added at once: four, or two of
``bf16``. C is in the scope ``"amx.tmm"``, and a function works on one block at a time.

The implementations are the loops that they stand for, marked by the attribute `AMX_OPERATION`.
`transform.lower_amx` makes instructions of them for a processor with such registers; for others
they are loops.
"""

# pyright: reportGeneralTypeIssues=false, reportIndexIssue=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

import re
from typing import Final

from tilewright.ir.dtype import DType
from tilewright.script import tir as T
from tilewright.tensor_intrin.descriptions import copy, zeros
from tilewright.tensor_intrin.dot_product import DTYPES
from tilewright.tir.tensor_intrin import TensorIntrin
from tilewright.tir.tile_registers import MOST_ROWS, ROW_BYTES, TILE_SCOPE, mark

_NAME: Final = re.compile(
    r"amx_(?:(zero|store)_(\d+)x(16|32)_(i32|f32)|"
    r"(multiply)_(\d+)x(16|32)x(\d+)_(?:([iu]8)([iu]8)(i32)|(bf16)(bf16)(f32)))"
)


def tile_intrinsic_named(name: str) -> TensorIntrin | None:
    """The intrinsic of that name, if it is one of these."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    operation, *parts = (part for part in match.groups() if part is not None)
    sizes = [int(part) for part in parts if part.isdecimal()]
    dtypes = [DTYPES[part] for part in parts[len(sizes) :]]
    steps = sizes[2] * DType(dtypes[0]).itemsize if len(sizes) > 2 else ROW_BYTES
    if not 0 < steps <= ROW_BYTES or steps % 4:
        return None
    if not 0 < sizes[0] <= 2 * MOST_ROWS or (sizes[0] > MOST_ROWS and sizes[0] % 2):
        return None
    return {"zero": zero, "multiply": multiply, "store": store}[operation](*sizes, *dtypes)


def zero(rows: int, columns: int, dtype: str) -> TensorIntrin:
    """A block of zeros."""

    @T.prim_func
    def impl(c: T.handle):
        C = T.match_buffer(c, (rows, columns), dtype, offset_factor=1, scope=TILE_SCOPE)
        with T.block("root"):
            T.reads()
            T.writes(C[0:rows, 0:columns])
            with T.attr(*mark("zero", rows, columns)):
                for i, j in T.grid(rows, columns):
                    C[i, j] = T.cast(0, dtype)

    return TensorIntrin(zeros(rows, columns, dtype, TILE_SCOPE), impl)


def multiply(rows: int, columns: int, steps: int, a: str, b: str, c: str) -> TensorIntrin:
    """The product of two blocks, added to a block of results."""
    size = 4 if c == "int32" else 2
    groups = steps // size

    @T.prim_func
    def desc(a_handle: T.handle, b_handle: T.handle, c_handle: T.handle):
        A = T.match_buffer(a_handle, (rows, steps), a, offset_factor=1)
        B = T.match_buffer(b_handle, (groups, columns, size), b, offset_factor=1)
        C = T.match_buffer(c_handle, (rows, columns), c, offset_factor=1, scope=TILE_SCOPE)
        with T.block("root"):
            T.reads(C[0:rows, 0:columns], A[0:rows, 0:steps], B[0:groups, 0:columns, 0:size])
            T.writes(C[0:rows, 0:columns])
            for i, j, g, p in T.grid(rows, columns, groups, size):
                with T.block("update"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    vk = T.axis.reduce(steps, g * size + p)
                    C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], c) * T.cast(
                        B[vk // size, vj, vk % size], c
                    )

    @T.prim_func
    def impl(a_handle: T.handle, b_handle: T.handle, c_handle: T.handle):
        A = T.match_buffer(a_handle, (rows, steps), a, offset_factor=1)
        B = T.match_buffer(b_handle, (groups, columns, size), b, offset_factor=1)
        C = T.match_buffer(c_handle, (rows, columns), c, offset_factor=1, scope=TILE_SCOPE)
        with T.block("root"):
            T.reads(C[0:rows, 0:columns], A[0:rows, 0:steps], B[0:groups, 0:columns, 0:size])
            T.writes(C[0:rows, 0:columns])
            with T.attr(*mark("multiply", rows, columns, 4 * groups)):
                for i, j, g, p in T.grid(rows, columns, groups, size):
                    C[i, j] = C[i, j] + T.cast(A[i, g * size + p], c) * T.cast(B[g, j, p], c)

    return TensorIntrin(desc, impl)


def store(rows: int, columns: int, dtype: str) -> TensorIntrin:
    """A block of results, into memory."""

    @T.prim_func
    def impl(c: T.handle, d: T.handle):
        C = T.match_buffer(c, (rows, columns), dtype, offset_factor=1, scope=TILE_SCOPE)
        D = T.match_buffer(d, (rows, columns), dtype, offset_factor=1)
        with T.block("root"):
            T.reads(C[0:rows, 0:columns])
            T.writes(D[0:rows, 0:columns])
            with T.attr(*mark("store", rows, columns)):
                for i, j in T.grid(rows, columns):
                    D[i, j] = C[i, j]

    return TensorIntrin(copy(rows, columns, dtype, TILE_SCOPE, "global"), impl)
