"""Softmax of the rows of a matrix of any size, written as a script.

python examples/tvmscript_softmax.py
"""

from __future__ import annotations

import numpy as np

import tilewright as tvm
from tilewright.script import tir as T


@T.prim_func
def softmax(x: T.handle, y: T.handle):
    """y[i, :] = exp(x[i, :] - max) / sum, with sizes that the arrays of each call give."""
    rows, columns = T.int64(), T.int64()
    X = T.match_buffer(x, (rows, columns), "float32")
    Y = T.match_buffer(y, (rows, columns), "float32")
    largest = T.alloc_buffer((rows,), "float32")
    total = T.alloc_buffer((rows,), "float32")
    for i in T.serial(rows):
        for j in T.serial(columns):
            with T.block("largest"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    largest[vi] = T.min_value("float32")
                largest[vi] = T.max(largest[vi], X[vi, vj])
        for j in T.serial(columns):
            with T.block("exponential"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.exp(X[vi, vj] - largest[vi])
        for j in T.serial(columns):
            with T.block("total"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] += Y[vi, vj]
        for j in T.serial(columns):
            with T.block("softmax"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = Y[vi, vj] / total[vi]


def main() -> None:
    softmax.show()
    function = tvm.build(softmax, target="llvm")
    rng = np.random.default_rng(0)
    for shape in ((2, 5), (100, 1000)):
        x = (rng.standard_normal(shape) * 10).astype("float32")
        y = np.empty_like(x)
        function(x, y)
        exponentials = np.exp(x.astype("float64") - x.max(axis=1, keepdims=True))
        expected = exponentials / exponentials.sum(axis=1, keepdims=True)
        print(f"{shape}: rows sum to {y.sum(1).min():.6f} ... {y.sum(1).max():.6f}, "
              f"largest error {np.abs(y - expected).max():.1e}")  # fmt: skip

    print("\nA wrong argument is an error that says which one and why:")
    try:
        function(x, y[:, :-1].copy())
    except tvm.TVMError as error:
        print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
