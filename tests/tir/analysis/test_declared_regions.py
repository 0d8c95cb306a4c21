"""Blocks may declare more than they access, and not less."""

import pytest

from tilewright.error import ScriptError, VerifyError
from tilewright.script import from_source
from tilewright.tir import Schedule
from tilewright.tir.analysis import verify_well_formed

ARGUMENTS = ", ".join(f'{name}: T.Buffer((8,), "float32")' for name in "ABC")


def parsed(body, arguments=ARGUMENTS, kind="S", check=True):
    """A function with the block `b` over 8 values, or with `kind` "SR" over 8 x 4."""
    loops = "i" if kind == "S" else "i, k"
    grid = "T.grid(8)" if kind == "S" else "T.grid(8, 4)"
    names = "vi" if kind == "S" else "vi, vk"
    lines = "\n".join(" " * 12 + line for line in body.strip("\n").split("\n"))
    return from_source(
        f"""
@T.prim_func
def f({arguments}, I: T.Buffer((8,), "int32"), n: T.int32):
    for {loops} in {grid}:
        with T.block("b"):
            {names} = T.axis.remap("{kind}", [{loops}])
{lines}
""",
        check_well_formed=check,
    )


LIES = [
    ("T.writes(C[vi])\nA[vi] = T.float32(7)", "writes A[vi], which T.writes(C[vi])"),
    ("T.reads(A[vi])\nB[vi] = A[vi] + C[vi]", "reads C[vi], which T.reads(A[vi])"),
    ("T.reads()\nT.writes()\nB[vi] = T.float32(0)", "writes B[vi], which T.writes()"),
    ("T.reads(A[0:4])\nB[vi] = A[vi]", "does not cover: A[4] at i=4"),
    ("T.reads(A[vi])\nB[vi] = T.if_then_else(vi < 7, A[vi + 1], T.float32(0))", "A[1] at i=0"),
    ("T.writes(B[vi])\nfor j in range(2):\n    B[(vi + j) % 8] = T.float32(0)", "B[1] at i=0, j=1"),
    ("T.reads(A[vi])\nif I[vi] > 0:\n    B[vi] = A[7 - vi]", "reads I[vi]"),
    ("T.reads(A[vi], I[vi])\nif I[vi] > 0:\n    B[vi] = A[7 - vi]", "A[7] at i=0"),
    ("T.reads(A[I[vi]])\nB[vi] = A[I[vi]]", "reads I[vi]"),
    ("T.reads(A[vi], A[vi + 2])\nB[vi] = T.if_then_else(vi < 7, A[vi + 1], 0.0)", "A[1] at i=0"),
    ("T.reads(C[vi])\nT.writes(B[0:8])\nB[vi] = C[vi]\nT.evaluate(A[vi])", "reads A[vi]"),
    # What a pointer is used for is believed, and the rest is not.
    (
        "T.reads()\nT.writes(A[0:8])\nT.evaluate(T.tvm_fill_fragment(A.data, 8, 1, 1, 0, 0.0))\n"
        "B[vi] = T.float32(0)",
        "writes B[vi]",
    ),
]


@pytest.mark.parametrize(("body", "message"), LIES)
def test_an_access_that_is_not_declared(body, message):
    with pytest.raises(ScriptError) as caught:
        parsed(body)
    assert message in str(caught.value)
    assert "block b" in str(caught.value)
    func = parsed(body, check=False)
    with pytest.raises(VerifyError, match="does not cover"):
        verify_well_formed(func)
    with pytest.raises(VerifyError, match="does not cover"):
        Schedule(func)
    Schedule(func, enable_check=False)


@pytest.mark.parametrize(
    "body",
    [
        "T.reads(A)\nT.writes(B)\nB[vi] = A[vi]",
        "T.reads(A[0:8], C)\nT.writes(B[vi])\nB[vi] = A[7 - vi]",
        "T.reads(A[vi:vi + 2])\nB[vi] = T.if_then_else(vi < 7, A[vi + 1], T.float32(0))",
        "T.reads(A[T.max(vi - 1, 0)])\nB[vi] = T.if_then_else(vi >= 1, A[vi - 1], T.float32(0))",
        "T.reads(A[T.max(vi - 1, 0)])\nif 0 < vi and vi < 20:\n    B[vi] = A[vi - 1]",
        "T.reads(A[vi], A[7 - vi])\nB[vi] = A[vi] + A[7 - vi]",
        "T.reads(A[vi // 2 * 2:vi // 2 * 2 + 2])\nB[vi] = A[T.bitwise_xor(vi, 1)]",
        "T.reads(A[0:4])\nB[vi] = A[vi // 2]",
        "T.reads(A[vi], I[vi])\nB[vi] = A[I[vi]]",
        "T.reads(A[vi * vi], C[vi])\nB[vi] = A[vi * vi] + C[vi]",
        "T.reads(A[vi])\nT.where(i < 4)\nB[vi] = A[vi]",
        "T.reads(A[0:4])\nT.where(i < 4)\nB[vi] = A[vi]",
        "T.reads()\nT.writes(A[0:8])\nT.evaluate(T.tvm_fill_fragment(A.data, 8, 1, 1, 0, 0.0))",
        "T.reads(A[vi])\nk = vi // 2\nC[vi] = A[k * 2 + vi % 2]",
        "T.reads()\nL = T.alloc_buffer((4,))\nL[0] = T.float32(1)\nB[vi] = L[0]",
        "V = T.match_buffer(A[vi:vi + 1], (1,), offset_factor=1)\nT.reads(A[vi])\nB[vi] = V[0]",
        "T.reads(A[vi])\nT.block_attr({'hides_accesses': True})\nB[vi] = A[vi] + C[vi]",
        "T.reads(A[0:n])\nB[vi] = A[0]",
    ],
)
def test_what_is_declared(body):
    assert verify_well_formed(parsed(body))


