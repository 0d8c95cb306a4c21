"""Accesses that are outside for certain are refused when a program is built."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax, te
from tilewright.error import BoundsError, InterpreterError
from tilewright.script import from_source
from tilewright.tir.analysis.index_bounds import check_bounds
from tilewright.tir.interpreter import interpret


def parsed(body, extent="8"):
    """A function of vectors of 8 elements; `body` stands in a loop over `i`."""
    lines = "\n".join(" " * 8 + line for line in body.strip("\n").split("\n"))
    return from_source(
        f"""
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int32")):
    for i in range({extent}):
{lines}
"""
    )


def arguments():
    return np.ones(8, "float32"), np.zeros(8, "float32"), np.zeros(8, "int32")


BLOCK = """
with T.block("B"):
    vi = T.axis.spatial({domain}, {value})
    {more}
    B[vi] = A[vi]
"""

OUTSIDE = [
    ("B[i] = A[i + 1]", "8", "A[i + 1] is read outside of its shape (8,): A[8] at i=7"),
    ("B[i - 1] = A[i]", "8", "B[i - 1] is written outside of its shape (8,): B[-1] at i=0"),
    ("B[9] = A[0]", "1", "B[9]"),
    ("B[i] = A[i]", "4096000", "[8] at i=8"),
    ("if i < 9:\n    B[i] = A[0]", "12", "B[8] at i=8"),
    ("if i < 4:\n    B[i] = A[0]\nelse:\n    B[i * 2] = A[0]", "8", "B[8] at i=4"),
    ("B[i] = T.if_then_else(i < 7 or i > 20, A[i + 2], T.float32(0))", "8", "A[8] at i=6"),
    ("if i < 6 and A[i + 4] > T.float32(0):\n    B[i] = A[i]", "8", "A[8] at i=4"),
    ("for j in range(i):\n    B[i + j] = A[0]", "8", "B[8] at i=5, j=3"),
    ("B[i % 3 * 4] = A[i // 2]", "8", "B[8] at i=2"),
    ("k = i * 2\nB[i] = A[k]", "8", "A[8] at i=4"),
    ("for j in T.vectorized(4):\n    B[i * 4 + j] = A[0]", "8", "B[8] at i=2, j=0"),
    ("B[T.Ramp(i, 2, 4)] = T.Broadcast(T.float32(0), 4)", "8", "B[8] at i=2"),
    ("L = T.alloc_buffer((4,))\nL[i] = A[i]\nB[i] = L[i]", "8", "L[4] at i=4"),
    (BLOCK.format(domain=9, value="i", more="pass"), "9", "[8] at i=8"),
    (BLOCK.format(domain=8, value="i", more="pass"), "9", "vi = 8 at i=8"),
    (BLOCK.format(domain=8, value="i", more="T.where(i < 9)"), "12", "vi = 8 at i=8"),
    (
        "with T.block('B'):\n    vi = T.axis.spatial(8, i)\n"
        "    V = T.match_buffer(A[vi:vi + 2], (2,), offset_factor=1)\n    B[vi] = V[0]",
        "8",
        "at i=7",
    ),
]


@pytest.mark.parametrize(("body", "extent", "message"), OUTSIDE)
def test_an_index_that_is_outside(body, extent, message):
    func = parsed(body, extent)
    with pytest.raises(BoundsError) as caught:
        tvm.build(func)
    assert message in str(caught.value)
    assert isinstance(caught.value, IndexError)
    with pytest.raises(InterpreterError):
        interpret(func, *arguments())


@pytest.mark.parametrize(
    ("body", "extent"),
    [
        ("B[i] = A[7 - i]", "8"),
        ("B[i] = T.if_then_else(i < 7, A[i + 1], T.float32(0))", "8"),
        ("B[i] = T.Select(i < 7, A[T.min(i + 1, 7)], T.float32(0))", "8"),
        ("if i > 0:\n    B[i - 1] = A[i]", "8"),
        ("if i >= 8:\n    T.evaluate(0)\nelse:\n    B[i] = A[i]", "12"),
        ("if not (i >= 8):\n    B[i] = A[i]", "12"),
        ("if i < 7 and A[i + 1] > T.float32(0):\n    B[i] = A[i]", "8"),
        ("if i == 7 or A[i + 1] > T.float32(0):\n    B[i] = A[i]", "8"),
        ("for j in range(8 - i):\n    B[i + j] = A[0]", "8"),
        ("for j in range(0):\n    B[i + 100] = A[0]", "8"),
        ("if I[i] > 0:\n    B[i + 8] = A[0]", "8"),
        ("B[I[i]] = A[0]", "8"),
        ("B[i] = A[T.bitwise_xor(i, 1)]", "8"),
        ("while A[0] < T.float32(0):\n    B[9] = A[0]", "8"),
        ("if i * i < 64:\n    B[i] = A[0]", "12"),
        ("if i % 2 == 0:\n    B[i] = A[i + 1]", "8"),
        (BLOCK.format(domain=8, value="i", more="T.where(i < 8)"), "12"),
        (BLOCK.format(domain=8, value="i // 4 * 4 + i % 4", more="pass"), "8"),
    ],
)
def test_what_is_inside(body, extent):
    func = parsed(body, extent)
    check_bounds(func)
    interpret(func, *arguments())


def test_a_view_of_an_index_is_not_an_access():
    func = from_source("""
