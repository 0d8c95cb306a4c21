"""Which orders are right: loops merged, reordered, split, skewed; blocks that are rewritten."""

from __future__ import annotations

import pytest
from tests.tir.analysis.dependence.scripts import SEPARATE, chain, function

from tilewright.tir.analysis.dependence import NotProved, Violation, check_order
from tilewright.tir.stmt import BlockKey

RIGHT = {
    "rows shared": """
for m in range(8):
    for l, k in T.grid(8, 16):
        C(m, l, k)
    for l in range(8):
        D(m, l)
    for q, l in T.grid(4, 8):
        F(m, q, l)
""",
    "elements shared": """
for m, l in T.grid(8, 8):
    for k in range(16):
        C(m, l, k)
    for k in range(1):
        D(m, l)
    for q in range(4):
        F(m, q, l)
""",
    "columns shared": """
for l in range(8):
    for k, m in T.grid(16, 8):
        C(m, l, k)
    for m in range(8):
        D(m, l)
for q, l, m in T.grid(4, 8, 8):
    F(m, q, l)
""",
    "tiles": """
for m0 in range(2):
    for l0, k, m1, l1 in T.grid(2, 16, 4, 4):
        C(m0 * 4 + m1, l0 * 4 + l1, k)
    for fused in range(32):
        D(m0 * 4 + fused // 8, fused % 8)
    for l0, m1, q, l1 in T.grid(2, 4, 4, 4):
        F(m0 * 4 + m1, q, l0 * 4 + l1)
""",
}

WRONG = {
    "used before it is computed": (
        """
for m, l, k in T.grid(8, 8, 16):
    C(m, l, k)
for m in range(8):
    for q, l in T.grid(4, 8):
        F(m, q, l)
    for l in range(8):
        D(m, l)
""",
        "D[0, 0]: written by D at (vm=0, vl=0) after it is read by F at (vm=0, vq=0, vl=0)",
    ),
    "the init is not first": (
        """
for m, l, k in T.grid(8, 8, 16):
    C(m, l, 15 - k)
for m, l in T.grid(8, 8):
    D(m, l)
for m, q, l in T.grid(8, 4, 8):
    F(m, q, l)
""",
        "C[0, 0]: written by C at (vm=0, vl=0, vk=0) after it is written by C at "
        "(vm=0, vl=0, vk=15)",
    ),
    "another loop shared": (
        """
for m in range(8):
    for l, k in T.grid(8, 16):
        C(m, l, k)
for l in range(8):
    for m, q in T.grid(8, 4):
        F(m, q, l)
    for m in range(8):
        D(m, 7 - l)
""",
        "D[0, 3]: written by D at (vm=0, vl=3) after it is read by F at (vm=0, vq=0, vl=3)",
    ),
    "a row is missing": (
        SEPARATE.replace("T.grid(8, 8, 16)", "T.grid(7, 8, 16)"),
        "C at (vm=7, vl=0, vk=0) is not executed any more",
    ),
}


@pytest.mark.parametrize("nest", RIGHT.values(), ids=RIGHT)
def test_right_orders(nest):
    before, after = chain(SEPARATE), chain(nest)
    assert check_order(before, after) is None
    assert check_order(after, before) is None


@pytest.mark.parametrize(("nest", "message"), WRONG.values(), ids=WRONG)
def test_wrong_orders(nest, message):
    verdict = check_order(chain(SEPARATE), chain(nest))
    assert isinstance(verdict, Violation)
    assert str(verdict) == message


def test_an_instance_that_runs_twice():
    nest = SEPARATE.replace("C(m, l, k)", "C(m, l, k)\n    D(m, l)").replace(
        "for m, l in T.grid(8, 8):\n    D(m, l)\n", ""
    )
    verdict = check_order(chain(SEPARATE), chain(nest))
    assert isinstance(verdict, Violation)
    assert verdict.kind == "twice"
    assert str(verdict) == (
        "D at (vm=0, vl=0) is executed twice: in iterations (m=0, l=0, k=0) and (m=0, l=0, k=1)"
    )


STENCIL = "A: T.Buffer((9, 34), 'float32')"


def stencil(nest, t="t", i="i"):
    return function(
        f"""
        for {nest}:
            with T.block("S"):
                vt = T.axis.spatial(8, {t})
                vi = T.axis.spatial(32, {i})
                A[vt + 1, vi + 1] = A[vt, vi] + A[vt, vi + 1] + A[vt, vi + 2]
        """,
        STENCIL,
    )


def test_stencils_are_skewed_but_not_interchanged():
    before = stencil("t, i in T.grid(8, 32)")
    wrong = check_order(before, stencil("i, t in T.grid(32, 8)"))
    assert str(wrong) == (
        "A[1, 2]: written by S at (vt=0, vi=1) after it is read by S at (vt=1, vi=0)"
    )
    skewed = function(
        """
        for s, t in T.grid(46, 8):
            with T.block("S"):
                vt = T.axis.spatial(8, t)
                vi = T.axis.spatial(32, s - t * 2)
                T.where(0 <= s - t * 2 and s - t * 2 < 32)
                A[vt + 1, vi + 1] = A[vt, vi] + A[vt, vi + 1] + A[vt, vi + 2]
        """,
        STENCIL,
    )
    assert check_order(before, skewed) is None