def test_updates_need_not_be_declared_as_reads():
    start = "with T.init():\n    B[vi] = T.float32(0)\n"
    parsed(f"T.reads(A[vi])\nT.writes(B[vi])\n{start}B[vi] += A[vi]", kind="SR")
    parsed("T.reads(A[vi])\nT.writes(B[vi])\nB[vi] += A[vi]", kind="SR")
    with pytest.raises(ScriptError, match=r"reads B\[vi\], which T.reads\(A\[vi\]\) does not"):
        parsed("T.reads(A[vi])\nT.writes(B[vi])\nB[vi] += A[vi]")
    with pytest.raises(ScriptError, match=r"reads B\[7 - vi\]"):
        parsed(f"T.reads(A[vi])\nT.writes(B[vi])\n{start}B[vi] += B[7 - vi]", kind="SR")
    with pytest.raises(ScriptError, match=r"writes C\[vi\]"):
        parsed(f"T.writes(B[vi])\n{start.replace('B', 'C')}B[vi] += A[vi]", kind="SR")


def test_what_an_update_reads_of_others_is_inferred():
    func = parsed("with T.init():\n    B[vi] = 0.0\nB[vi] += B[7 - vi] + A[vk]", kind="SR")
    block = func.body.block.body.body.body.block
    assert [str(region.buffer.name) for region in block.reads] == ["B", "A"]
    assert verify_well_formed(func)


def nested(outer, inner):
    return f"""
T.reads({outer})
T.writes(B[vi])
for j in range(2):
    with T.block("inner"):
        vj = T.axis.spatial(2, j)
        T.reads({inner})
        T.writes(B[vi])
        B[vi] = A[(vi + vj) % 8]
"""


def test_nested_blocks_access_what_they_declare():
    parsed(nested("A", "A[(vi + vj) % 8]"))
    with pytest.raises(ScriptError, match=r"block inner reads A\[\(vi \+ vj\) % 8\]"):
        parsed(nested("A", "A[vi]"))
    with pytest.raises(ScriptError, match=r"block b reads A\[\(vi \+ j\) % 8\], which T.reads"):
        parsed(nested("A[vi]", "A[(vi + vj) % 8]"))


def test_views():
    view = "V = T.match_buffer(A[0:4], (4,), offset_factor=1)\n"
    parsed(f"{view}T.reads(A[0:4])\nB[vi] = V[vi // 2]")
    parsed(f"{view}T.reads(A[0:2])\nB[vi] = V[vi // 4]")
    with pytest.raises(ScriptError, match=r"A\[2\] at i=4"):
        parsed(f"{view}T.reads(A[0:2])\nB[vi] = V[vi // 2]")
    other = "W = T.decl_buffer((2, 2), data=V.data, elem_offset=V.elem_offset)\n"
    parsed(f"{view}T.reads(A[0:4])\n{other}B[vi] = W[vi % 2, 0]")


def test_the_root_block_declares_nothing():
    func = from_source("""
@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    with T.block("root"):
        T.reads()
        T.writes()
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                A[vi] = T.float32(0)
""")
    assert verify_well_formed(func)
    Schedule(func)


SYMBOLIC = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range({extent}):
        with T.block("b"):
            vi = T.axis.spatial({extent}, i)
            T.reads(A[{region}])
            B[vi] = A[{index}]
"""


@pytest.mark.parametrize(
    ("extent", "region", "index"),
    [
        ("n", "0:n", "n - vi - 1"),
        ("n", "vi // 4 * 4:vi // 4 * 4 + 4", "vi"),
        ("n", "0:128", "vi"),  # for whoever calls it with 128 at most
        ("T.min(n, 128)", "0:128", "vi"),
    ],
)
def test_symbolic_regions(extent, region, index):
    assert verify_well_formed(
        from_source(SYMBOLIC.format(extent=extent, region=region, index=index))
    )


@pytest.mark.parametrize(
    ("region", "index"), [("vi", "n - vi - 1"), ("vi", "vi // 2"), ("0:n - 1", "vi")]
)
def test_symbolic_regions_that_are_too_small(region, index):
    with pytest.raises(ScriptError, match="does not cover"):
        from_source(SYMBOLIC.format(extent="n", region=region, index=index))
