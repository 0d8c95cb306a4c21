"""Concrete instances for which values do not flow as they should."""

from __future__ import annotations

from tests.tir.analysis.dependence.scripts import function

from tilewright.ir.convert import const
from tilewright.ir.expr import Var
from tilewright.tir.analysis.dependence import NotProved, analyze
from tilewright.tir.analysis.dependence.collisions import (
    find_collision,
    find_difference,
    find_idle_instance,
    find_repetition,
)
from tilewright.tir.analysis.dependence.witnesses import (
    find_conflict,
    find_late_init,
    find_overwritten_input,
    find_unwritten_read,
)
from tilewright.tir.buffer import Range

ARGUMENTS = "a: T.handle, c: T.handle"


def blocks(func):
    """The program, its blocks by name, and its buffers by name."""
    program = analyze(func)
    found = {s.block.name_hint: s.block for s in program.statements}
    regions = [r for b in found.values() for r in (*b.reads, *b.writes)]
    return program, found, {r.buffer.name: r.buffer for r in regions}


def two_nests(extent, shift=0, condition="True"):
    """B over all, then C over `extent` that reads B at a distance."""
    return function(
        f"""
n = T.int32()
A = T.match_buffer(a, (n,))
C = T.match_buffer(c, (n,))
B = T.alloc_buffer((n,))
for i in range(n):
    with T.block("B"):
        v = T.axis.spatial(n, i)
        if {condition}:
            B[v] = A[v]
for i in range({extent}):
    with T.block("C"):
        v = T.axis.spatial(n, i)
        C[v] = B[v + {shift}]
""",
        ARGUMENTS,
    )


def unwritten(func, **options):
    program, found, buffers = blocks(func)
    return find_unwritten_read(program, found["C"], buffers["B"], [found["B"]], **options)


def test_a_read_of_what_is_never_written_with_the_size_for_which_it_happens():
    assert unwritten(two_nests("n")) is None
    assert str(unwritten(two_nests("n", shift=1))) == (
        "C at (v=0) reads B[1], which B never writes, if n = 1"
    )
    assert unwritten(two_nests("n - 1", shift=1)) is None


def test_writes_that_depend_on_data_may_be_missing():
    found = unwritten(two_nests("n", condition="A[v] > 0.0"))
    assert str(found) == "C at (v=0) reads B[0], which B may not write before, if n = 1"


def test_a_read_before_the_write():
    func = function(
        """
B = T.alloc_buffer((4,))
for i in range(4):
    with T.block("C"):
        v = T.axis.spatial(4, i)
        C[v] = B[v]
    with T.block("B"):
        v = T.axis.spatial(4, i)
        B[v] = A[v]
""",
        "A: T.Buffer((4,), 'float32'), C: T.Buffer((4,), 'float32')",
    )
    assert str(unwritten(func)) == "C at (v=0) reads B[0] before B at (v=0) writes it"
    assert str(unwritten(func, same=1)) == (
        "C at (v=0) reads B[0], which B does not write before in iteration (i=0)"
    )
    program, found, buffers = blocks(func)
    pointer = buffers["B"].data
    assert find_conflict(program, found["B"], found["C"], pointer, ordered=True) is None
    assert str(find_conflict(program, found["B"], found["C"], pointer)) == (
        "B at (v=0) writes B[0], and C at (v=0) reads B[0]"
    )


def test_an_input_is_overwritten_only_if_that_happens_in_between():
    def func(where):
        over = """
for i in range(4):
    with T.block("over"):
        v = T.axis.spatial(4, i)
        A[3 - v] = 1.0"""
        nests = [
            'for i in range(4):\n    with T.block("B"):\n'
            "        v = T.axis.spatial(4, i)\n        B[v] = A[v]",
            'for i in range(4):\n    with T.block("C"):\n'
            "        v = T.axis.spatial(4, i)\n        C[v] = B[v]",
        ]
        nests.insert(where, over)
        return function(
            "B = T.alloc_buffer((4,))\n" + "\n".join(nests),
            "A: T.Buffer((4,), 'float32'), C: T.Buffer((4,), 'float32')",
        )

    for where, expected in (
        (0, None),
        (1, "B at (v=0) reads A[0]; then over at (v=3) writes A[0]; then C at (v=0) reads B[0]"),
        (2, None),
    ):
        program, found, buffers = blocks(func(where))
        three = found["B"], found["over"], found["C"]
        answer = find_overwritten_input(program, three, buffers["B"], buffers["A"].data)
        assert (None if answer is None else str(answer)) == expected


def reduction(loops, values, extent=3):
    return function(
        f"""
for {loops}:
    with T.block("C"):
        k = T.axis.reduce({extent}, {values})
        with T.init():
            C[0] = 0.0
        C[0] = C[0] + A[k]
""",
        "A: T.Buffer((3,), 'float32'), C: T.Buffer((1,), 'float32')",
    )


def test_late_initialisation_and_repetition():
    program, found, _ = blocks(reduction("i in range(3)", "i"))
    assert find_late_init(program, found["C"]) is None
    assert find_repetition(program, found["C"]) is None
    assert find_idle_instance(program, found["C"]) is None
    program, found, _ = blocks(reduction("i in range(3)", "2 - i"))
    assert str(find_late_init(program, found["C"])) == (
        "C at (k=2) in iteration (i=0) updates C[0]; then C at (k=0) in iteration (i=2) "
        "initialises it"
    )
    program, found, _ = blocks(reduction("t, i in T.grid(2, 2)", "i"))
    assert str(find_repetition(program, found["C"])) == (
        "C at (k=0) runs in iterations (t=0, i=0) and (t=1, i=0)"
    )
    assert str(find_idle_instance(program, found["C"])) == "C at (k=2) does not run"


def test_the_sum_that_a_block_starts_itself_is_written_before_it_is_read():
    program, found, buffers = blocks(reduction("i in range(3)", "i"))
    assert find_unwritten_read(program, found["C"], buffers["C"], [found["C"]]) is None
    program, found, buffers = blocks(reduction("i in range(2)", "i + 1"))
    assert str(find_unwritten_read(program, found["C"], buffers["C"], [found["C"]])) == (
        "C at (k=1) reads C[0] before C at (k=1) writes it"
    )


def test_indices():
    i, j, n = Var("i", "int32"), Var("j", "int32"), Var("n", "int32")
    pairs = [
        (i, Range.from_min_extent(const(0), const(4))),
        (j, Range.from_min_extent(const(0), const(4))),
    ]
    assert find_collision(pairs, [i * 4 + j]) is None
    assert str(find_collision(pairs, [i * 3 + j])) == "(i=0, j=3) and (i=1, j=0) both give [3]"
    assert str(find_collision([(i, Range.from_min_extent(const(0), n))], [i // 2])) == (
        "(i=0) and (i=1) both give [0], if n = 2"
    )
    assert find_collision(pairs, [i * j]) is None  # not affine: no answer
    assert find_difference(pairs, [j, i], [i, j]) is None
    assert str(find_difference(pairs, [i + 1, j], [i + 1, j])) == (
        "(i=0, j=0) becomes [1, 0], and the inverse leads from there to [1, 0]"
    )


def test_blocks_with_blocks_inside_have_no_instances_here():
    func = function(
        """
for i in range(4):
    with T.block("outer"):
        v = T.axis.spatial(4, i)
        with T.block("C"):
            C[v] = A[v]
""",
        "A: T.Buffer((4,), 'float32'), C: T.Buffer((4,), 'float32')",
    )
    program = analyze(func)
    outer = func.body.block.body.body.block
    assert isinstance(find_repetition(program, outer), NotProved)