def test_updates_in_place():
    def program(order):
        return function(
            f"""
            for i in range(8):
                with T.block("S"):
                    v = T.axis.spatial(8, {order})
                    A[v] = A[v] * T.float32(2)
            for i in range(7):
                with T.block("U"):
                    v = T.axis.spatial(7, {order if order == "i" else "6 - i"})
                    A[v] = A[v + 1]
            """
        )

    assert str(check_order(program("i"), program("7 - i"))) == (
        "A[6]: read by U at (v=5) after it is written by U at (v=6)"
    )


def test_triangles():
    def program(nest):
        return function(
            f"""
            {nest[0]}
                {nest[1]}
                    with T.block("S"):
                        vi, vj = T.axis.spatial(8, i), T.axis.spatial(8, j)
                        A[vi, vj] = A[vj, vi] + T.float32(1)
            """,
            "A: T.Buffer((8, 8), 'float32')",
        )

    before = program(("for i in range(8):", "for j in range(i + 1):"))
    assert check_order(before, program(("for j in range(8):", "for i in range(j, 8):"))) is None
    more = check_order(before, program(("for j in range(8):", "for i in range(8):")))
    assert str(more) == "S at (vi=0, vj=1) is executed, which it was not before"


SYMBOLIC = """
n = T.int32()
A = T.match_buffer(a, (n,))
B = T.match_buffer(b, (n,))
"""
X = "T.block('X'):\n    vi = T.axis.spatial(n, {})\n    T.where({})\n    B[vi] = A[vi]"
Y = "T.block('Y'):\n    vi = T.axis.spatial(n, {})\n    T.where({})\n    A[vi] = B[{}]"


def symbolic(nest, index, value="i", where="True"):
    """Two blocks over `n` elements in a nest of loops; lines ``X`` and ``Y`` stand for them."""
    lines = []
    for line in nest.strip().split("\n"):
        text = {"X": X.format(value, where), "Y": Y.format(value, where, index)}
        indent = line[: len(line) - len(line.lstrip())]
        block = text.get(line.strip())
        lines += [line] if block is None else (indent + x for x in f"with {block}".split("\n"))
    return function(SYMBOLIC + "\n".join(lines), "a: T.handle, b: T.handle")


def test_symbolic_sizes():
    apart = "for i in range(n):\n    X\nfor i in range(n):\n    Y"
    merged = "for i in range(n):\n    X\n    Y"
    tiled = (
        "for o in range((n + 3) // 4):\n    for j in range(4):\n        X\n"
        "    for j in range(4):\n        Y"
    )
    split = {"value": "o * 4 + j", "where": "o * 4 + j < n"}
    before = symbolic(apart, "vi")
    assert check_order(before, symbolic(merged, "vi")) is None
    assert check_order(before, symbolic(tiled, "vi", **split)) is None
    more = check_order(before, symbolic(tiled.replace("+ 3", "+ 0"), "vi", **split))
    assert str(more) == "X at (vi=0) is not executed any more, if n = 1"
    reverse = check_order(symbolic(apart, "n - 1 - vi"), symbolic(merged, "n - 1 - vi"))
    assert str(reverse) == (
        "B[1]: written by X at (vi=1) after it is read by Y at (vi=0), if n = 2"
    )


def test_an_index_that_depends_on_data():
    def program(nest):
        return function(
            f"""
            for {nest}:
                with T.block("S"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    A[I[vi], vj] = A[I[vi], vj] + T.float32(1)
            """,
            "A: T.Buffer((8, 4), 'float32'), I: T.Buffer((8,), 'int32')",
        )

    before = program("i, j in T.grid(8, 4)")
    assert check_order(before, program("j, i in T.grid(4, 8)")) is None


def test_a_block_that_is_new_or_has_gone():
    text = "for i in range(8):\n    with T.block({0!r}):\n        v = T.axis.spatial(8, i)\n{1}"
    store = "        A[v] = T.float32(1)"
    one, other = (function(text.format(name, store)) for name in "XY")
    verdict = check_order(one, other)
    assert isinstance(verdict, NotProved)
    assert str(verdict) == "not proved: Y is new"
    blocks = [f.body.block.body.body.block for f in (one, other)]
    assert check_order(one, other, {blocks[1]: blocks[0]}) is None


def test_statements_outside_of_blocks_keep_their_loops():
    def program(extent):
        return function(
            f"""
            for i in range({extent}):
                A[i] = T.float32(1)
            for i in range(8):
                with T.block("X"):
                    v = T.axis.spatial(8, i)
                    A[v] = A[v] + T.float32(1)
            """
        )

    func = program(8)
    body = func.body.block.body
    changed = func.with_body(
        func.body.replace(block=func.body.block.replace(body=body.replace(seq=body.seq[::-1])))
    )
    assert check_order(func, func) is None
    assert str(check_order(func, changed)) == (
        "A[0]: written by a statement outside of blocks (For) at () after it is written by "
        "X at (v=0)"
    )
    assert isinstance(check_order(func, program(7)), NotProved)


def with_key(func, key, name):
    """`func` with a key and a name for its only block."""
    root = func.body.block
    realize = root.body.body
    block = realize.block.replace(key=key, name_hint=name)
    loop = root.body.replace(body=realize.replace(block=block))
    return func.with_body(func.body.replace(block=root.replace(body=loop)))


def test_blocks_with_keys():
    func = function(
        """
        for i in range(8):
            with T.block("X"):
                v = T.axis.spatial(8, i)
                A[v] = T.float32(1)
        """
    )
    one, other = BlockKey(), BlockKey()
    before = with_key(func, one, "X")
    assert check_order(before, with_key(func, one, "renamed")) is None
    assert isinstance(check_order(before, with_key(func, other, "X")), NotProved)
    assert check_order(func, before) is None
