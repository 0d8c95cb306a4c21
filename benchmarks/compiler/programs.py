"""The computations that several groups measure."""

from __future__ import annotations

from typing import NamedTuple

import tilewright as tvm
from tilewright import te

M, K, L, N = 1024, 2048, 1024, 3072
TARGET = "llvm -num-cores=1"


class Chain(NamedTuple):
    """exp(A @ B) @ E as tensor expressions."""

    arguments: tuple[te.Tensor, ...]
    products: tuple[te.Tensor, te.Tensor]


def chain() -> Chain:
    """F = exp(A @ B) @ E for matrices of 1024 x 2048, 2048 x 1024 and 1024 x 3072."""
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, L), name="B")
    E = te.placeholder((L, N), name="E")
    C = product(A, B, "C")
    D = te.compute((M, L), lambda i, j: te.exp(C[i, j]), name="D")
    F = product(D, E, "F")
    return Chain((A, B, E, F), (C, F))


def product(A: te.Tensor, B: te.Tensor, name: str) -> te.Tensor:
    """A @ B."""
    k = te.reduce_axis((0, A.shape[1]), name="k")
    shape = (A.shape[0], B.shape[1])
    return te.compute(shape, lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name=name)


def tile(s: te.Schedule, C: te.Tensor) -> None:
    """Register tiles of 4 rows by 64 columns, blocks of 256 in the reduction."""
    i, j = C.op.axis
    (k,) = C.op.reduce_axis
    ko, ki = s[C].split(k, 256)
    io, ii = s[C].split(i, 4)
    jo, ji = s[C].split(j, 64)
    jv, lane = s[C].split(ji, 16)
    s[C].reorder(ko, jo, io, ki, ii, jv, lane)
    s[C].unroll(ii)
    s[C].unroll(jv)
    s[C].vectorize(lane)


def build(arguments: tuple[te.Tensor, ...], *tiled: te.Tensor) -> tvm.runtime.Module:
    """Compile the last argument, with register tiles for the products `tiled`."""
    s = te.create_schedule(arguments[-1].op)
    for C in tiled:
        tile(s, C)
    return tvm.build(s, list(arguments), target=TARGET)
