"""The passes that make kernels, by the names that TVM gives them."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.error import LoweringError
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.tir.analysis.kernel_limits import exceeded
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform import PrimFuncPass
from tilewright.tir.transform.device.async_copies import inject_async_copies
from tilewright.tir.transform.device.barriers import insert_barriers
from tilewright.tir.transform.device.cross_thread_reduction import lower_cross_thread_reduction
from tilewright.tir.transform.device.fragments import lower_fragments
from tilewright.tir.transform.device.instance_memory import refuse_shared_instances
from tilewright.tir.transform.device.large_memory import move_large_memory
from tilewright.tir.transform.device.lower_warp_memory import lower_warp_memory
from tilewright.tir.transform.device.split_kernels import split_kernels
from tilewright.tir.transform.device.stale_reads import refuse_stale_reads
from tilewright.tir.transform.device.thread_axes import unify_thread_axes
from tilewright.tir.transform.device.thread_memory import assign_thread_memory
from tilewright.tir.transform.device.unconditional_barriers import free_barriers
from tilewright.tir.transform.device.vector_accesses import lower_vectors
from tilewright.tir.transform.device.vector_loops import vectorize_kernels
from tilewright.tir.transform.device.virtual_threads import inject_virtual_threads
from tilewright.tir.transform.passes import pass_of

AssignThreadMemory = pass_of(
    "AssignThreadMemory", assign_thread_memory, necessary="threads have memory of their own"
)
UnifyThreadBinding = pass_of(
    "UnifyThreadBinding", unify_thread_axes, necessary="a device runs kernels"
)
InjectVirtualThread = pass_of(
    "InjectVirtualThread", inject_virtual_threads, necessary="a device has no virtual threads"
)
VerifyInstanceMemory = pass_of(
    "VerifyInstanceMemory", refuse_shared_instances, necessary="threads share shared memory"
)
VerifyThreadOrder = pass_of(
    "VerifyThreadOrder", refuse_stale_reads, necessary="threads run at the same time"
)
VectorizeKernels = pass_of("VectorizeKernels", vectorize_kernels, opt_level=1)
InjectPTXAsyncCopy = pass_of("InjectPTXAsyncCopy", inject_async_copies)
LowerVectors = pass_of("LowerVectors", lower_vectors, necessary="a thread computes with scalars")
LowerWarpMemory = pass_of(
    "LowerWarpMemory", lower_warp_memory, necessary="a device has no memory of a warp"
)
ThreadSync = pass_of("ThreadSync", insert_barriers, necessary="threads use what others have made")
UnconditionalBarriers = pass_of(
    "UnconditionalBarriers", free_barriers, necessary="a CPU runs a block of threads as loops"
)
MoveLargeMemory = pass_of(
    "MoveLargeMemory", move_large_memory, necessary="threads have little memory of their own"
)
LowerFragments = pass_of(
    "LowerFragments", lower_fragments, necessary="fragments are registers of the threads of a warp"
)


class LowerCrossThreadReduction(PrimFuncPass):
    """Reductions whose loops are bound to threads become a part of each, which they combine.

    Args:
        warp_size: number of threads that can exchange values without memory; 0 if none can.
    """

    name = "tir.LowerCrossThreadReduction"
    necessary = "threads add up into memory of their own"

    def __init__(self, warp_size: int = 0) -> None:
        self._warp_size = warp_size

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        return lower_cross_thread_reduction(func, self._warp_size)


class SplitHostDevice(ModulePass):
    """Kernels become functions of their own, which those of the host start.

    Args:
        device_type: DLPack's number of the devices that the kernels are for.
    """

    name = "tir.SplitHostDevice"
    necessary = "kernels are compiled by another compiler"

    def __init__(self, device_type: int) -> None:
        self._device_type = device_type

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return split_kernels(mod, self._device_type)


class VerifyGPUCode(ModulePass):
    """Kernels that use more than a device has are refused.

    Args:
        constraints: what it has; see `tilewright.tir.analysis.verify_gpu_code`.
    """

    name = "tir.VerifyGPUCode"

    def __init__(self, constraints: Mapping[str, int]) -> None:
        self._constraints = constraints

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for func in mod.functions.values():
            found = exceeded(func, self._constraints) if isinstance(func, PrimFunc) else ()
            if found:
                raise LoweringError(" | ".join(found))
        return mod
