"""The Cholesky factor of symmetric positive definite matrices."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from tilewright import te
from tilewright.script import tir as T  # noqa: N812
from tilewright.te import Tensor
from tilewright.tir.function import PrimFunc
from tilewright.topi.linalg.batches import in_batches, in_one_batch, require_matrices


def cholesky(x: Tensor, upper: bool = False) -> Tensor:
    """The triangular matrices ``L`` with ``L @ L.T`` equal to `x`.

    Args:
        x: ``(..., n, n)``, symmetric and positive definite; only the elements on the diagonal and
            on the side of it that `upper` says are read. Where a matrix is not positive definite,
            the rest of its result is NaN.
        upper: whether the result is ``L.T``.
    """
    require_matrices("cholesky", x, square=True)
    matrices = in_one_batch(x, transpose=not upper)
    factors = te.extern_primfunc([matrices], _program(str(x.dtype)), "cholesky")
    return in_batches(factors, x.shape[:-2], x.shape[-2:], transpose=not upper)


def _program(dtype: str) -> PrimFunc:
    """The program that finds upper triangles, a row after the other."""

    @T.prim_func(private=True)
    def factorize(x: T.handle, result: T.handle):
        batch = T.int64()
        n = T.int64()
        X = T.match_buffer(x, (batch, n, n), dtype)  # noqa: N806
        U = T.match_buffer(result, (batch, n, n), dtype)  # noqa: N806
        for b in range(batch):
            with T.block("matrix"):
                m = T.axis.spatial(batch, b)
                T.reads(X[m, 0:n, 0:n], U[m, 0:n, 0:n])
                T.writes(U[m, 0:n, 0:n])
                factor = T.alloc_buffer((1,), dtype, scope="local")
                for i, j in T.grid(n, n):
                    U[m, i, j] = T.Select(i <= j, X[m, i, j], T.Cast(dtype, 0))
                for k in range(n):
                    factor[0] = T.Cast(dtype, 1) / T.sqrt(U[m, k, k])
                    for j in range(n - k):
                        U[m, k, k + j] = U[m, k, k + j] * factor[0]
                    for i in range(n - k - 1):
                        factor[0] = U[m, k, k + 1 + i]
                        for j in range(n - k - 1 - i):
                            U[m, k + 1 + i, k + 1 + i + j] = (
                                U[m, k + 1 + i, k + 1 + i + j] - factor[0] * U[m, k, k + 1 + i + j]
                            )

    return factorize
