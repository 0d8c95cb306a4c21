"""Random programs with memory of their own mean the same wherever it is allocated."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.passes import legalize_for, lower
from tests.tir.transform.memory import compacted, loops_around, planned
from tests.tir.transform.programs import function, int_var, loop_nest

from tilewright.error import InterpreterError
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import const
from tilewright.tir import BufferStore, ForKind, IfThenElse, decl_buffer, if_then_else, seq
from tilewright.tir import max as maximum
from tilewright.tir import min as minimum
from tilewright.tir.analysis import verify_well_formed
from tilewright.tir.interpreter import interpret

SIZE = 12


class _Body:
    """Draws what a loop nest does: statements over `B`, which it allocates, and `A` and `C`."""

    def __init__(self, draw):
        self.draw = draw
        self.A, self.B, self.C = (decl_buffer((SIZE,), "int32", name=name) for name in "ABC")
        self.ranges = {}

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    def loop(self, name, low, high):
        """A variable with its extent."""
        var = int_var(name)
        self.ranges[var] = self.number(low, high)
        return var, self.ranges[var]

    def index(self, variables):
        """A sum of multiples that stays within the buffers."""
        total, least, most = const(0), 0, 0
        for var in variables:
            step = self.draw(st.sampled_from([0, 1, 1, 1, 2, 3, 4, -1]))
            reach = step * (self.ranges[var] - 1)
            if most - least + abs(reach) < SIZE:
                total = total + var * step
                least, most = least + min(0, reach), most + max(0, reach)
        total = total + self.number(-least, min(SIZE - 1 - most, -least + 2))
        kind = self.number(0, 9)
        if kind == 0:
            return (total * 5) % SIZE
        if kind == 1:
            return maximum(total - 1, 0)
        if kind == 2:
            return minimum(total + 1, SIZE - 1)
        return total // 2 if kind == 3 else total

    def condition(self, variables):
        var = self.draw(st.sampled_from(variables))
        return self.draw(
            st.sampled_from(
                [var < 2, var >= 1, var.equal(0), self.A[var] > 0, self.index(variables) < 5]
            )
        )

    def element(self, variables):
        buffer = self.draw(st.sampled_from([self.A, self.B, self.B]))
        value = buffer[self.index(variables)]
        if self.number(0, 5) == 0:
            value = buffer[(self.A[self.index(variables)] + SIZE) % SIZE]
        if self.number(0, 4) == 0:
            value = if_then_else(self.condition(variables), value, const(1))
        return value

    def statement(self, outer):
        count = self.number(0, 2)
        loops = [self.loop(f"j{k}", 1, 4) for k in range(count)]
        variables = [*outer, *(var for var, _ in loops)]
        target = self.draw(st.sampled_from([self.B, self.B, self.C]))
        value = self.element(variables) + self.element(variables) * 2
        if target is self.B and self.number(0, 2):
            value = self.A[self.index(variables)] + 1
        body = BufferStore(target, value, (self.index(variables),))
        if self.number(0, 3) == 0:
            body = IfThenElse(self.condition(variables), body)
        kinds = {"j0": self.draw(st.sampled_from([ForKind.SERIAL, ForKind.UNROLLED]))}
        return loop_nest(loops, body, kinds)

    def fill(self, condition):
        """Statements that set all of `B` where `condition` holds, or nothing."""
        var = int_var("f")
        nest = loop_nest([(var, SIZE)], BufferStore(self.B, self.A[var] - 3, (var,)))
        return nest if condition is None else IfThenElse(condition, nest)


@st.composite
def memory_programs(draw):
    """Two loops with statements, one of which may set the memory in some iterations."""
    body = _Body(draw)
    outer, inner = body.loop("t", 1, 3), body.loop("i", 2, 4)
    variables = [outer[0], inner[0]]
    first = logical_and(variables[0].equal(0), variables[1].equal(0))
    starts = [None, variables[1].equal(0), first, variables[0].equal(0), const(False)]
    parts = [body.fill(draw(st.sampled_from(starts)))]
    parts += (body.statement(variables) for _ in range(body.number(2, 4)))
    nest = loop_nest([outer, inner], seq(*parts))
    return function((body.A, body.C), nest, [body.B])


def run(func, seed, check_reads):
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(-5, 6, SIZE).astype("int32") for _ in range(2)]
    interpret(func, *arrays, check_reads=check_reads)
    return arrays[1]


@given(memory_programs(), st.integers(0, 50))
def test_random_programs(func, seed):
    try:
        expected = run(func, seed, check_reads=True)
    except InterpreterError:
        assume(False)
    event(f"inside of {len(loops_around(planned(func), 'B'))} loops")
    lowered = lower(func)
    for stage in (planned(func), compacted(func), lowered):
        verify_well_formed(stage)
        np.testing.assert_array_equal(run(stage, seed, check_reads=True), expected)
    # Lanes of vectors that a mask leaves out are read, but not used.
    result = run(legalize_for(lowered), seed, check_reads=False)
    np.testing.assert_array_equal(result, expected)
