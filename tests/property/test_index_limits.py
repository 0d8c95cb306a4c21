"""Loops of the largest sizes: no schedule that is accepted makes a number that its dtype wraps."""

from __future__ import annotations

import itertools
import operator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tilewright.ir import Add, And, Cast, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Sub, Var
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import GE, LT
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError
from tilewright.tir.index_limits import largest_size


@T.prim_func
def matrix(b: T.handle):
    n = T.int32()
    m = T.int32()
    B = T.match_buffer(b, (n, m), "int32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = vi


@T.prim_func
def vectors(a: T.handle, b: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (m,), "int32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("RS", [i, j])
            with T.init():
                B[vj] = 0
            B[vj] += A[vi]


@T.prim_func
def constant(B: T.Buffer((1000, 5), "int32")):
    for i, j in T.grid(1000, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = vi


MOST = largest_size(INT32)
SIZES = {
    "matrix": [(MOST, 1), (1, MOST), (0, MOST), (MOST, 0), (46340, 46340), (65536, 32767), (1, 1)],
    "vectors": [(MOST, MOST), (MOST, 1), (0, MOST), (65536, 65536), (3, 5)],
    "constant": [(0, 0)],
}
FACTORS = st.one_of(
    st.sampled_from((1, 3, 16, 255, 4096, 65535, 65536, 65537, 2**20, 2**30, 2**31 - 1, 2**31)),
    st.integers(1, 2**40),
)


@given(st.data())
def test_accepted_loops_fit(data):
    program = data.draw(st.sampled_from((matrix, vectors, constant)))
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(1, 4))):
        loops = sch.get_loops("B")
        try:
            if data.draw(st.integers(0, 2)) == 0:
                first = data.draw(st.integers(0, len(loops) - 1))
                sch.fuse(*loops[first : first + 2])
            else:
                factors: list[Any] = data.draw(st.lists(FACTORS, max_size=2))
                factors.insert(data.draw(st.integers(0, len(factors))), None)
                sch.split(data.draw(st.sampled_from(loops)), factors)
        except ScheduleError as error:
            str(error)  # which finds a counterexample, and must not fail
    for sizes in SIZES[str(program.attrs["global_symbol"])]:
        require_fits(sch, sizes)


def require_fits(sch: Schedule, sizes: tuple[int, int]) -> None:
    """Evaluate extents, and the predicate and bindings in some points of the iteration space.

    A part of the predicate may wrap around where another part excludes the instance.
    """
    func = sch.mod["main"]
    shapes = [e for buffer in func.buffer_map.values() for e in buffer.shape]
    names = [extent for extent in shapes if isinstance(extent, Var)]
    values: dict[Any, int] = dict(zip(names, sizes, strict=False))
    loops = [sch.get(loop) for loop in sch.get_loops("B")]
    counts = [wrapped(loop.extent, values) for loop in loops]
    assert counts == [evaluated(loop.extent, values, exact) for loop in loops]
    if 0 in counts:
        return
    block = sch.get_sref(sch.get_block("B"))
    realize = block.tree.realize(block.stmt)
    pairs = list(zip(realize.iter_values, realize.block.iter_vars, strict=True))
    for point in itertools.product(*({0, count // 3, count - 1} for count in counts)):
        at = values | dict(zip((loop.loop_var for loop in loops), point, strict=True))
        is_run = evaluated(realize.predicate, at, exact)
        assert bool(wrapped(realize.predicate, at)) == bool(is_run), (at, realize.predicate)
        for value, iterator in pairs if is_run else ():
            position = evaluated(value, at, exact)
            assert wrapped(value, at) == position, (at, value)
            assert 0 <= position < evaluated(iterator.dom.extent, at, exact)


OPERATIONS = {
    Add: operator.add, Sub: operator.sub, Mul: operator.mul, FloorDiv: operator.floordiv,
    FloorMod: operator.mod, Min: min, Max: max, LT: operator.lt, GE: operator.ge,
    And: lambda a, b: a and b,
}  # fmt: skip


def exact(value: int, dtype: Any) -> int:
    """A value as if each dtype held every number."""
    del dtype
    return value


def wrap(value: int, dtype: Any) -> int:
    """A value as its dtype holds it."""
    if dtype.is_bool:
        return value
    return (value - dtype.min_int) % (dtype.max_int - dtype.min_int + 1) + dtype.min_int


def wrapped(expr: Any, values: dict[Any, int]) -> int:
    """The value that compiled code gives an expression."""
    return evaluated(expr, values, wrap)


def evaluated(expr: Any, values: dict[Any, int], held: Any) -> int:
    """The value of an expression; `held` says what a dtype makes of a result."""
    if isinstance(expr, IntImm):
        return expr.value
    if isinstance(expr, Var):
        return values[expr]
    if isinstance(expr, Cast):
        return held(evaluated(expr.value, values, held), expr.dtype)
    a, b = evaluated(expr.a, values, held), evaluated(expr.b, values, held)
    return held(OPERATIONS[type(expr)](a, b), expr.dtype)
