"""Where temporary arrays are."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tilewright.arith import Analyzer
from tilewright.ir import const
from tilewright.ir.dtype import FLOAT32, INT64
from tilewright.ir.expr import Var as Size
from tilewright.ir.module import GlobalVar
from tilewright.relax.vm.plan import ALIGNMENT, plan_memory
from tilewright.relax.vm.steps import (
    ArrayValue,
    BranchStep,
    CallStep,
    Memory,
    MemoryOrigin,
)
from tilewright.tir.substitute import substitute


def temporary(size):
    return Memory(MemoryOrigin.TEMPORARY, const(size, INT64) if isinstance(size, int) else size)


def call(*memories):
    arrays = tuple(ArrayValue(memory, (), FLOAT32) for memory in memories)
    return CallStep(GlobalVar("f"), arrays, (), frozenset(), "f")


def analyzer_of(*sizes):
    analyzer = Analyzer()
    for size in sizes:
        analyzer.bind_range(size, 0, 2**63 - 1)
    return analyzer


def test_a_chain_needs_two_arrays():
    arrays = [temporary(100) for _ in range(5)]
    steps = [call(a, b) for a, b in itertools.pairwise(arrays)]
    plan = plan_memory(steps, Analyzer())
    assert plan.size.value == 256
    assert plan.unshared_size.value == 5 * 128


def test_parameters_results_and_constants_take_nothing():
    others = [
        Memory(origin, const(64, INT64))
        for origin in MemoryOrigin
        if origin is not MemoryOrigin.TEMPORARY
    ]
    plan = plan_memory([call(*others)], Analyzer())
    assert plan.size.value == 0
    assert not plan.offsets


def test_a_merged_array_is_the_other_one():
    first, result = temporary(64), Memory(MemoryOrigin.RESULT, const(64, INT64))
    first.merged_into = result
    assert not plan_memory([call(first)], Analyzer()).offsets


def test_branches_share_memory():
    left, right, condition = temporary(640), temporary(640), temporary(1)
    branch = BranchStep(ArrayValue(condition, (), FLOAT32), [call(left)], [call(right)])
    plan = plan_memory([call(condition), branch], Analyzer())
    assert plan.offsets[left].value == plan.offsets[right].value
    assert plan.size.value == 640  # the condition is not needed in a branch


def test_symbolic_arrays_of_the_same_size_share_a_place():
    n = Size("n", "int64")
    arrays = [temporary(n * 4) for _ in range(6)]
    steps = [call(a, b) for a, b in itertools.pairwise(arrays)]
    plan = plan_memory(steps, analyzer_of(n))
    assert Analyzer().simplify(substitute(plan.size, {n: const(16, INT64)})).value == 128
    assert Analyzer().simplify(substitute(plan.unshared_size, {n: const(16, INT64)})).value == 384


def test_a_place_grows_when_a_larger_array_takes_it_over():
    n = Size("n", "int64")
    small, link, large = temporary(n * 4), temporary(64), temporary(n * 8)
    plan = plan_memory([call(small), call(link), call(large)], analyzer_of(n))
    assert Analyzer().simplify(substitute(plan.size, {n: const(16, INT64)})).value == 64 + 128
    smaller = temporary(n * 4)
    plan = plan_memory([call(large), call(link), call(smaller)], analyzer_of(n))
    assert Analyzer().simplify(substitute(plan.size, {n: const(16, INT64)})).value == 64 + 128


def test_sizes_that_cannot_be_compared_get_places_of_their_own():
    n, m = Size("n", "int64"), Size("m", "int64")
    plan = plan_memory([call(temporary(n * 4)), call(temporary(m * 4))], analyzer_of(n, m))
    values = {n: const(16, INT64), m: const(32, INT64)}
    assert Analyzer().simplify(substitute(plan.size, values)).value == 64 + 128


SIZES = st.one_of(st.integers(0, 1000), st.sampled_from(["n * 4", "n * 8", "m * 4", "n * m * 4"]))


@given(
    st.lists(SIZES, min_size=1, max_size=8),
    st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=3), max_size=12),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_arrays_that_live_at_the_same_time_do_not_overlap(sizes, uses, n_value, m_value):
    n, m = Size("n", "int64"), Size("m", "int64")
    arrays = [temporary(eval(s, {"n": n, "m": m}) if isinstance(s, str) else s) for s in sizes]
    steps = [call(*(arrays[k % len(arrays)] for k in use)) for use in uses]
    plan = plan_memory(steps, analyzer_of(n, m))
    values = {n: const(n_value, INT64), m: const(m_value, INT64)}

    def known(expr):
        return Analyzer().simplify(substitute(expr, values)).value

    taken = []
    for memory, offset in plan.offsets.items():
        users = [
            k for k, step in enumerate(steps) if any(a.memory is memory for a in step.arguments)
        ]
        begin = known(offset)
        assert begin % ALIGNMENT == 0
        taken.append((users[0], users[-1], begin, begin + known(memory.size)))
        assert begin + known(memory.size) <= known(plan.size)
    for (a, b, begin, end), (c, d, other, last) in itertools.combinations(taken, 2):
        assert b < c or d < a or end <= other or last <= begin
    assert known(plan.size) <= known(plan.unshared_size)


def test_many_arrays_of_symbolic_size():
    n = Size("n", "int64")
    arrays = [temporary(n * 4) for _ in range(1200)]
    plan = plan_memory([call(array) for array in arrays], analyzer_of(n))
    values = {n: const(16, INT64)}
    assert Analyzer().simplify(substitute(plan.size, values)).value == 64
    assert Analyzer().simplify(substitute(plan.unshared_size, values)).value == 64 * 1200
