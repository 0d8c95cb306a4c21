"""Complete and reduction blocks, and the reasons why a block is neither."""

from __future__ import annotations

import pytest

from tilewright.script import from_source
from tilewright.script import tir as T
from tilewright.tir.analysis.block_kind import BlockKind, block_kind, classify_block


def block_of(kinds, body):
    """A block with iterators v, w over 4 and 8 values, of these kinds."""
    text = "\n".join(" " * 12 + line for line in body.split("\n"))
    buffers = ", ".join(f"{name}: T.Buffer((64,), 'float32')" for name in "ABC")
    return from_source(f"""
@T.prim_func
def f({buffers}, I: T.Buffer((64,), 'int32')):
    for i, j in T.grid(4, 8):
        with T.block("b"):
            v, w = T.axis.remap({kinds!r}, [i, j])
{text}
""").body.block.body.body.body.block


INIT = "with T.init():\n    C[v] = T.float32(0)\n"


@pytest.mark.parametrize(
    "body",
    [
        "C[v * 8 + w] = A[v]",
        "C[(v * 8 + w) // 4 * 8 + (v * 8 + w) % 4] = A[v]",
        "C[v * 8 + w // 2 * 2 + w % 2] = A[v]",
        "C[v + w * 4] = A[v]\nB[w * 5 + v] = A[0]",
        "for u in range(2):\n    C[v * 16 + w * 2 + u] = A[u]",
        "for u in range(2):\n    C[v * 8 + w] = A[u]",
    ],
)
def test_complete_blocks(body):
    assert classify_block(block_of("SS", body)) == (BlockKind.COMPLETE, "")


@pytest.mark.parametrize(
    "body",
    [
        INIT + "C[v] = C[v] + A[w]",
        INIT + "C[v] = C[v] * A[w] + B[w]",
        INIT + "if A[w] > T.float32(0):\n    C[v] = C[v] + A[w]",
    ],
)
def test_reduction_blocks(body):
    assert block_kind(block_of("SR", body)) is BlockKind.REDUCTION


@pytest.mark.parametrize(
    ("kinds", "body", "reason"),
    [
        ("SS", "C[v] = A[w]", "instances that differ in w may write the same element of C"),
        (
            "SS",
            "C[v + w] = A[w]",
            "instances may write the same element of C: the stride 1 is less than the 8 values "
            "below it",
        ),
        (
            "SS",
            "C[v + w - w] = A[w]",
            "instances that differ in w may write the same element of C",
        ),
        (
            "SS",
            "C[v * 8 + w // 2] = A[w]",
            "instances that differ in w may write the same element of C",
        ),
        (
            "SS",
            "C[(v * 8 + w) // 4] = A[w]",
            "instances that differ in w may write the same element of C",
        ),
        ("SS", "C[v * 8 + w] = C[v * 8 + w] + A[w]", "it reads C, which it writes"),
        ("SR", "C[v] = C[v] + A[w]", "its iterator w is a reduction without `init`"),
        ("SS", "C[v * 8 + w] = A[w]\nC[0] = A[w]", "it writes C at several places"),
        ("SR", INIT + "C[v] = C[v] + C[w]", "it reads C, which it writes"),
        (
            "SR",
            "with T.init():\n    C[v * 8 + w] = T.float32(0)\nC[v * 8 + w] = A[v]",
            "the reduction iterator w is an index of C",
        ),
        (
            "SS",
            "T.reads()\nT.writes(C[v])\nT.call_extern('int32', 'f', C.data)",
            "it uses the pointer C",
        ),
        (
            "SS",
            "for u in range(v):\n    C[v * 8 + w + u] = A[v]",
            "how much it writes of C differs between instances",
        ),
        (
            "SS",
            "x: T.int32 = v * 8 + w\nC[x] = A[v]",
            "what it writes of C depends on a variable of its own",
        ),
    ],
)
def test_other_blocks(kinds, body, reason):
    assert classify_block(block_of(kinds, body)) == (BlockKind.OTHER, reason)


@T.prim_func
def in_panels(A: T.Buffer((10, 4), "float32"), P: T.Buffer((3, 4, 4), "float32")):
    for i, j in T.grid(10, 4):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi // 4, vj, vi % 4] = A[vi, vj]


@T.prim_func
def in_other_panels(A: T.Buffer((10, 4), "float32"), P: T.Buffer((3, 4, 4), "float32")):
    for i, j in T.grid(10, 4):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi // 4, vj, vi % 3] = A[vi, vj]


def test_the_last_panel_may_be_cut_off():
    def kind(func):
        return block_kind(func.body.block.body.body.body.block)

    assert kind(in_panels) is BlockKind.COMPLETE
    assert kind(in_other_panels) is BlockKind.OTHER


def test_the_index_is_data():
    found = classify_block(block_of("SS", "C[I[v * 8 + w]] = A[v]"))
    assert found.kind is BlockKind.OTHER


def test_buffers_of_the_block_itself_do_not_count():
    body = "t = T.alloc_buffer((1,), 'float32')\nt[0] = A[v]\nC[v * 8 + w] = t[0]"
    assert block_kind(block_of("SS", body)) is BlockKind.COMPLETE
