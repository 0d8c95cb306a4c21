"""Small computations that states are made of."""

from __future__ import annotations

import numpy as np
from tests.te.schedule.checking import check, random_array

from tilewright import te
from tilewright.auto_scheduler.loop_state import State


class MatmulReLU:
    """``D = relu(A @ B)`` with 12 rows, 24 columns and a sum of 20."""

    rows, columns, depth = 12, 24, 20

    def __init__(self):
        self.A = te.placeholder((self.rows, self.depth), name="A")
        self.B = te.placeholder((self.depth, self.columns), name="B")
        k = te.reduce_axis((0, self.depth), name="k")
        self.C = te.compute(
            (self.rows, self.columns),
            lambda i, j: te.sum(self.A[i, k] * self.B[k, j], axis=k),
            name="C",
        )
        self.D = te.compute(
            (self.rows, self.columns), lambda i, j: te.max(self.C[i, j], 0.0), name="D"
        )

    @property
    def args(self):
        """The parameters."""
        return [self.A, self.B, self.D]

    def schedule(self):
        """A te schedule to which nothing has been done."""
        return te.create_schedule(self.D.op)

    def state(self):
        """A state to which nothing has been done."""
        return State(self.schedule())

    def check(self, state, native=True):
        """Compare what a state computes with numpy."""
        a = random_array((self.rows, self.depth))
        b = random_array((self.depth, self.columns), seed=1)
        check(state.schedule, self.args, [a, b], [np.maximum(a @ b, 0)], native)
