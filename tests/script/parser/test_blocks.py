"""Blocks: iterators, bindings, regions, attributes, initialisation."""

import pytest

from tilewright.error import ScriptError
from tilewright.ir.structural import structural_equal
from tilewright.script import from_source
from tilewright.script import tir as T
from tilewright.tir import IterType

INIT = "with T.init():\n                pass"


def blocks(function):
    """The blocks of a function by name."""
    found, stack = {}, [function.body]
    while stack:
        node = stack.pop()
        if type(node).__name__ == "BlockRealize":
            found[node.block.name_hint] = node
        stack.extend(node.children())
    return found


def regions_text(regions):
    return [repr(region) for region in regions]


INIT = "with T.init():\n                pass"


def test_remap_takes_the_domain_of_the_loops():
    @T.prim_func
    def f(A: T.Buffer((8, 8), "float32")):
        for i in range(2, 6):
            for j in T.serial(T.int64(8)):
                with T.block("b"):
                    vi, vj = T.axis.remap("SR", [i, j])
                    A[vi, vj] = 0.0

    realize = blocks(f)["b"]
    first, second = realize.block.iter_vars
    assert (int(first.dom.min), int(first.dom.extent)) == (2, 4)
    assert (first.iter_type, second.iter_type) == (IterType.DATA_PAR, IterType.COMM_REDUCE)
    assert (first.var.dtype, second.var.dtype) == ("int32", "int64")
    assert (first.var.name, second.var.name) == ("vi", "vj")
    assert realize.iter_values[0] is f.body.block.body.loop_var


def test_remap_of_one_axis_gives_one_name():
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.remap("S", [i])
                A[vi] = 0.0

    assert [v.var.name for v in blocks(f)["b"].block.iter_vars] == ["vi"]


def test_kinds_of_axes_and_domains():
    @T.prim_func
    def f(A: T.Buffer((64,), "float32")):
        for i, j, k, l in T.grid(2, 2, 2, 2):
            with T.block("b"):
                a = T.axis.S(4, i * 2)
                b = T.axis.R((1, 5), j + 1)
                c = T.axis.scan(8, k, dtype="int64")
                d = T.axis.opaque(T.Range(0, 2), l)
                A[a + b + T.Cast("int32", c) + d] = 0.0

    realize = blocks(f)["b"]
    kinds = [v.iter_type for v in realize.block.iter_vars]
    assert kinds == [
        IterType.DATA_PAR, IterType.COMM_REDUCE, IterType.ORDERED, IterType.OPAQUE
    ]  # fmt: skip
    assert (
        int(realize.block.iter_vars[1].dom.min),
        int(realize.block.iter_vars[1].dom.extent),
    ) == (1, 4)
    assert realize.block.iter_vars[2].var.dtype == "int64"
    assert realize.iter_values[2].dtype == "int64"


def test_explicit_regions_are_kept_also_empty_ones():
    @T.prim_func
    def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                T.reads()
                T.writes(A[vi, 0:8], B[0 : vi + 1])
                A[vi, 0] = T.float32(0)

    block = blocks(f)["b"].block
    assert block.reads == ()
    assert regions_text(block.writes) == ["A[vi, 0:8]", "B[0:vi + 1]"]


def test_only_the_missing_regions_are_inferred():
    @T.prim_func
    def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                T.reads(A)
                B[vi] = A[vi, vi]

    block = blocks(f)["b"].block
    assert regions_text(block.reads) == ["A[0:8, 0:8]"]
    assert regions_text(block.writes) == ["B[vi]"]


def test_reduction_updates_are_no_reads():
    @T.prim_func
    def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
        for i, k in T.grid(8, 8):
            with T.block("b"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]

    block = blocks(f)["b"].block
    assert regions_text(block.reads) == ["A[vi, vk]"]
    assert regions_text(block.writes) == ["B[vi]"]
    assert block.init is not None


def test_predicates_annotations_and_views():
    @T.prim_func
    def f(A: T.Buffer((60, 16), "float32")):
        for i in range(64):
            with T.block("b"):
                vi = T.axis.spatial(60, i)
                T.where(i < 60)
                T.block_attr({"hint": "SS", "level": 2})
                row = T.match_buffer(A[vi, 0:16], (16,))
                row[0] = row[1]

    realize = blocks(f)["b"]
    assert repr(realize.predicate) == "i < 60"
    assert realize.block.annotations["hint"] == "SS"
    assert int(realize.block.annotations["level"]) == 2
    (view,) = realize.block.match_buffers
    assert view.buffer.name == "row"
    assert regions_text(realize.block.reads) == ["A[vi, 0:16]"]


def test_blocks_without_bindings():
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        with T.block("b", no_realize=True):
            vi = T.axis.spatial(8)
            A[vi] = 0.0

    assert type(f.body).__name__ == "Block"
    assert len(f.body.iter_vars) == 1


def test_inferred_regions_are_those_that_one_would_write():
    template = """
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(16):
        with T.block("b"):
            vi = T.axis.spatial(16, i)
            {regions}
            for j in range(4):
                B[vi * 4 + j] = A[vi * 4 + 3 - j] + B[vi]
"""
    inferred = from_source(template.replace("{regions}", "pass"))
    written = from_source(
        template.replace(
            "{regions}",
            "T.reads(A[vi * 4:vi * 4 + 4], B[vi])\n" + " " * 12 + "T.writes(B[vi * 4:vi * 4 + 4])",
        )
    )
    assert structural_equal(inferred, written)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("T.axis.remap('SS', [i])", "'SS' names 2 axes but 1 binding is given"),
        ("T.axis.remap('X', [i])", "'X' is not a kind of axis"),
        ("T.axis.remap('S', [i + 1])", "binds loop variables, got i \\+ 1"),
        ("T.axis.remap('S', [n])", "`n` is not the variable of a loop"),
        ("T.axis.spatial(8)", "needs a binding"),
        ("T.axis.spatial((1, 2, 3), i)", "an extent or a pair"),
        ("T.axis.spatial(8, A[0])", "scalar integer"),
        ("T.reads(A[0])\n            T.reads(A[1])", "T.reads already"),
        ("T.reads(3)", "expected a region"),
        ("T.where(i)", "expects a condition"),
        ("T.block_attr(3)", "expects a dictionary"),
        (f"{INIT}\n            {INIT}", "T.init already"),
        ("T.evaluate(T.call_extern('int32', 'f', A.data))", "T.reads"),
    ],
)
def test_mistakes_in_blocks(body, message):
    text = f"""
@T.prim_func
def f(A: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(8):
        with T.block("b"):
            {body}
"""
    with pytest.raises(ScriptError, match=message):
        from_source(text)
