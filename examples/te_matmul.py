"""A matrix product as a tensor expression, scheduled step by step.

python examples/te_matmul.py
"""

from __future__ import annotations

import numpy as np

import tilewright as tvm
from tilewright import te

M, K, N = 256, 384, 320


def main() -> None:
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

    rng = np.random.default_rng(0)
    a, b = rng.random((M, K), "float32"), rng.random((K, N), "float32")
    c = np.empty((M, N), "float32")

    print("As written:\n")
    s = te.create_schedule(C.op)
    print(tvm.lower(s, [A, B, C], simple_mode=True).script())
    report("as written", tvm.build(s, [A, B, C], target="llvm"), a, b, c)

    # Tiles of 4 by 32 elements of C; the innermost loop runs along rows, as one vector operation.
    i, j = s[C].op.axis
    io, ii = s[C].split(i, factor=4)
    jo, ji = s[C].split(j, factor=32)
    s[C].reorder(io, jo, k, ii, ji)
    s[C].unroll(ii)
    s[C].vectorize(ji)

    print("\nIn tiles:\n")
    print(tvm.lower(s, [A, B, C], simple_mode=True).script())
    report("in tiles", tvm.build(s, [A, B, C], target="llvm"), a, b, c)


def report(title: str, matmul: tvm.runtime.Module, *arrays: np.ndarray) -> None:
    """Run, check and time one version."""
    a, b, c = arrays
    matmul(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)
    seconds = matmul.time_evaluator("__tvm_main__", tvm.cpu(), number=3, repeat=5)(a, b, c).median
    print(
        f"\n{title}: {seconds * 1e3:.2f} ms, {2 * M * K * N / seconds / 1e9:.1f} GFLOP/s, correct"
    )


if __name__ == "__main__":
    main()
