"""Where programs allocate memory, how much, and that what they compute stays the same."""

from __future__ import annotations

import numpy as np
from tests.passes import legalize_for, lower

from tilewright.tir import Allocate, For
from tilewright.tir.analysis import verify_well_formed
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.compact_buffers import compact_buffers
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.plan_buffer_locations import plan_buffer_locations


def planned(func):
    """`func` as loops, with its memory where it is used."""
    return plan_buffer_locations(lower_blocks(func))


def compacted(func):
    """`func` as loops, with as little memory as needed where it is used."""
    return compact_buffers(planned(func))


def loops_around(func, name):
    """The names of the loops around the allocation `name`, outermost first."""
    (found,) = [loops for stmt, loops in _allocations(func.body, ()) if _is(stmt, name)]
    return list(found)


def extents_of(func, name):
    """The extents of the allocation `name`."""
    (found,) = [stmt for stmt, _ in _allocations(func.body, ()) if _is(stmt, name)]
    return [extent.value for extent in found.extents]


def _is(stmt, name):
    return stmt.buffer_var.name == name


def _allocations(node, loops):
    if isinstance(node, Allocate):
        yield node, loops
    if isinstance(node, For):
        loops = (*loops, node.loop_var.name)
    for child in node.children():
        yield from _allocations(child, loops)


def assert_same_meaning(func, *shapes, dtype="int32"):
    """All stages of lowering compute the same, and read no memory that was not written."""
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-9, 10, shape).astype(dtype) for shape in shapes]
    expected = _outputs(func, arrays, check_reads=True)
    lowered = lower(func)
    stages = [planned(func), compacted(func), lowered, legalize_for(lowered)]
    for stage in stages:
        verify_well_formed(stage)
        for reverse_parallel in (False, True):
            # Lanes of vectors that a mask leaves out are read, but not used.
            options = {"check_reads": stage is not stages[-1], "reverse_parallel": reverse_parallel}
            for want, got in zip(expected, _outputs(stage, arrays, **options), strict=True):
                np.testing.assert_array_equal(got, want)


def _outputs(func, arrays, **options):
    copies = [array.copy() for array in arrays]
    interpret(func, *copies, **options)
    return copies
