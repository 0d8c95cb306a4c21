"""The transformations of this package as passes over modules, by the names that TVM gives them.

A transformation is a function from `PrimFunc` to `PrimFunc`, in a file of its own. Its pass applies
it to each tensor program of a module, and knows what it wants to know about a machine. The order of
the passes is in `tilewright.driver.pipeline`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.ir.node import GUARD
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.tir.analysis.verify import verify_well_formed
from tilewright.tir.call_boundary.make_packed_api import make_packed_api
from tilewright.tir.call_boundary.overlapping import without_promises
from tilewright.tir.expand_tile_operations import expand_tile_operations
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform import PrimFuncPass
from tilewright.tir.transform.accumulate_lanes import accumulate_lanes
from tilewright.tir.transform.branches import group_branches, hoist_conditions
from tilewright.tir.transform.common_subexpression import common_subexpression_elimination
from tilewright.tir.transform.compact_buffers import compact_buffers
from tilewright.tir.transform.flatten_buffers import flatten_buffers
from tilewright.tir.transform.hoist_workspaces import hoist_workspaces
from tilewright.tir.transform.insert_prefetches import insert_prefetches
from tilewright.tir.transform.instrument_bounds import instrument_bounds
from tilewright.tir.transform.interleave_stores import interleave_stores
from tilewright.tir.transform.lower_amx import lower_amx
from tilewright.tir.transform.lower_atomic_updates import lower_atomic_updates
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.lower_intrinsics import lower_intrinsics
from tilewright.tir.transform.lower_math import contract_fma, lower_math
from tilewright.tir.transform.machine import Machine
from tilewright.tir.transform.plan_buffer_locations import plan_buffer_locations
from tilewright.tir.transform.promote_registers import promote_registers
from tilewright.tir.transform.scalarize_vectors import scalarize_vectors
from tilewright.tir.transform.simplify import drop_assertions, inline_lets, remove_no_ops, simplify
from tilewright.tir.transform.software_pipeline.annotations import mark_pipelines
from tilewright.tir.transform.software_pipeline.injection import inject_software_pipeline
from tilewright.tir.transform.split_full_tiles import split_full_tiles
from tilewright.tir.transform.storage_rewrite import storage_rewrite
from tilewright.tir.transform.stream_stores import stream_stores
from tilewright.tir.transform.transpose_gathers import transpose_gathers
from tilewright.tir.transform.unroll import mark_unrolled, unroll
from tilewright.tir.transform.unroll_and_jam import unroll_and_jam
from tilewright.tir.transform.vectorize import serialize_vectorized_loops, vectorize
from tilewright.tir.transform.vectorize_inner_loops import vectorize_inner_loops


class LoweringPass(PrimFuncPass):
    """A transformation as a pass; its subclasses are below.

    Args:
        machine: what the programs are for, a `Target` or a `Machine`; by
            default a machine with AVX-512.

    Attributes:
        transformation: the function.
        facts: its keyword arguments, which are attributes of the machine.
    """

    name = "LoweringPass"
    transformation: ClassVar[Callable[..., PrimFunc]]
    facts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, machine: Any = None) -> None:
        if machine is None and self.facts:
            machine = Machine()
        try:
            self._options = {fact: getattr(machine, fact) for fact in self.facts}
        except AttributeError:
            raise ArgumentError(f"{self.name}: expected a Target, got {machine!r}") from None

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        result = self.transformation(func, **self._options)
        if GUARD and result is not func:  # tests check each step
            verify_well_formed(result)
        return result


def pass_of(
    name: str,
    transformation: Callable[..., PrimFunc],
    *facts: str,
    opt_level: int = 0,
    necessary: str = "",
) -> type[LoweringPass]:
    """A class of passes; `Pass` says what `opt_level` and `necessary` are."""
    members: dict[str, Any] = {
        "name": f"tir.{name}", "transformation": staticmethod(transformation), "facts": facts,
        "opt_level": opt_level, "necessary": necessary,
        "__doc__": transformation.__doc__, "__module__": __name__,
    }  # fmt: skip
    return type(name, (LoweringPass,), members)


# For pipelines of users.

Simplify = pass_of("Simplify", simplify)

# What options of a `PassContext` ask for.

IgnoreNoAlias = pass_of("IgnoreNoAlias", without_promises)
SkipAssert = pass_of("SkipAssert", drop_assertions)
InstrumentBoundCheckers = pass_of("InstrumentBoundCheckers", instrument_bounds)

# Before blocks are lowered.


class ExpandTileOperations(PrimFuncPass):
    """Loops in place of operations on tiles; see `expand_tile_operations`.

    Args:
        mark: whether warps are to execute them together.
    """

    name = "tir.ExpandTileOperations"
    necessary = "no other pass knows what they access"

    def __init__(self, mark: bool = False) -> None:
        self._mark = mark

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        return expand_tile_operations(func, self._mark)


# From blocks to loops over flat buffers.

LowerAtomicUpdates = pass_of(
    "LowerAtomicUpdates", lower_atomic_updates, necessary="updates may happen at the same time"
)
MarkSoftwarePipelines = pass_of(
    "MarkSoftwarePipelines", mark_pipelines, necessary="the passes after it know no blocks"
)
LowerBlocks = pass_of("LowerBlocks", lower_blocks, necessary="the passes after it know no blocks")
LowerInitBlock = ConvertBlocksToOpaque = LowerMatchBuffer = LowerOpaqueBlock = LowerBlocks
"""What TVM does in these steps; here the first of them does it all, and leaves no blocks."""

PlanAndUpdateBufferAllocationLocation = pass_of(
    "PlanAndUpdateBufferAllocationLocation", plan_buffer_locations, opt_level=1
)
CompactBufferAllocation = pass_of("CompactBufferAllocation", compact_buffers, opt_level=1)
FlattenBuffer = pass_of(
    "FlattenBuffer", flatten_buffers, necessary="code accesses memory by one index"
)
StorageRewrite = pass_of("StorageRewrite", storage_rewrite, opt_level=1)
HoistWorkspaces = pass_of("HoistWorkspaces", hoist_workspaces, opt_level=1)
CommonSubexprElimTIR = pass_of(
    "CommonSubexprElimTIR", common_subexpression_elimination, opt_level=1
)

# From there to vectors and registers.

InlineLets = pass_of("InlineLets", inline_lets)
LowerAmx = pass_of("LowerAmx", lower_amx, "dot_products", "first_cache", opt_level=1)
LoopPartition = pass_of("LoopPartition", split_full_tiles, opt_level=1)
HoistIfThenElse = pass_of("HoistIfThenElse", hoist_conditions, opt_level=1)
UnrollLoop = pass_of("UnrollLoop", unroll)
MarkUnrolledLoops = pass_of("MarkUnrolledLoops", mark_unrolled)
RemoveNoOp = pass_of("RemoveNoOp", remove_no_ops, opt_level=1)
TransposeGathers = pass_of("TransposeGathers", transpose_gathers, opt_level=1)
InterleaveStores = pass_of("InterleaveStores", interleave_stores, "vector_bits", opt_level=1)
VectorizeInnerLoops = pass_of(
    "VectorizeInnerLoops", vectorize_inner_loops, "vector_bits", opt_level=1
)
AccumulateLanes = pass_of(
    "AccumulateLanes", accumulate_lanes, "vector_bits", "vector_registers", opt_level=1
)
UnrollAndJam = pass_of(
    "UnrollAndJam", unroll_and_jam, "vector_bits", "vector_registers", "cores", opt_level=1
)
PromoteRegisters = pass_of(
    "PromoteRegisters", promote_registers, "vector_bits", "vector_registers", opt_level=1
)
GroupBranches = pass_of("GroupBranches", group_branches, opt_level=1)
LowerMath = pass_of(
    "LowerMath", lower_math, "has_avx512", "has_fma", necessary="code has arithmetic only"
)
ContractFMA = pass_of("ContractFMA", contract_fma, opt_level=1)
InsertPrefetches = pass_of("InsertPrefetches", insert_prefetches, opt_level=1)
StreamStores = pass_of("StreamStores", stream_stores, opt_level=1)
LowerIntrin = pass_of("LowerIntrin", lower_intrinsics, necessary="code has basic operators only")
ScalarizeVectors = pass_of("ScalarizeVectors", scalarize_vectors, necessary="C has no vectors")


class InjectSoftwarePipeline(LoweringPass):
    """Pipelines in place of the loops that annotations say it of, also those with two buffers.

    Args:
        asynchronous: whether to say which copies may run in the background.
    """

    name = "tir.InjectSoftwarePipeline"
    transformation = staticmethod(inject_software_pipeline)
    necessary = "marks of statements mean nothing after it"

    def __init__(self, asynchronous: bool = False) -> None:
        super().__init__()
        self._options = {"asynchronous": asynchronous}


class VectorizeLoop(LoweringPass):
    """Vector statements for the loops that a schedule vectorises.

    Args:
        enable_vectorize: whether they become vectors, or run one iteration at a time.
        machine: see `LoweringPass`.
    """

    name = "tir.VectorizeLoop"
    transformation = staticmethod(vectorize)
    necessary = (
        'code has no loops of that kind; the option "tir.disable_vectorize" makes them plain'
    )
    facts = ("vector_bits",)

    def __init__(self, enable_vectorize: bool = True, machine: Any = None) -> None:
        super().__init__(machine)
        self._enabled = enable_vectorize

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if not self._enabled:
            return serialize_vectorized_loops(func)
        return super().transform_function(func, mod, ctx)


class MakePackedAPI(ModulePass):
    """Beside each function with a ``global_symbol``, one that checks arguments and calls it.

    Args:
        device_type: DLPack's number of the device on which the arrays must be.
    """

    name = "tir.MakePackedAPI"
    necessary = "functions are called by it"

    def __init__(self, device_type: int = 1) -> None:
        self._device_type = device_type

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        result = make_packed_api(mod, self._device_type)
        if GUARD:
            verify_well_formed(result)
        return result
