"""The exponential of matrices, by scaling and squaring."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from typing import Final

from tilewright import te
from tilewright.ir.convert import const
from tilewright.script import tir as T  # noqa: N812
from tilewright.te import Tensor
from tilewright.tir.function import PrimFunc
from tilewright.topi.linalg.batches import in_batches, in_one_batch, require_matrices

TERMS: Final = {"float32": 10, "float64": 16}
"""How many terms of the series are as exact as the dtype, for matrices of norm 1/2."""


def matrix_exp(x: Tensor) -> Tensor:
    """The exponential of matrices, ``I + x + x @ x / 2 + ...``, for ``(..., n, n)``."""
    require_matrices("matrix_exp", x, square=True)
    result = te.extern_primfunc([in_one_batch(x)], _program(str(x.dtype)), "matrix_exp")
    return in_batches(result, x.shape[:-2], x.shape[-2:])


def _program(dtype: str) -> PrimFunc:
    """The program that halves a matrix until it is small, adds the series up, and squares it."""
    terms = TERMS[dtype]
    zero, half, one, two = (const(n, dtype) for n in (0.0, 0.5, 1.0, 2.0))
    # No finite matrix is halved more often; one that is not finite would be without an end.
    most = const(2000, "int64")

    @T.prim_func(private=True)
    def exponential(x: T.handle, result: T.handle):
        batch = T.int64()
        n = T.int64()
        X = T.match_buffer(x, (batch, n, n), dtype)  # noqa: N806
        R = T.match_buffer(result, (batch, n, n), dtype)  # noqa: N806
        for b in range(batch):
            with T.block("matrix"):
                m = T.axis.spatial(batch, b)
                T.reads(X[m, 0:n, 0:n], R[m, 0:n, 0:n])
                T.writes(R[m, 0:n, 0:n])
                product = T.alloc_buffer((n, n), dtype, scope="local")
                factor = T.alloc_buffer((1,), dtype, scope="local")
                norm = T.alloc_buffer((2,), dtype, scope="local")
                halvings = T.alloc_buffer((1,), "int64", scope="local")
                norm[0] = zero
                for i in range(n):
                    norm[1] = zero
                    for j in range(n):
                        norm[1] = norm[1] + T.fabs(X[m, i, j])
                        R[m, i, j] = T.Select(i == j, one, zero)
                    norm[0] = T.max(norm[0], norm[1])
                factor[0] = one
                halvings[0] = T.int64(0)
                while norm[0] * factor[0] > half and halvings[0] < most:
                    factor[0] = factor[0] / two
                    halvings[0] = halvings[0] + 1

                # I + x (I + x / 2 (I + x / 3 (...))), from the innermost term on
                for step in range(terms):
                    for i in range(n):
                        for j in range(n):
                            product[i, j] = zero
                        for k in range(n):
                            norm[1] = X[m, i, k] * factor[0] / T.Cast(dtype, terms - step)
                            for j in range(n):
                                product[i, j] = product[i, j] + norm[1] * R[m, k, j]
                    for i, j in T.grid(n, n):
                        R[m, i, j] = product[i, j] + T.Select(i == j, one, zero)
                for _ in range(halvings[0]):
                    for i in range(n):
                        for j in range(n):
                            product[i, j] = zero
                        for k in range(n):
                            for j in range(n):
                                product[i, j] = product[i, j] + R[m, i, k] * R[m, k, j]
                    for i, j in T.grid(n, n):
                        R[m, i, j] = product[i, j]

    return exponential
