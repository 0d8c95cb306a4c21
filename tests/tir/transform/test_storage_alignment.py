"""The annotation `buffer_dim_align` of blocks asks for strides with padding."""

import pytest
from tests.passes import lower
from tests.tir.transform.memory import assert_same_meaning, compacted, extents_of
from tests.tir.transform.programs import of_kind

from tilewright.error import LoweringError
from tilewright.ir.convert import attributes
from tilewright.ir.rewrite import rewrite
from tilewright.script import tir as T
from tilewright.tir import Allocate, Block, BufferStore
from tilewright.tir.transform.lower_blocks import lower_blocks


@T.prim_func
def aligned(A: T.Buffer((16, 16), "int32"), C: T.Buffer((16, 16), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((16, 16), "int32", scope="shared")
    for i0, j0 in T.grid(4, 2):
        for i1, j1 in T.grid(4, 8):
            with T.block("B"):
                vi = T.axis.spatial(16, i0 * 4 + i1)
                vj = T.axis.spatial(16, j0 * 8 + j1)
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                T.block_attr({"buffer_dim_align": [[0, 0, 16, 10]]})
                B[vi, vj] = A[vi, vj]
        for i1, j1 in T.grid(4, 8):
            with T.block("C"):
                vi = T.axis.spatial(16, i0 * 4 + i1)
                vj = T.axis.spatial(16, j0 * 8 + j1)
                C[vi, vj] = B[vi, vj] + 1


@T.prim_func
def aligned_view(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4, 8), "int32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            T.block_attr({"buffer_dim_align": [[0, 0, 4, 1]]})
            B[vi, vj] = A[vi, vj]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            stride = T.int32()
            V = T.match_buffer(B[vi, 0:8], (1, 8), "int32", strides=[stride, 1])
            for j in range(8):
                C[vi, j] = V[0, j] * 10 + stride


@T.prim_func
def aligned_parameter(C: T.Buffer((4, 8), "int32")):
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(C[vi, vj])
            T.block_attr({"buffer_dim_align": [[0, 0, 4, 1]]})
            C[vi, vj] = 1


def strides_of(func, name):
    """The strides of the buffer `name`."""
    stores = of_kind(func.body, BufferStore)
    (found,) = {s.buffer for s in stores if s.buffer.name == name}
    return [stride.value for stride in found.strides]


def test_padding_is_that_of_the_smaller_buffer():
    assert strides_of(lower_blocks(aligned), "B") == [26, 1]
    assert strides_of(compacted(aligned), "B") == [10, 1]
    assert extents_of(compacted(aligned), "B") == [3 * 10 + 8]
    assert extents_of(lower(aligned), "B") == [38]
    assert not any(a.annotations for a in of_kind(lower(aligned).body, Allocate))
    assert_same_meaning(aligned, (16, 16), (16, 16))


def test_views_see_the_padding():
    lowered = lower(aligned_view)
    assert extents_of(lowered, "B") == [3 * 9 + 8]
    assert not any(a.annotations for a in of_kind(lowered.body, Allocate))
    assert "+ 9" in lowered.script()


def test_the_layout_of_a_parameter_is_given():
    with pytest.raises(LoweringError, match="layout of C is given"):
        lower(aligned_parameter)


@pytest.mark.parametrize(
    "entry", [(0, 0, 4), (1, 0, 4, 1), (0, 2, 4, 1), (0, 0, 0, 1), (0, "rows", 4, 1), 7]
)
def test_annotations_of_another_form(entry):
    def with_entry(block):
        if not block.annotations:
            return block
        return block.replace(annotations=attributes({"buffer_dim_align": [entry]}))

    func = rewrite(aligned_view, {Block: with_entry})
    with pytest.raises(LoweringError, match="block B: an entry of buffer_dim_align is"):
        lower(func)
