"""What several intrinsics compute, in plain loops: blocks of zeros, copies and products."""

# pyright: reportGeneralTypeIssues=false, reportIndexIssue=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from tilewright.script import tir as T
from tilewright.tir.function import PrimFunc


def zeros(rows: int, columns: int, dtype: str, scope: str) -> PrimFunc:
    """``C[i, j] = 0``."""

    @T.prim_func
    def desc(c: T.handle):
        C = T.match_buffer(c, (rows, columns), dtype, offset_factor=1, scope=scope)
        with T.block("root"):
            T.reads()
            T.writes(C[0:rows, 0:columns])
            for i, j in T.grid(rows, columns):
                with T.block("zero"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = T.cast(0, dtype)

    return desc


def copy(rows: int, columns: int, dtype: str, source: str, target: str) -> PrimFunc:
    """``B[i, j] = A[i, j]``, where `source` and `target` are the scopes of A and B."""

    @T.prim_func
    def desc(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (rows, columns), dtype, offset_factor=1, scope=source)
        B = T.match_buffer(b, (rows, columns), dtype, offset_factor=1, scope=target)
        with T.block("root"):
            T.reads(A[0:rows, 0:columns])
            T.writes(B[0:rows, 0:columns])
            for i, j in T.grid(rows, columns):
                with T.block("copy"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj]

    return desc


def product(
    shape: tuple[int, int, int],
    dtypes: tuple[str, str, str],
    scopes: tuple[str, str, str] = ("global", "global", "global"),
    *,
    transposed: bool,
) -> PrimFunc:
    """``C[i, j] += A[i, k] * B[k, j]``, or ``B[j, k]`` if `transposed`.

    Args:
        shape: the extents of i, j and k.
        dtypes: of A, B and C.
        scopes: of A, B and C.
        transposed: whether the rows of B are the columns of the product.
    """
    m, n, k = shape
    rows, columns = (n, k) if transposed else (k, n)
    dtype = dtypes[2]

    @T.prim_func
    def desc(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (m, k), dtypes[0], offset_factor=1, scope=scopes[0])
        B = T.match_buffer(b, (rows, columns), dtypes[1], offset_factor=1, scope=scopes[1])
        C = T.match_buffer(c, (m, n), dtype, offset_factor=1, scope=scopes[2])
        with T.block("root"):
            T.reads(C[0:m, 0:n], A[0:m, 0:k], B[0:rows, 0:columns])
            T.writes(C[0:m, 0:n])
            for i, j, p in T.grid(m, n, k):
                with T.block("update"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, p])
                    if transposed:
                        C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], dtype) * T.cast(B[vj, vk], dtype)
                    else:
                        C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], dtype) * T.cast(B[vk, vj], dtype)

    return desc
