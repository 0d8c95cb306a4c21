"""What blocks access, as a table and as regions."""

import pytest
from tests.tir.schedule.loop_programs import matmul, symbolic

import tilewright as tvm
from tilewright.error import ArgumentError
from tilewright.script import tir as T
from tilewright.tir.analysis.access_table import region_text


def test_the_table_of_a_product():
    table = tvm.tir.analysis.footprints(matmul)
    assert str(table).splitlines() == [
        "block          one instance  all instances  bytes",
        "C      reads   A[vi, vk]     A[0:6, 0:8]    192",
        "C      reads   B[vk, vj]     B[0:8, 0:10]   320",
        "C      writes  C[vi, vj]     C[0:6, 0:10]   240",
    ]
    assert table[0].size == 192


def test_symbolic_extents_and_whole_dimensions():
    table = tvm.tir.analysis.footprints(symbolic)
    assert region_text(table[0].whole) == "A[0:n, 0:4]"
    assert table[0].size is None

    @T.prim_func
    def gather(A: T.Buffer((8, 4), "float32"), I: T.Buffer((3,), "int32"), B: T.Buffer((3,))):
        for i in range(3):
            with T.block("B"):
                vi = T.axis.spatial(3, i)
                B[vi] = A[I[vi], 0]

    whole = {region_text(item.whole) for item in tvm.tir.analysis.footprints(gather)}
    assert whole == {"A[0:8, 0]", "I[0:3]", "B[0:3]"}


def test_blocks_in_blocks_and_windows():
    @T.prim_func
    def nested(A: T.Buffer((10,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(2):
            with T.block("outer"):
                vo = T.axis.spatial(2, i)
                for j in range(4):
                    with T.block("inner"):
                        vj = T.axis.spatial(4, j)
                        B[vo * 4 + vj] = A[vo * 4 + vj] + A[vo * 4 + vj + 2]

    table = tvm.tir.analysis.footprints(nested)
    assert [item.block.name_hint for item in table] == ["inner", "inner"]
    assert region_text(table[0].whole) == "A[0:10]"
    assert region_text(table[0].instance) == "A[vo * 4 + vj:vo * 4 + vj + 3]"


def test_regions_of_a_block():
    (realize,) = (
        node for node in tvm.ir.walk(matmul.body) if isinstance(node, tvm.tir.BlockRealize)
        if node.block.name_hint == "C"
    )  # fmt: skip
    reads, writes, opaque = tvm.tir.analysis.get_block_access_region(realize.block)
    assert [region_text(r) for r in reads] == ["A[vi, vk]", "B[vk, vj]"]
    assert [region_text(r) for r in writes] == ["C[vi, vj]"]
    assert opaque == []


def test_what_is_no_function():
    with pytest.raises(ArgumentError, match="expected a PrimFunc"):
        tvm.tir.analysis.footprints(3)
