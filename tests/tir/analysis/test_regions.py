"""Regions of blocks: intervals over inner loops, and boxes around several accesses."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arith import Analyzer
from tilewright.ir import IntImm, Var, as_expr
from tilewright.script import from_source
from tilewright.tir import BufferLoad, substitute
from tilewright.tir.analysis.regions import infer_block_regions


def block_with(body, arguments='A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")'):
    """The block of a function with the iterator `v` over 8 values."""
    lines = "\n".join(" " * 12 + line for line in body.strip("\n").split("\n"))
    text = f"""
@T.prim_func
def f({arguments}, I: T.Buffer((64,), "int32"), n: T.int32):
    for i in range(8):
        with T.block("b"):
            v = T.axis.spatial(8, i)
            T.reads()
            T.writes()
{lines}
"""
    function = from_source(text, check_well_formed=False)
    return function.body.block.body.body.block


def text(region):
    """A region of a vector as text: its buffer, first index and extent."""
    (box,) = region.region
    return f"{region.buffer.name}[{box.min!r}; {box.extent!r}]"


def regions(body):
    """The text of what is read and written."""
    reads, writes = infer_block_regions(block_with(body))
    return [text(r) for r in reads], [text(w) for w in writes]


@pytest.mark.parametrize(
    ("index", "region"),
    [
        ("v", "A[v; 1]"),
        ("v + j", "A[v; 4]"),
        ("v * 8 + j * 2", "A[v * 8; 7]"),
        ("v - j", "A[v - 3; 4]"),
        ("j // 2 + v", "A[v; 2]"),
        ("(v * 4 + j) // 4", "A[v; 1]"),
        ("j % 4 + v", "A[v; 4]"),
        ("(v + j) % 8", "A[0; 8]"),
        ("T.min(j, 2) + v", "A[v; 3]"),
        ("T.max(v, j)", "A[v; T.max(v, 3) - v + 1]"),
        ("j * v", "A[0; v * 3 + 1]"),
        ("I[v]", "A[0; 64]"),
        ("I[j] + v", "A[0; 64]"),
        ("n + j", "A[n; 4]"),
        ("T.Select(v > 3, j, j + 8)", "A[0; 12]"),
    ],
)
def test_one_access_in_a_loop(index, region):
    reads, writes = regions(f"for j in range(4):\n    B[0] = A[{index}]")
    assert region in reads
    assert writes == ["B[0; 1]"]


def test_several_accesses_give_the_box_around_them():
    assert regions("B[v] = A[v + 1] + A[v - 1] + A[v]")[0] == ["A[v - 1; 3]"]
    assert regions("B[v] = A[v] + A[n]")[0] == ["A[0; 64]"]
    assert regions("B[v] = A[0]\nB[v + 2] = A[0]") == (["A[0; 1]"], ["B[v; 3]"])


def test_order_is_that_of_first_accesses():
    reads, writes = regions("B[v] = A[5]\nA[v] = B[v] + A[0]")
    assert reads == ["A[0; 6]", "B[v; 1]"]
    assert writes == ["B[v; 1]", "A[v; 1]"]


def test_memory_inside_of_the_block_is_left_out():
    body = """
p = T.allocate([4], "float32", "local")
L = T.Buffer((4,), data=p, scope="local")
L[0] = A[v]
B[v] = L[0]
"""
    assert regions(body) == (["A[v; 1]"], ["B[v; 1]"])


def test_lets_are_looked_through():
    assert regions("k = v * 2\nB[v] = A[k + 1]")[0] == ["A[v * 2 + 1; 1]"]


def test_nested_blocks_count_with_what_they_declare():
    body = """
for j in range(4):
    with T.block("inner"):
        vj = T.axis.spatial(32, v * 4 + j)
        T.reads(A[vj:vj + 2])
        T.writes(B[vj])
        B[vj] = A[vj]
"""
    assert regions(body) == (["A[v * 4; 5]"], ["B[v * 4; 4]"])


def test_vector_accesses():
    body = "B[v * 4:v * 4 + 4] = A[T.Ramp(v * 8, 2, 4)]"
    assert regions(body) == (["A[v * 8; 7]"], ["B[v * 4; 4]"])


INDEX = st.recursive(
    st.sampled_from(["v", "j", "k", "1", "3", "n"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-"]), inner).map(" ".join).map("({})".format),
        st.tuples(inner, st.sampled_from([" * 3", " * -2", " // 3", " % 4"])).map("".join),
        st.tuples(inner, inner).map("T.min({0[0]}, {0[1]})".format),
        st.tuples(inner, inner).map("T.max({0[0]}, {0[1]})".format),
    ).map("({})".format),
    max_leaves=5,
)


@given(first=INDEX, second=INDEX)
def test_every_access_is_inside_of_the_region(first, second):
    body = f"for j in range(3):\n    for k in range(1, 3):\n        B[v] = A[{first}] + A[{second}]"
    block = block_with(body)
    reads, _ = infer_block_regions(block)
    region = next(r for r in reads if r.buffer.name == "A").region[0]
    loads: list[BufferLoad] = []
    stack, loops = [block.body], []
    while stack:
        node = stack.pop()
        if isinstance(node, BufferLoad) and node.buffer.name == "A":
            loads.append(node)
        loops += [node.loop_var] if hasattr(node, "loop_var") else []
        stack.extend(reversed(node.children()))
    iterator = block.iter_vars[0].var
    size = next((x for x in _variables(loads) if x.name == "n"), None)
    whole = repr(region.extent) == "64"
    for v, j, k, n in itertools.product((0, 7), range(3), (1, 2), (-5, 9)):
        values = {iterator: v, loops[0]: j, loops[1]: k} | ({size: n} if size is not None else {})
        values = {x: as_expr(y) for x, y in values.items()}
        low, extent = _number(region.min, values), _number(region.extent, values)
        for load in loads:
            index = _number(load.indices[0], values)
            assert whole or low <= index < low + extent


def _variables(nodes):
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, Var):
            yield node
        stack.extend(node.children())


def _number(expr, values):
    result = Analyzer().simplify(substitute(expr, values))
    assert isinstance(result, IntImm)
    return int(np.int64(result.value))
