"""Whether the image of an access is a box."""

import pytest

from tilewright.arith import Analyzer
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Var
from tilewright.script import tir as T
from tilewright.tir import BufferLoad, decl_buffer
from tilewright.tir.buffer import Range
from tilewright.tir.schedule.proofs.images import Image, box_of


@T.prim_func
def program(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    for i in range(n):
        with T.block("A"):
            vi = T.axis.spatial(n, i)
            A[vi] = T.float32(0)


I, J = Var("i", INT32), Var("j", INT32)


def box(ranges, loops, *conditions, buffer=None):
    """The box as text; ranges are indices, or pairs of the first index and how many there are."""
    pairs = [item if isinstance(item, tuple) else (item, 1) for item in ranges]
    ranges = tuple(
        Range.from_min_extent(low, extent if extent is SIZE else const(extent))
        for low, extent in pairs
    )
    domains = {
        var: Range.from_min_extent(const(0), const(n) if isinstance(n, int) else n)
        for var, n in loops
    }
    found = box_of(Image(ranges, domains, conditions), Analyzer(), buffer)
    return None if found is None else [(str(low), str(high)) for low, high in found]


SIZE = program.buffer_map[program.params[0]].shape[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (([I * 4 + J], [(I, 8), (J, 4)]), [("0", "31")]),
        (([I * 4 + J], [(I, 8), (J, 3)]), None),
        (([(I * 4, 4)], [(I, 8)]), [("0", "31")]),
        (([7 - I], [(I, 8)]), [("0", "7")]),
        (([I, J], [(I, SIZE), (J, 4)]), [("0", "n - 1"), ("0", "3")]),
        (([I * 4 + J], [(I, 8), (J, 4)], I * 4 + J < 30), [("0", "29")]),
        (([I], [(I, 8)], I > 2), None),
        # An iterator that no index mentions
        (([I], [(I, 8), (J, 4)]), [("0", "7")]),
        (([I], [(I, 8), (J, SIZE)]), None),
        (([I], [(I, 8), (J, 0)]), None),
        (([I], [(I, 8), (J, I)]), None),
        (([I], [(I, 8), (J, I + 1)]), [("0", "7")]),
        (([I], [(I, 8), (J, 4)], J < 2), [("0", "7")]),
        (([I], [(I, 8), (J, 4)], J > 2), None),
        (([I], [(I, 8), (J, 4)], I < J + 2), None),
        # A domain that depends on another loop
        (([I, J], [(I, 8), (J, I + 1)]), None),
    ],
)  # fmt: skip
def test_boxes(arguments, expected):
    assert box(*arguments) == expected


def test_conditions_that_keep_an_access_inside_of_the_buffer():
    buffer = decl_buffer((5, 30))
    index = I * 4 + J
    loops = [(I, 8), (J, 4)]
    assert box([const(0), index], loops, index < 30, buffer=buffer) == [("0", "0"), ("0", "31")]
    assert box([const(0), index], loops, index < 28, buffer=buffer) == [("0", "0"), ("0", "27")]
    assert box([const(0), index], loops, I < 7, buffer=buffer) == [("0", "0"), ("0", "27")]


def test_what_memory_says_is_not_known():
    offsets = decl_buffer((4,), "int32")
    assert box([BufferLoad(offsets, (const(0),)) + I], [(I, 8)]) is None
    assert box([I], [(I, BufferLoad(offsets, (const(0),)))]) is None
    assert box([I], [(I, 8), (J, BufferLoad(offsets, (const(0),)))]) is None
