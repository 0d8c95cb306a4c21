"""Whether iterations of a loop depend on each other, and why the answer may be unknown."""

import pytest
from tests.tir.analysis.dependence.scripts import SEPARATE, chain, find_loop, function

from tilewright.script import tir as T
from tilewright.tir import BlockRealize
from tilewright.tir.analysis.dependence import (
    NotProved,
    Violation,
    analyze,
    carried_by,
    memory_in_doubt,
)


def carried(func, loop, **options):
    """The verdict on a loop, named by its variable."""
    return carried_by(func, find_loop(func, loop), **options)


def nest(body, arguments="A: T.Buffer((8, 16), 'float32'), B: T.Buffer((16,), 'float32')"):
    """A block over i < 8 and j < 16."""
    lines = "\n".join(" " * 8 + line for line in body.split("\n"))
    return function(
        f"""
for i, j in T.grid(8, 16):
    with T.block("S"):
        v, w = T.axis.remap("SS", [i, j])
{lines}
""",
        arguments,
    )


@pytest.mark.parametrize("loop", ["m", "l"])
def test_spatial_loops_carry_nothing(loop):
    assert carried(chain(SEPARATE), loop) is None


def test_reductions_carry_their_updates():
    func = chain(SEPARATE)
    verdict = carried(func, "k")
    assert isinstance(verdict, Violation)
    assert str(verdict) == (
        "C[0, 0]: written by C at (vm=0, vl=0, vk=0) in iteration k=0 and written by C at "
        "(vm=0, vl=0, vk=1) in iteration k=1"
    )
    first, second = verdict.example.instances
    assert first.loops == {"m": 0, "l": 0, "k": 0}
    assert second.values == {"vm": 0, "vl": 0, "vk": 1}
    assert isinstance(carried(func, "k", allow_reductions=True), Violation)


def test_updates_without_init_may_be_allowed():
    func = nest("B[w] = B[w] + A[v, w]")
    assert isinstance(carried(func, "i"), Violation)
    assert carried(func, "i", allow_reductions=True) is None
    assert carried(func, "j") is None
    assert isinstance(carried(nest("B[w] = B[w] + B[v]"), "i", allow_reductions=True), Violation)


@pytest.mark.parametrize(
    ("body", "outer", "inner"),
    [
        ("A[v, w] = A[v, w] + B[w]", False, False),
        ("A[v, w] = A[7 - v, w]", True, False),
        ("A[v, w] = A[v, 15 - w]", False, True),
        ("A[v, w // 2] = B[v]", False, True),
        ("A[v, w % 8] = A[v, w % 8 + 8]", False, True),
        ("A[v, (w + v) % 16] = B[0]", False, False),
        ("A[v, 0] = B[w]", False, True),
        ("if w < 15:\n    A[v, w] = A[v, w + 1]", False, True),
        ("if w == 0:\n    A[v, 0] = B[w]", False, False),
        ("B[w] = T.if_then_else(v == 0, B[w], A[v, w])", True, False),
        ("A[v, w] = T.if_then_else(w == 3, A[v, w], B[w])", False, False),
        ("for u in range(2):\n    A[v, w * 2 % 16 + u] = B[u]", False, True),
        ("for u in range(2):\n    A[v, w] = A[v, w] + B[u]", False, False),
    ],
)
def test_loops_of_a_block(body, outer, inner):
    func = nest(body)
    assert isinstance(carried(func, "i"), Violation) is outer
    assert isinstance(carried(func, "j"), Violation) is inner


def test_an_index_that_is_data_may_be_any_element_of_its_dimension():
    arguments = "A: T.Buffer((8, 16), 'float32'), I: T.Buffer((16,), 'int32')"
    func = nest("A[I[v], w] = T.float32(1)", arguments)
    verdict = carried(func, "i")
    assert str(verdict) == (
        "A[0, 0]: may be written by S at (v=0, w=0) in iteration i=0 and written by S at "
        "(v=1, w=0) in iteration i=1"
    )
    assert not verdict.example.certain
    assert carried(func, "j") is None


@pytest.mark.parametrize(
    "body",
    [
        "T.reads()\nT.writes()\nT.call_extern('int32', 'f', A.data)",
        "T.reads()\nT.writes()\nT.call_packed('f', T.address_of(A[v, w]))",
        "T.reads()\nT.writes()\nT.call_extern('int32', 'f', T.tvm_access_ptr('float32', A.data, "
        "0, 1, 2))",
        "T.call_extern('int32', 'f')",
    ],
)
def test_calls_keep_their_order(body):
    verdict = carried(nest(body), "i")
    assert isinstance(verdict, Violation)
    assert not verdict.example.certain


def test_declared_regions_say_what_a_pointer_is_used_for():
    body = """T.reads(B[0:16])
T.writes(A[v, w])
A[v, w] = T.call_pure_extern('float32', 'f', A.data, B.data)"""
    func = nest(body)
    assert carried(func, "i") is None
    assert carried(func, "j") is None
    whole = nest(body.replace("A[v, w])", "A[v, 0:16])"))
    assert carried(whole, "i") is None
    assert isinstance(carried(whole, "j"), Violation)


def test_two_buffers_in_one_memory():
    func = function(
        """
        C = T.decl_buffer((128,), "float32", data=A.data)
        for i, j in T.grid(8, 16):
            with T.block("S"):
                v, w = T.axis.remap("SS", [i, j])
                T.reads(C[v * 16 + w])
                T.writes(A[v, w])
                A[v, w] = C[v * 16 + w]
        """,
        "A: T.Buffer((8, 16), 'float32')",
    )
    verdict = carried(func, "i")
    assert isinstance(verdict, Violation)
    assert not verdict.example.certain


