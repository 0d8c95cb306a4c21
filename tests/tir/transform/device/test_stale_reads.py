"""Recurrences that threads share are refused where one reads what another one stores later."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright.error import LoweringError
from tilewright.script import tir as T

SIZE = 16


def prefix_sums(thread, *, times="inside", scope="global"):
    """Sums of rows up to each element; a thread has a part of each row, or rows of its own."""
    rows, parts = (4, 1) if times == "rows" else (1, 4)
    length = SIZE // parts

    @T.prim_func
    def sums(A: T.Buffer((rows, SIZE), "float32"), C: T.Buffer((rows, SIZE), "float32")):
        B = T.alloc_buffer((rows, SIZE), scope=scope)
        for _block in T.thread_binding(1, thread="blockIdx.x"):
            for t in T.thread_binding(4, thread=thread):
                for j in range(length):
                    with T.block("B"):
                        r = T.axis.spatial(rows, t % rows)
                        v = T.axis.opaque(SIZE, t % parts * length + j)
                        B[r, v] = T.if_then_else(v == 0, T.float32(0), B[r, v - 1]) + A[r, v]
            for t in T.thread_binding(4, thread=thread):
                for r, j in T.grid(rows, SIZE // 4):
                    C[r, t * (SIZE // 4) + j] = B[r, t * (SIZE // 4) + j]

    return sums


@pytest.mark.parametrize("scope", ["global", "shared"])
@pytest.mark.parametrize("thread", ["threadIdx.x", "threadIdx.y"])
def test_parts_of_a_row(thread, scope):
    with pytest.raises(LoweringError) as caught:
        tvm.build(prefix_sums(thread, scope=scope), target="opencl")
    message = str(caught.value)
    assert "B: a thread reads B[r, v - 1] before another one has stored it" in message
    assert f"(read at {thread}=1, j=0, and stored at {thread}=0, j=3)" in message
    assert "let one thread run all of the recurrence" in message


def test_rows_of_each_thread():
    module = tvm.build(prefix_sums("threadIdx.x", times="rows"), target="opencl")
    data = np.arange(4 * SIZE, dtype="float32").reshape(4, SIZE)
    a, c = (tvm.nd.array(x, tvm.opencl(0)) for x in (data, np.zeros_like(data)))
    module(a, c)
    np.testing.assert_array_equal(c.numpy(), data.cumsum(1))


def test_steps_that_all_threads_take_together():
    @T.prim_func
    def sums(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        B = T.alloc_buffer((5, 16), scope="shared")
        for t in T.thread_binding(16, thread="threadIdx.x"):
            B[0, t] = A[t]
            for k in range(4):
                B[k + 1, t] = B[k, t] + T.if_then_else(
                    t < T.shift_left(1, k), T.float32(0), B[k, t - T.shift_left(1, k)]
                )
            C[t] = B[4, t]

    module = tvm.build(sums, target="opencl")
    data = np.arange(16, dtype="float32")
    a, c = (tvm.nd.array(x, tvm.opencl(0)) for x in (data, np.zeros_like(data)))
    module(a, c)
    np.testing.assert_array_equal(c.numpy(), data.cumsum())
