"""Programs with indices outside of buffers, and with regions that are not what is accessed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.property.programs import Features, Program, programs

from tilewright.error import BoundsError, InterpreterError, VerifyError
from tilewright.ir import walk
from tilewright.ir.expr import Call, Select, is_const_int
from tilewright.ir.rewrite import Rewriter
from tilewright.tir import (
    Block,
    BufferLoad,
    BufferRegion,
    BufferStore,
    IfThenElse,
    PrimFunc,
    Range,
    While,
    const,
)
from tilewright.tir.analysis import verify_well_formed
from tilewright.tir.analysis.index_bounds import check_bounds
from tilewright.tir.interpreter import interpret

ANY = Features()
PLAIN = Features(symbolic=False, plain=False, layouts=False)
"""Programs of blocks with constant extents, about which all is known."""


class _Shift(Rewriter):
    """Adds a number to one index of the access of some number."""

    def __init__(self, number: int, axis: int, distance: int) -> None:
        self.left, self.axis, self.distance = number, axis, distance

    def _access(self, node):
        node = node.map_children(self)
        self.left -= 1
        if self.left != -1 or not node.indices:
            return node
        indices = list(node.indices)
        axis = self.axis % len(indices)
        indices[axis] = indices[axis] + const(self.distance, indices[axis].dtype.element)
        return node.replace(indices=tuple(indices))

    def BufferLoad(self, load):
        return self._access(load)

    def BufferStore(self, store):
        return self._access(store)

    def Block(self, block):
        """Regions stay, as far as they are not accesses."""
        return block.replace(
            body=self(block.body), init=None if block.init is None else self(block.init)
        )


def shifted(draw_from, func: PrimFunc) -> PrimFunc:
    """`func` with one index shifted."""
    count = sum(isinstance(node, (BufferLoad, BufferStore)) for node in walk(func.body))
    number = draw_from(st.integers(0, count - 1))
    distance = draw_from(st.sampled_from([-3, -1, 1, 2, 8]))
    return func.with_body(_Shift(number, draw_from(st.integers(0, 3)), distance)(func.body))


def complains(func: PrimFunc, program: Program) -> bool:
    """Whether the interpreter meets an access out of bounds."""
    try:
        with np.errstate(all="ignore"):
            interpret(func, *program.make_arguments(), check_reads=False)
    except InterpreterError as error:
        return "out of bounds" in str(error) or "outside of its domain" in str(error)
    return False


def is_refused(func: PrimFunc) -> bool:
    """Whether the check of a build refuses a program."""
    try:
        check_bounds(func)
    except BoundsError:
        return True
    return False


@given(program=programs(ANY))
def test_legal_programs_are_not_refused(program):
    check_bounds(program.func)
    assert verify_well_formed(program.func)


@given(program=programs(ANY), data=st.data())
def test_what_is_refused_is_wrong(program, data):
    func = shifted(data.draw, program.func)
    if is_refused(func):
        assert complains(func, program)


@given(program=programs(PLAIN), data=st.data())
def test_what_is_wrong_is_refused(program, data):
    func = shifted(data.draw, program.func)
    assume(not _depends_on_data(func))
    assert is_refused(func) == complains(func, program)


def _depends_on_data(func: PrimFunc) -> bool:
    """Whether data decide what is accessed, or a choice whether it is."""
    for node in walk(func.body):
        if isinstance(node, (While, Select)) or (
            isinstance(node, Call) and node.op.name == "tir.if_then_else"
        ):
            return True
        if isinstance(node, (BufferLoad, BufferStore)):
            for index in node.indices:
                if any(isinstance(part, (BufferLoad, Call)) for part in walk(index)):
                    return True
    return False


class _Move(Rewriter):
    """Moves the declared region of some number."""

    def __init__(self, number: int, axis: int, distance: int) -> None:
        self.left, self.axis, self.distance = number, axis, distance
        self.changed = None

    def Block(self, block):
        block = block.map_children(self)
        if not block.iter_vars:
            return block
        reads = tuple(self._region(region, block) for region in block.reads)
        writes = tuple(self._region(region, block) for region in block.writes)
        return block.replace(reads=reads, writes=writes)

    def _region(self, region, block):
        self.left -= 1
        if self.left != -1 or not region.region:
            return region
        ranges = list(region.region)
        axis = self.axis % len(ranges)
        item = ranges[axis]
        ranges[axis] = Range.from_min_extent(
            item.min + const(self.distance, item.min.dtype), item.extent
        )
        self.changed = region, block
        return BufferRegion(region.buffer, tuple(ranges))


@given(program=programs(PLAIN), data=st.data())
def test_regions_that_are_moved_are_refused(program, data):
    assume(not _depends_on_data(program.func))
    blocks = [node for node in walk(program.func.body) if isinstance(node, Block)]
    count = sum(len(block.reads) + len(block.writes) for block in blocks if block.iter_vars)
    assume(count)
    move = _Move(
        data.draw(st.integers(0, count - 1)),
        data.draw(st.integers(0, 3)),
        data.draw(st.sampled_from([-1, 1])),
    )
    func = program.func.with_body(move(program.func.body))
    assume(move.changed is not None)
    region, block = move.changed
    if not verify_well_formed(func, assert_mode=False):
        with pytest.raises(VerifyError, match="does not cover"):
            verify_well_formed(func)
        return
    # One element that is accessed in any case is not in the region that was moved.
    is_element = all(is_const_int(item.extent, 1) for item in region.region)
    is_update = any(written.buffer is region.buffer for written in block.writes)
    guarded = any(isinstance(node, IfThenElse) for node in walk(block.body))
    assert not is_element or is_update or guarded
