"""What `dependences` shows."""

from tests.tir.analysis.dependence.scripts import SEPARATE, chain, function

import tilewright as tvm

CHAIN = """\
source  sink  kind    buffer  relation
C       C     output  C       (vm, vl, vk = 0) -> (vm' = vm, vl' = vl, vk') : vk' > 0
C       C     flow    C       (vm, vl, vk = 0) -> (vm' = vm, vl' = vl, vk') : vk' > 0
C       C     anti    C       (vm, vl, vk = 0) -> (vm' = vm, vl' = vl, vk') : vk' > 0
C       D     flow    C       (vm, vl, vk) -> (vm' = vm, vl' = vl)
D       F     flow    D       (vm, vl) -> (vm' = vm, vq, vl' = vl)
F       F     output  F       (vm, vq, vl = 0) -> (vm' = vm, vq' = vq, vl') : vl' > 0
F       F     flow    F       (vm, vq, vl = 0) -> (vm' = vm, vq' = vq, vl') : vl' > 0
F       F     anti    F       (vm, vq, vl = 0) -> (vm' = vm, vq' = vq, vl') : vl' > 0"""


def test_a_table():
    assert str(tvm.tir.analysis.dependences(chain(SEPARATE))) == CHAIN


def test_a_list():
    found = tvm.tir.analysis.dependences(chain(SEPARATE))
    between = [d for d in found if d.source is not d.sink]
    assert [(d.source.name, d.sink.name, d.kind, d.buffer.name) for d in between] == [
        ("C", "D", "flow", "C"),
        ("D", "F", "flow", "D"),
    ]
    assert len(found) == 8
    assert found[3] is between[0]


def test_symbolic_sizes_have_their_names():
    func = function(
        """
        n = T.int32()
        A = T.match_buffer(a, (n,))
        for i in range(n):
            with T.block("X"):
                v = T.axis.spatial(n, i)
                A[v] = A[n - 1 - v]
        """,
        "a: T.handle",
    )
    text = str(tvm.tir.analysis.dependences(func))
    assert "(v) -> (v' = -1 + n - v)" in text
