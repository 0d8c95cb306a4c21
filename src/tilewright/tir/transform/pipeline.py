"""The order of the lowering passes, and a driver that can time and dump them."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from tilewright.ir.module import IRModule
from tilewright.ir.transform import PassContext
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.accumulate_lanes import accumulate_lanes
from tilewright.tir.transform.common_subexpression import common_subexpression_elimination
from tilewright.tir.transform.compact_buffers import compact_buffers
from tilewright.tir.transform.contract_fma import contract_fma
from tilewright.tir.transform.flatten_buffers import flatten_buffers
from tilewright.tir.transform.group_branches import group_branches
from tilewright.tir.transform.hoist_conditions import hoist_conditions
from tilewright.tir.transform.hoist_workspaces import hoist_workspaces
from tilewright.tir.transform.inline_lets import inline_lets
from tilewright.tir.transform.insert_prefetches import insert_prefetches
from tilewright.tir.transform.instrument_bounds import instrument_bounds
from tilewright.tir.transform.interleave_stores import interleave_stores
from tilewright.tir.transform.known_branches import drop_known_branches
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.lower_intrinsics import lower_intrinsics
from tilewright.tir.transform.lower_math import lower_math
from tilewright.tir.transform.plan_buffer_locations import plan_buffer_locations
from tilewright.tir.transform.promote_registers import promote_registers
from tilewright.tir.transform.scalarize_vectors import scalarize_vectors
from tilewright.tir.transform.split_full_tiles import split_full_tiles
from tilewright.tir.transform.storage_rewrite import storage_rewrite
from tilewright.tir.transform.stream_stores import stream_stores
from tilewright.tir.transform.transpose_gathers import transpose_gathers
from tilewright.tir.transform.unroll import unroll
from tilewright.tir.transform.unroll_and_jam import unroll_and_jam
from tilewright.tir.transform.user_options import drop_assertions, without_promises
from tilewright.tir.transform.vectorize import vectorize
from tilewright.tir.transform.vectorize_inner_loops import vectorize_inner_loops

Pass = Callable[[PrimFunc], PrimFunc]
FuncOrModule = TypeVar("FuncOrModule", PrimFunc, IRModule)


class PassRecord(NamedTuple):
    """What one pass did to one function."""

    name: str
    seconds: float
    result: PrimFunc


def run_passes(
    func: PrimFunc, passes: Sequence[Pass], record: list[PassRecord] | None = None
) -> PrimFunc:
    """Apply `passes` in order; with a list as `record`, time each and keep its result."""
    for function_pass in passes:
        if record is None:
            func = function_pass(func)
            continue
        start = time.perf_counter()
        func = function_pass(func)
        name = getattr(function_pass, "__name__", repr(function_pass))
        record.append(PassRecord(name, time.perf_counter() - start, func))
    return func


LOWERING: tuple[Pass, ...] = (
    lower_blocks,  # the rest knows loops, branches and buffers only
    plan_buffer_locations,  # now that initialisations are in their places
    compact_buffers,  # to the size that is needed where they are now
    flatten_buffers,  # memory is one-dimensional
    storage_rewrite,  # memory of dead buffers is used again
    hoist_workspaces,  # memory that is not used again with others of its loop
    common_subexpression_elimination,  # an index is computed once per statement
)
"""From a scheduled function to the lowered form: loops over flat buffers, for any target."""


PHASES: Final = (0, 4, 6, len(LOWERING))
"""Before how many of these passes those of each phase of ``tir.add_lower_pass`` run."""


def lower(func_or_module: FuncOrModule, record: list[PassRecord] | None = None) -> FuncOrModule:
    """The lowered form of a function, or of all `PrimFunc`s of a module.

    Options of the current `PassContext` that begin with ``tir.`` add passes.
    """
    context = PassContext.current()
    added = context.option("tir.add_lower_pass")
    start = 0
    for phase, end in enumerate(PHASES):
        passes = _with_options(LOWERING[start:end], context, is_first=end == PHASES[1])
        if passes:
            func_or_module = _for_each(
                func_or_module, functools.partial(run_passes, passes=passes, record=record)
            )
        for user_phase, user_pass in added:
            if user_phase == phase:
                func_or_module = _apply(user_pass, func_or_module)
        start = end
    return func_or_module


def _with_options(passes: tuple[Pass, ...], context: PassContext, is_first: bool) -> Sequence[Pass]:
    """`passes`, with what the options add to those that come first."""
    if not is_first:
        return passes
    first = [] if context.option("tir.noalias") else [without_promises]
    if context.option("tir.disable_assert"):
        first.append(drop_assertions)
    checks = [instrument_bounds] if context.option("tir.instrument_bound_checkers") else []
    # Checked before memory becomes smaller, and one-dimensional.
    return [*first, passes[0], *checks, *passes[1:]]


def _apply(user_pass: Any, func_or_module: FuncOrModule) -> FuncOrModule:
    """The result of a pass over modules, for a module or one function."""
    if isinstance(func_or_module, IRModule):
        return user_pass(func_or_module)
    (result,) = user_pass(IRModule.from_expr(func_or_module)).functions.values()
    return result


class Machine(Protocol):
    """What the passes want to know about a target; a `Target` has it."""

    @property
    def vector_bits(self) -> int:
        """Width of a vector register; 0 if there are no vectors."""
        ...

    @property
    def vector_registers(self) -> int:
        """How many there are."""
        ...

    @property
    def has_fma(self) -> bool:
        """Whether a fused multiply-add is an instruction."""
        ...

    @property
    def scales_natively(self) -> bool:
        """Whether a vector of floats is multiplied by powers of two in one instruction."""
        ...


class GenericMachine(NamedTuple):
    """A machine that is described by numbers; by default one with AVX-512."""

    vector_bits: int = 512
    vector_registers: int = 32
    has_fma: bool = True
    scales_natively: bool = True


WITHOUT_VECTORS: tuple[Pass, ...] = (
    inline_lets,  # an index reads best in one piece
    lower_intrinsics,  # what is short for arithmetic
    scalarize_vectors,  # what a program itself says with vectors
)
"""From the lowered form to scalar loops, which a compiler of another language takes further."""


def legalization(target: Machine) -> tuple[Pass, ...]:
    """From the lowered form to what a backend accepts: vectors and registers for `target`."""
    bits, registers = target.vector_bits, target.vector_registers
    if bits == 0:
        return WITHOUT_VECTORS

    def vectorized(func: PrimFunc) -> PrimFunc:
        return vectorize(func, vector_bits=bits)

    def interleaved(func: PrimFunc) -> PrimFunc:
        return interleave_stores(func, vector_bits=bits)

    def inner_loops_vectorized(func: PrimFunc) -> PrimFunc:
        return vectorize_inner_loops(func, vector_bits=bits)

    def accumulated(func: PrimFunc) -> PrimFunc:
        return accumulate_lanes(func, vector_bits=bits, vector_registers=registers)

    def promoted(func: PrimFunc) -> PrimFunc:
        return promote_registers(func, vector_bits=bits, vector_registers=registers)

    def jammed(func: PrimFunc) -> PrimFunc:
        return unroll_and_jam(func, vector_bits=bits, vector_registers=registers)

    def math_lowered(func: PrimFunc) -> PrimFunc:
        return lower_math(func, scale_natively=target.scales_natively)

    passes = (
        inline_lets,  # indices are whole sums again, which the rest takes apart
        split_full_tiles,  # before vectorize, so that full tiles need no masks
        hoist_conditions,  # what split_full_tiles has left of them
        named("vectorize", vectorized),  # what the schedule asks for
        unroll,  # after vectorize: the copies are vector statements
        drop_known_branches,  # most conditions of copies
        transpose_gathers,  # after unroll: what is loaded next to each other is side by side
        named("interleave_stores", interleaved),  # after unroll: the parts are side by side
        named("vectorize_inner_loops", inner_loops_vectorized),  # what nobody asked for
        named("accumulate_lanes", accumulated),  # after unroll: all updates of an element are seen
        named("unroll_and_jam", jammed),  # before promote_registers: chains that overlap
        named("promote_registers", promoted),  # tiles are straight vector code now
        group_branches,  # of tiles that stick out, whose stores are independent registers now
        named("lower_math", math_lowered),  # after the vectors, which count calls
    )
    # All last: vectorize_inner_loops looks for sums, and the others are in the way of other passes.
    ends = (insert_prefetches, stream_stores)
    return (*passes, contract_fma, *ends) if target.has_fma else (*passes, *ends)


def named(name: str, function_pass: Pass) -> Pass:
    """`function_pass` under a name for the records."""
    function_pass.__name__ = name
    return function_pass


def legalize_for(
    func_or_module: FuncOrModule,
    target: Machine | None = None,
    record: list[PassRecord] | None = None,
) -> FuncOrModule:
    """The codegen form, from the lowered form.

    Args:
        func_or_module: a lowered function, or a module of them.
        target: what it is for, a `Target` or another description of a machine; by default a
            machine with AVX-512.
        record: if given, the time and result of each pass are appended.
    """
    passes = legalization(target or GenericMachine())
    return _for_each(func_or_module, lambda func: run_passes(func, passes, record))


def _for_each(func_or_module: FuncOrModule, transform: Pass) -> FuncOrModule:
    if isinstance(func_or_module, PrimFunc):
        return transform(func_or_module)
    result = func_or_module.clone()
    for name, func in func_or_module.functions.items():
        if isinstance(func, PrimFunc):
            result.update_func(name, transform(func))
    return result