@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    T.evaluate(T.call_extern("int32", "use", T.address_of(A[8])))
""")
    check_bounds(func)


SYMBOLIC = """
@T.prim_func
def f(a: T.handle, b: T.handle, m: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
{before}    for i in range({extent}):
        {body}
"""


@pytest.mark.parametrize(
    ("extent", "body", "before"),
    [
        ("n", "B[i] = A[n - 1 - i]", ""),
        ("m", "B[i] = A[i]", ""),  # whoever calls it keeps m below n
        ("n - 1", "B[i] = A[i + 1]", ""),
        ("n + 1", "B[i] = A[i]", "    assert n < 0, 'never'\n"),
        ("1", "B[0] = A[0]", ""),
        ("n * m", "B[i // m] = A[i // m]", ""),
    ],
)
def test_sizes_for_which_it_may_be_inside(extent, body, before):
    check_bounds(from_source(SYMBOLIC.format(extent=extent, body=body, before=before)))


@pytest.mark.parametrize(
    ("extent", "body"),
    [("n", "B[i] = A[i + 1]"), ("n + 1", "B[i] = A[0]"), ("n", "B[i + m] = A[n]")],
)
def test_outside_for_all_sizes(extent, body):
    with pytest.raises(BoundsError, match="n="):
        check_bounds(from_source(SYMBOLIC.format(extent=extent, body=body, before="")))


def test_the_line_is_shown():
    func = parsed("B[i] = A[i + 1]")
    with pytest.raises(BoundsError, match=r"--> <script>:5:9") as caught:
        tvm.build(func)
    assert caught.value.span.line == 5


def test_tensor_expressions():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i + 1], name="B")
    schedule = te.create_schedule(b.op)
    with pytest.raises(BoundsError, match=r"A\[8\] at"):
        tvm.build(schedule, [a, b])
    schedule[b].split(b.op.axis[0], 3)
    with pytest.raises(BoundsError, match=r"A\[8\] at"):
        tvm.build(schedule, [a, b])
    with pytest.raises(BoundsError, match=r"A\[8\] at"):
        tvm.build(te.create_prim_func([a, b]))


def test_programs_of_graphs():
    module = tvm.IRModule({"shift": parsed("B[i] = A[i + 1]")})
    with pytest.raises(BoundsError, match=r"shift: A\[i \+ 1\]"):
        relax.build(module)
