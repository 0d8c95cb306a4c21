"""Systems of equations with triangular matrices."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from tilewright import te, tir
from tilewright.script import tir as T  # noqa: N812
from tilewright.te import Tensor
from tilewright.tir.function import PrimFunc
from tilewright.topi.linalg.batches import in_batches, in_one_batch, require_matrices
from tilewright.topi.nn.window import require_equal


def solve_triangular(
    a: Tensor, b: Tensor, lower: bool = True, unit_diagonal: bool = False
) -> Tensor:
    """The matrices ``X`` with ``a @ X`` equal to `b`.

    Args:
        a: ``(..., n, n)``; only the elements on the diagonal and on one side of it are read.
        b: ``(..., n, k)``, with the same dimensions before the last two.
        lower: whether it is the side below the diagonal.
        unit_diagonal: whether the elements on the diagonal count as 1.
    """
    require_matrices("solve_triangular", a, square=True)
    require_matrices("solve_triangular", b)
    owner = "linalg.solve_triangular"
    require_equal(owner, "the dimensions of `a` and `b`", a.ndim, b.ndim)
    for n in range(a.ndim - 1):
        require_equal(owner, f"dimension {n} of `a` and `b`", a.shape[n], b.shape[n])
    program = _program(str(a.dtype), lower, unit_diagonal)
    solved = te.extern_primfunc([in_one_batch(a), in_one_batch(b)], program, "solve_triangular")
    return in_batches(solved, b.shape[:-2], b.shape[-2:])


def _program(dtype: str, lower: bool, unit_diagonal: bool) -> PrimFunc:
    """The program that finds a row of the result after the other, from one end to the other."""

    def row(number: tir.PrimExpr, n: tir.PrimExpr) -> tir.PrimExpr:
        return number if lower else n - 1 - number

    @T.prim_func(private=True)
    def solve(a: T.handle, b: T.handle, result: T.handle):
        batch = T.int64()
        n = T.int64()
        columns = T.int64()
        A = T.match_buffer(a, (batch, n, n), dtype)  # noqa: N806
        B = T.match_buffer(b, (batch, n, columns), dtype)  # noqa: N806
        X = T.match_buffer(result, (batch, n, columns), dtype)  # noqa: N806
        for matrix in range(batch):
            with T.block("matrix"):
                m = T.axis.spatial(batch, matrix)
                T.reads(A[m, 0:n, 0:n], B[m, 0:n, 0:columns], X[m, 0:n, 0:columns])
                T.writes(X[m, 0:n, 0:columns])
                for i in range(n):
                    for j in range(columns):
                        X[m, row(i, n), j] = B[m, row(i, n), j]
                    for k in range(i):
                        for j in range(columns):
                            X[m, row(i, n), j] = (
                                X[m, row(i, n), j] - A[m, row(i, n), row(k, n)] * X[m, row(k, n), j]
                            )
                    if not unit_diagonal:
                        for j in range(columns):
                            X[m, row(i, n), j] = X[m, row(i, n), j] / A[m, row(i, n), row(i, n)]

    return solve
