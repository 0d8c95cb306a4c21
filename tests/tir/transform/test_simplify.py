"""Expressions become simpler, and statements that do nothing go."""

from tilewright.ir import assert_structural_equal
from tilewright.script import from_source
from tilewright.tir.transform.simplify import remove_no_ops, simplify

HEADER = """
@T.prim_func
def f(A: T.Buffer((64,), "int32"), n: T.int32):
"""


def check(transformation, before, after):
    """The body `before` becomes `after`."""
    result = transformation(from_source(HEADER + before))
    assert_structural_equal(result, from_source(HEADER + after))


def unchanged(transformation, body):
    func = from_source(HEADER + body)
    assert transformation(func) is func


def test_indices_and_values_under_the_ranges_of_loops():
    before = """
    for i, j in T.grid(8, 8):
        A[(i * 8 + j) // 8 * 8 + (i * 8 + j) % 8] = A[i * 8 + j + 0] * 1 + (2 * 3 - i // 8)
    """
    after = """
    for i, j in T.grid(8, 8):
        A[i * 8 + j] = A[i * 8 + j] + 6
    """
    check(simplify, before, after)


def test_iterators_of_blocks_lie_in_their_domains():
    before = """
    for i in range(64):
        with T.block("b"):
            vi = T.axis.spatial(64, i)
            A[vi % 64] = T.if_then_else(vi < 64, vi, 0)
    """
    after = """
    for i in range(64):
        with T.block("b"):
            vi = T.axis.spatial(64, i)
            A[vi] = vi
    """
    check(simplify, before, after)


def test_what_a_branch_says_holds_inside_of_it():
    before = """
    for i in range(64):
        if i < n:
            A[T.min(i, n)] = 1
        else:
            A[T.max(i, n)] = 2
        if i < 64:
            A[i] = 3
    """
    after = """
    for i in range(64):
        if i < n:
            A[i] = 1
        else:
            A[i] = 2
        A[i] = 3
    """
    check(simplify, before, after)


def test_what_memory_holds_may_change():
    body = """
    for i in range(64):
        if A[i] < 5:
            A[i] = 7
            if A[i] < 5:
                A[i] = 9
    """
    unchanged(simplify, body)


def test_empty_loops_and_known_branches_go():
    before = """
    for i in range(64):
        if i < 64:
            A[i] = 1
        for j in range(n):
            T.evaluate(0)
        for k in range(0):
            A[k] = 2
        for l in range(n):
            if i > 100:
                A[l] = 3
    """
    check(remove_no_ops, before, """
    for i in range(64):
        A[i] = 1
    """)  # fmt: skip


def test_calls_are_no_empty_statements():
    unchanged(remove_no_ops, """
    for i in range(64):
        T.evaluate(T.call_extern("int32", "rand"))
    """)  # fmt: skip
