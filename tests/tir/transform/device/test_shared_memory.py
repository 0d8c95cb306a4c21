"""Memory that the threads of a block share is that of one iteration of the loop it is needed in."""

import pytest

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import LoweringError
from tilewright.ir import IRModule
from tilewright.script import tir as T
from tilewright.tir.stmt import Allocate
from tilewright.tir.transform import passes
from tilewright.tir.transform.building.statements import statements


def shared_extents(sch):
    """The extents of the shared memory of a schedule after it was lowered to loops."""
    module = sch.mod
    for step in (
        passes.LowerBlocks(),
        passes.PlanAndUpdateBufferAllocationLocation(),
        passes.CompactBufferAllocation(),
    ):
        module = step(module)
    found = [s for s in statements(module["main"].body) if isinstance(s, Allocate)]
    return [
        [int(extent) for extent in stmt.extents]
        for stmt in found
        if stmt.buffer_var.type_annotation.storage_scope == "shared"
    ]


def product():
    a, b = (te.placeholder((64, 64), name=name) for name in "AB")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return tir.Schedule(IRModule({"main": te.create_prim_func([a, b, c])}))


def copied_in_tiles(*axes):
    """A product in tiles of 2 rows, with an operand copied for 8 steps of the sum.

    Args:
        axes: those of the outer loops over rows, of 8, 2 and 4 iterations.
    """
    sch = product()
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    *outer, inner = sch.split(i, [None, 2, 4, 2])
    k, steps = sch.split(k, [None, 8])
    sch.reorder(*outer, k, steps, inner, j)
    sch.compute_at(sch.cache_read(block, 0, "shared"), k)
    for loop, axis in zip(outer, axes, strict=True):
        sch.bind(loop, axis)
    return sch


def test_it_is_for_one_iteration_and_all_threads():
    sch = copied_in_tiles("blockIdx.x", "blockIdx.y", "threadIdx.x")
    assert shared_extents(sch) == [[8, 8]]


def test_virtual_threads_share_it_too():
    sch = copied_in_tiles("blockIdx.x", "vthread", "threadIdx.x")
    assert shared_extents(sch) == [[16, 8]]


def test_memory_of_one_kernel_is_not_used_by_another():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((8,), lambda i: b[7 - i] * 2.0, name="C")
    sch = tir.Schedule(te.create_prim_func([a, c]))
    sch.set_scope("B", 0, "shared")
    for name in ("B", "C"):
        sch.bind(sch.get_loops(name)[0], "threadIdx.x")
    with pytest.raises(LoweringError, match=r"B is in shared memory, .* and two kernels use it"):
        tvm.build(sch.mod, target="opencl")


def test_memory_of_one_launch_is_not_used_by_the_next():
    @T.prim_func
    def main(A: T.Buffer((4, 8), "float32")):
        T.func_attr({"global_symbol": "main"})
        memory = T.allocate([8], "float32", "shared")
        cells = T.Buffer((8,), data=memory, scope="shared")
        for i in range(4):
            for j in T.thread_binding(8, thread="threadIdx.x"):
                if i > 0:
                    A[i, j] = cells[7 - j]
                cells[j] = A[i, j]

    with pytest.raises(LoweringError, match="and several launches use it"):
        tvm.build(main, target="opencl")
