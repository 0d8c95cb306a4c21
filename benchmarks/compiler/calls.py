"""The cost of a call of a compiled function that does next to nothing."""

from __future__ import annotations

import numpy as np

import tilewright as tvm
from benchmarks.compiler.measure import Figure, scaled, seconds
from tilewright import te

NUMBER = 20_000


def measure(repeat: int) -> list[Figure]:
    A = te.placeholder((1,), name="A")
    B = te.compute((1,), lambda i: A[i] + 1.0, name="B")
    module = tvm.build(te.create_schedule(B.op), [A, B], target="llvm")
    function = module["default_function"]
    a, b = np.zeros(1, "float32"), np.zeros(1, "float32")
    x, y = tvm.nd.array(a), tvm.nd.array(b)

    def figure(name: str, call: object, aim: float | None) -> Figure:
        return Figure(name, scaled(seconds(call, repeat, NUMBER), 1e6), "us", aim)  # type: ignore[arg-type]

    return [
        figure("two arrays of ours", lambda: function(x, y), 1.0),
        figure("two numpy arrays", lambda: function(a, b), 2.0),
        figure("two arrays of ours, by the module", lambda: module(x, y), None),
    ]
