"""Barriers stand outside of branches, which are taken apart for that."""

from tilewright.ir.rewrite import walk
from tilewright.script import tir as T
from tilewright.tir.stmt import IfThenElse
from tilewright.tir.transform.device.barriers import insert_barriers, is_barrier
from tilewright.tir.transform.device.thread_axes import unify_thread_axes
from tilewright.tir.transform.device.unconditional_barriers import free_barriers


def freed(func):
    """The lines of a kernel from the first one under its threads on."""
    func = free_barriers(insert_barriers(unify_thread_axes(func)))
    branches = (node for node in walk(func.body) if isinstance(node, IfThenElse))
    assert not any(is_barrier(node) for branch in branches for node in walk(branch))
    lines = func.script().splitlines()
    start = next(number for number, line in enumerate(lines) if "for i in" in line)
    return [line[len(lines[start]) - len(lines[start].lstrip()) :] for line in lines[start:]]


def test_a_branch_with_a_definition_and_a_loop():
    @T.prim_func
    def kernel(A: T.Buffer((5, 8), "float32"), B: T.Buffer((5, 8), "float32"), n: T.int32):
        shared = T.allocate([8], "float32", "shared")
        cells = T.Buffer((8,), data=shared, scope="shared")
        for t in T.thread_binding(8, thread="threadIdx.x"):
            for i in range(5):
                if i < n:
                    last: T.float32 = A[i, 7 - t]
                    for k in range(i):
                        cells[t] = A[k, t]
                        B[i, t] = cells[7 - t] + last

    assert (
        freed(kernel)
        == """\
for i in range(5):
    holds: T.bool = i < n
    last: T.float32 = T.if_then_else(holds, A[i, 7 - t], T.float32(0.0))
    for k in range(T.if_then_else(holds, i, 0)):
        T.tvm_storage_sync("shared")
        cells = T.Buffer((8,), data=shared, scope="shared")
        cells[t] = A[k, t]
        T.tvm_storage_sync("shared")
        B[i, t] = cells[7 - t] + last""".splitlines()
    )


def test_both_branches_and_a_branch_in_a_branch():
    @T.prim_func
    def kernel(A: T.Buffer((5, 8), "float32"), B: T.Buffer((5, 8), "float32"), n: T.int32):
        shared = T.allocate([8], "float32", "shared")
        cells = T.Buffer((8,), data=shared, scope="shared")
        for t in T.thread_binding(8, thread="threadIdx.x"):
            for i in range(5):
                if i < n:
                    if i > 2:
                        cells[t] = A[i, t]
                        B[i, t] = cells[7 - t]
                else:
                    cells[7 - t] = A[i, t]
                    B[i, t] = cells[t]

    found = [line.strip() for line in freed(kernel)]
    assert found.count('T.tvm_storage_sync("shared")') == 3
    assert "with T.LetStmt(holds and i > 2, var=holds_1):" in found
    assert "if not holds:" in found


def test_branches_without_barriers_stay():
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            if i < 5:
                B[i] = A[i]

    func = insert_barriers(unify_thread_axes(kernel))
    assert free_barriers(func).body is func.body
