"""A prefetch of a region asks for each of its cache lines, and for nothing else."""

import pytest
from tests.passes import lower
from tests.tir.transform.programs import accesses, function, int_var, loop_nest, of_kind

from tilewright.ir.convert import const
from tilewright.tir import BufferStore, Call, For, Prefetch, Range, decl_buffer, seq
from tilewright.tir.transform.promote_registers import promote_registers
from tilewright.tir.transform.simplify import inline_lets
from tilewright.tir.transform.unroll import unroll


def positions(region, dtype="float32", shape=(8, 100)):
    """The elements that the prefetch of a region asks for, as positions in the buffer."""
    buffer = decl_buffer(shape, dtype, name="A")
    bounds = tuple(Range.from_min_extent(const(start), const(extent)) for start, extent in region)
    body = lower(function((buffer,), Prefetch(buffer, bounds))).body
    found = []

    def visit(stmt, values):
        if isinstance(stmt, For):
            for value in range(int(stmt.extent)):
                visit(stmt.body, {**values, stmt.loop_var.name: value})
            return
        (load,) = accesses(stmt, "A")
        found.append(evaluate(load.indices[0], values))

    visit(body, {})
    return found


def evaluate(expr, values):
    """An index for values of the loop variables."""
    text = expr.script() if hasattr(expr, "script") else repr(expr)
    names = {"T": type("T", (), {"min": staticmethod(min)}), **values}
    return eval(text.split("\n")[-1], names)


@pytest.mark.parametrize(
    ("region", "dtype", "expected"),
    [
        ([(0, 1), (0, 16)], "float32", [0, 15]),
        ([(0, 1), (3, 1)], "float32", [3]),
        ([(2, 2), (4, 40)], "float32", [204, 220, 236, 243, 304, 320, 336, 343]),
        ([(0, 1), (0, 33)], "float64", [0, 8, 16, 24, 32]),
        ([(1, 1), (0, 100)], "int8", [100, 164, 199]),
    ],
)
def test_the_lines_of_a_region(region, dtype, expected):
    assert positions(region, dtype) == expected


def test_a_prefetch_does_not_keep_sums_out_of_registers():
    A, S = decl_buffer((64,), name="A"), decl_buffer((1,), name="S")
    i, at = int_var("i"), const(0)
    ahead = Prefetch(A, (Range.from_min_extent(i + 16, const(1)),))
    fixed = Prefetch(S, (Range.from_min_extent(at, const(1)),))
    body = loop_nest([(i, 32)], seq(ahead, fixed, BufferStore(S, S[0] + A[i], (at,))))
    after = promote_registers(unroll(inline_lets(lower(function((A, S), body)))))
    (loop,) = [node for node in of_kind(after.body, For) if node.loop_var.name == "i"]
    assert not any(isinstance(access, BufferStore) for access in accesses(loop, "S"))
    assert "tir.address_of" in {call.op.name for call in of_kind(loop, Call)}