VIEW = """
for i, j in T.grid(8, 4):
    with T.block("S"):
        v, w = T.axis.remap("SS", [i, j])
        T.reads()
        T.writes(A[v, {start}:{start} + 4])
        view = T.match_buffer(A[v, {start}:{start} + 4], (4,), offset_factor=1)
        view[0] = T.float32(1)
        view[{index}] = T.float32(1)
"""


@pytest.mark.parametrize(
    ("start", "index", "apart"),
    [("w * 4", "3", True), ("w * 2", "1", True), ("w * 2", "2", False), ("w", "1", False)],
)
def test_views(start, index, apart):
    func = function(VIEW.format(start=start, index=index), "A: T.Buffer((8, 16), 'float32')")
    assert carried(func, "i") is None
    assert (carried(func, "j") is None) is apart


OUTER = """
for i in range(8):
    with T.block("outer"):
        v = T.axis.spatial(8, i)
        {where}
        for j in range(16):
            with T.block("fill"):
                w = T.axis.spatial(16, j)
                own[w] = A[v, w]
        for k in range(16):
            with T.block("use"):
                w = T.axis.spatial(16, k)
                A[v, w] = own[15 - w]
"""


def test_memory_of_an_enclosing_block():
    alloc = "own = T.alloc_buffer((16,), 'float32')"
    inside = function(OUTER.format(where=alloc), "A: T.Buffer((8, 16), 'float32')")
    assert carried(inside, "i") is None
    assert carried(inside, "j") is None
    outside = function(
        f"{alloc}\n{OUTER.format(where='').strip()}", "A: T.Buffer((8, 16), 'float32')"
    )
    verdict = carried(outside, "i")
    assert str(verdict) == (
        "own[0]: written by fill at (v=0, w=0) in iteration i=0 and written by fill at "
        "(v=1, w=0) in iteration i=1"
    )
    own = outside.body.block.alloc_buffers[0]
    assert carried(outside, "i", ignore=[own]) is None


def test_what_decides_how_much_runs():
    func = function(
        """
        for i in range(8):
            with T.block("rows"):
                v = T.axis.spatial(8, i)
                for j in range(P[v], P[v + 1]):
                    with T.block("S"):
                        w = T.axis.spatial(16, j)
                        A[v, w] = T.float32(1)
        """,
        "A: T.Buffer((8, 16), 'float32'), P: T.Buffer((9,), 'int32')",
    )
    assert carried(func, "i") is None
    assert carried(func, "j") is None
    changing = function(
        """
        for i in range(8):
            with T.block("rows"):
                v = T.axis.spatial(8, i)
                for j in range(P[v], P[v + 1]):
                    with T.block("S"):
                        w = T.axis.spatial(16, j)
                        P[v + 1] = w
        """,
        "P: T.Buffer((9,), 'int32')",
    )
    verdict = carried(changing, "i")
    assert isinstance(verdict, NotProved)
    assert "decides whether the other one runs" in str(verdict)


def test_while_loops_have_no_order_that_is_known():
    func = function(
        """
        for i in range(8):
            while A[0] < T.float32(3):
                for j in range(8):
                    with T.block("S"):
                        v = T.axis.spatial(8, j)
                        A[v] = A[v] + T.float32(1)
        """
    )
    assert isinstance(carried(func, "i"), NotProved)


def test_a_question_that_takes_too_long(monkeypatch):
    from tilewright.tir.analysis.dependence import carried as module

    monkeypatch.setattr(module, "MAX_OPERATIONS", 10)
    func = nest("A[v, w] = A[7 - v, w // 3 + v % 2]")
    verdict = carried(func, "i")
    assert isinstance(verdict, NotProved)
    assert str(verdict) == (
        "not proved: the dependences are too complicated for isl: "
        "it could not be decided in the time allowed"
    )
    monkeypatch.undo()
    assert isinstance(carried(func, "i"), Violation)


def test_loops_and_statements():
    func = chain(SEPARATE)
    program = analyze(func)
    assert program is analyze(func)
    assert [s.name for s in program.statements] == ["C", "D", "F"]
    assert [s.name for s in program.inside(find_loop(func, "q"))] == ["F"]
    assert all(isinstance(s.path[0].node, BlockRealize) for s in program.statements)


# --- what is plain ------------------------------------------------------------------------------


def names_in_doubt(func, position=0):
    program = analyze(func)
    loop = program.statements[0].loops[position]
    found = memory_in_doubt(program, loop)
    return None if found is None else {memory.name for memory in found}


def test_memory_by_which_iterations_may_depend():
    @T.prim_func
    def func(A: T.Buffer((8, 4), "int32"), C: T.Buffer((8, 4), "int32")):
        B = T.alloc_buffer((4,), "int32")
        for i in range(8):
            for j in range(4):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vj] = A[vi, vj]
            for j in range(4):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vj] + 1

    assert names_in_doubt(func) == {"B"}


def test_no_memory_is_in_doubt_where_iterations_are_apart():
    @T.prim_func
    def func(A: T.Buffer((8, 4), "int32"), C: T.Buffer((8, 4), "int32")):
        B = T.alloc_buffer((8, 4), "int32")
        for i in range(8):
            for j in range(4):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj]
            for j in range(4):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi, vj] + 1

    assert names_in_doubt(func) == set()


def test_more_than_memory_is_in_doubt():
    @T.prim_func
    def func(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
        for i in range(8):
            with T.block("A"):
                vi = T.axis.spatial(8, i)
                A[vi] = 1
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                T.where(A[i] > 0)
                C[vi] = 2

    assert names_in_doubt(func) is None
