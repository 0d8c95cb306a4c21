"""Threads that run instances of a block do not share memory that each instance has for itself."""

import pytest

import tilewright as tvm
from tilewright.error import LoweringError
from tilewright.script import tir as T


def rows(scope, element):
    """Sums of rows by two threads, with memory of a scope in each instance."""
    k = 0 if element == "one" else 1

    @T.prim_func
    def rows(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4,), "float32")):
        for t in T.thread_binding(2, thread="threadIdx.x"):
            for i in range(2):
                with T.block("rows"):
                    v = T.axis.spatial(4, t * 2 + i)
                    total = T.alloc_buffer((4,), scope=scope)
                    total[v * k] = A[v, 0] + A[v, 1]
                    B[v] = total[v * k]

    return rows


def test_an_element_of_two_threads():
    with pytest.raises(LoweringError) as caught:
        tvm.build(rows("shared", "one"), target="opencl")
    message = str(caught.value)
    assert "total: each instance of block rows has this memory for itself" in message
    assert "total[0]: written by thread (threadIdx.x=" in message
    assert 'allocate it in the scope "local"' in message


@pytest.mark.parametrize(("scope", "element"), [("shared", "own"), ("local", "one")])
def test_elements_of_each_thread(scope, element):
    assert tvm.build(rows(scope, element), target="opencl").imported_modules


def test_threads_inside_of_the_block_share_its_memory():
    @T.prim_func
    def reverse(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in T.thread_binding(4, thread="blockIdx.x"):
            with T.block("row"):
                v = T.axis.spatial(4, i)
                row = T.alloc_buffer((8,), scope="shared")
                for t in T.thread_binding(8, thread="threadIdx.x"):
                    row[t] = A[v, t]
                for t in T.thread_binding(8, thread="threadIdx.x"):
                    B[v, t] = row[7 - t]

    assert tvm.build(reverse, target="opencl").imported_modules
