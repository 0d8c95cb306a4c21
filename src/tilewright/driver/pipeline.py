"""From tensor programs to code: every step, in order, with the reason for the place of each.

`tvm.build`, `relax.build` and the tuner call `for_backend`, which schedules, lowers and legalises
programs, and then `generate_code`. `tvm.lower` runs the passes of `lowering` alone.

Each step is a pass: an object that transforms a module. Those over tensor programs are defined in
`tilewright.tir.transform.passes`. What a `PassContext` says applies to all of them, and its
instruments see each.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tilewright.driver.default import DefaultSchedule
from tilewright.error import TargetError
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import Pass, Sequential
from tilewright.runtime.device import DEVICE_TYPES
from tilewright.target import Target
from tilewright.target.accelerator import accelerator_of, limits_of
from tilewright.target.codegen.params import Param
from tilewright.target.kinds import KERNEL_KINDS
from tilewright.tir.transform import passes as tir
from tilewright.tir.transform.machine import Machine


def for_backend(module: IRModule, target: Target) -> IRModule:
    """Tensor programs as backends take them, but for how they are called.

    Raises:
        LoweringError: for a program that cannot be lowered.
    """
    device = target if target.kind.name in KERNEL_KINDS else None
    return legalization(target)(lowering(device)(scheduling(target)(module)))


def generate_code(
    module: IRModule,
    target: Target,
    params: Mapping[str, Param] | None = None,
    callers: IRModule | None = None,
) -> Any:
    """The code of what `for_backend` makes, a `CompiledCode`.

    Args:
        module: the programs.
        target: what to compile for.
        params: the constants that they find by `lookup_param`.
        callers: programs of the host that call them, where `target` is a device.

    Raises:
        CodegenError: for a program that the target cannot express.
        TargetError: for a target without a backend.
    """
    backend, device_type = GenerateCode(target, params), DEVICE_TYPES[target.kind.device_type]
    if target.kind.name in KERNEL_KINDS:
        module = _split(module, target)
    if callers is not None:
        functions = {**callers.functions, **module.functions}
        module = IRModule(functions, callers.attrs, callers.global_infos)
    Sequential([tir.MakePackedAPI(device_type), backend], name="generate_code")(module)
    return backend.code


def check_kernels(module: IRModule, target: Target) -> None:
    """Raise an error unless `generate_code` makes kernels of what `for_backend` makes.

    Raises:
        LoweringError: for a program that works with memory of the device outside of its kernels.
        CodegenError: for a kernel that the target cannot express.
    """
    from tilewright.target.codegen.device.compile import device_code

    device_code(_split(module, target), target)


def _split(module: IRModule, target: Target) -> IRModule:
    """Programs with their kernels as functions of their own."""
    from tilewright.tir.transform.device.passes import SplitHostDevice, VerifyGPUCode

    device_type = DEVICE_TYPES[target.kind.device_type]
    kernels = [SplitHostDevice(device_type), VerifyGPUCode(limits_of(target))]
    return Sequential(kernels, name="kernels")(module)


def scheduling(target: Target) -> Sequential:
    """Functions that have no schedule get one."""
    return Sequential([DefaultSchedule(target)], name="schedule")


def lowering(device: Target | None = None) -> Sequential:
    """From blocks over buffers to loops over flat memory, for any target.

    Args:
        device: the target whose kernels loops over blocks and threads become. Without, such loops
            run one iteration after the other.
    """
    options = PassContext.current().option

    def added(phase: int) -> list[Pass]:
        return [step for own_phase, step in options("tir.add_lower_pass") if own_phase == phase]

    return Sequential(
        [
            *added(0),
            *([] if options("tir.noalias") else [tir.IgnoreNoAlias()]),
            *([tir.SkipAssert()] if options("tir.disable_assert") else []),
            tir.ExpandTileOperations(_has_tensor_cores(device)),  # buffers instead of pointers
            tir.LowerAtomicUpdates(),  # blocks say what they add
            *(_reductions(device) if device else []),
            tir.MarkSoftwarePipelines(),  # annotations count the blocks of a loop
            tir.LowerBlocks(),  # the rest knows loops, branches and buffers only
            # Checked before memory becomes smaller, and one-dimensional.
            *([tir.InstrumentBoundCheckers()] if options("tir.instrument_bound_checkers") else []),
            tir.PlanAndUpdateBufferAllocationLocation(),  # initialisations are in their places
            tir.CompactBufferAllocation(),  # to the size that is needed where they are now
            # Before ThreadSync: iterations that overlap have memory of their own.
            tir.InjectSoftwarePipeline(device is not None and device.kind.name == "cuda"),
            *(_kernels(device) if device else []),
            tir.FlattenBuffer(),  # memory is one-dimensional
            *added(1),
            tir.StorageRewrite(),  # memory of dead buffers is used again
            tir.HoistWorkspaces(),  # memory that is not used again with others of its loop
            *added(2),
            tir.CommonSubexprElimTIR(),  # an index is computed once per statement
            *added(3),
        ],
        name="lower",
    )


def _has_tensor_cores(device: Target | None) -> bool:
    """Whether warps execute operations on tiles together; otherwise each thread does."""
    return device is not None and device.kind.name == "cuda"


def _reductions(device: Target) -> list[Pass]:
    """What threads add up together."""
    from tilewright.tir.transform.device.passes import (
        LowerCrossThreadReduction,
        VerifyInstanceMemory,
        VerifyThreadOrder,
    )

    return [
        VerifyInstanceMemory(),  # blocks say whose memory is whose
        VerifyThreadOrder(),  # loops say what comes first
        LowerCrossThreadReduction(accelerator_of(device).lanes),  # blocks say what they reduce
    ]


def _kernels(device: Target) -> list[Pass]:
    """From loops over blocks and threads to kernels."""
    from tilewright.tir.transform.device.passes import (
        AssignThreadMemory,
        InjectVirtualThread,
        LowerFragments,
        LowerWarpMemory,
        MoveLargeMemory,
        ThreadSync,
        UnifyThreadBinding,
    )

    return [
        AssignThreadMemory(),  # scopes say who has memory
        UnifyThreadBinding(),  # what threads share has its place and its size
        InjectVirtualThread(),  # before ThreadSync: what is done once needs one barrier
        LowerWarpMemory(),  # before ThreadSync: what threads exchange needs none
        ThreadSync(),  # before FlattenBuffer: dimensions tell elements apart
        # Before FlattenBuffer, too: dimensions tell tiles apart.
        *([LowerFragments()] if _has_tensor_cores(device) else []),
        MoveLargeMemory(),  # before FlattenBuffer, which knows how wide indices are
    ]


def readable_loops() -> Sequential:
    """The first part of `lowering`, after which indices are still those that the user wrote."""
    return Sequential(
        [
            tir.ExpandTileOperations(),
            tir.LowerBlocks(),
            tir.PlanAndUpdateBufferAllocationLocation(),
            tir.CompactBufferAllocation(),
        ],
        name="lower",
    )


def legalization(target: Target | Machine) -> Sequential:
    """From loops over flat memory to what backends accept: vectors and registers of `target`."""
    vectorizes = not PassContext.current().option("tir.disable_vectorize")
    if isinstance(target, Target) and target.kind.name in KERNEL_KINDS:
        return Sequential(_for_kernels(target.kind.name, vectorizes), name="legalize")
    machine = target if isinstance(target, Machine) else target.machine
    return _legalization(machine, vectorizes)


@lru_cache(maxsize=16)
def _legalization(machine: Machine, vectorizes: bool) -> Sequential:
    passes = _for_vectors(machine, vectorizes) if machine.vector_bits else _without_vectors(machine)
    return Sequential(passes, name="legalize")


def _without_vectors(machine: Machine) -> list[Pass]:
    """Scalar loops, which a compiler of another language takes further."""
    return [
        tir.InlineLets(),  # an index reads best in one piece
        tir.LowerAmx(machine),  # the loops are as the schedule has them
        tir.LowerIntrin(),  # what is short for arithmetic
        tir.ScalarizeVectors(),  # what a program itself says with vectors
    ]


def _for_kernels(kind: str, vectorizes: bool) -> list[Pass]:
    """Code of one thread: scalars, and vectors in memory."""
    from tilewright.tir.transform.device.passes import (
        InjectPTXAsyncCopy,
        LowerVectors,
        UnconditionalBarriers,
        VectorizeKernels,
    )

    return [
        tir.InlineLets(),
        *([VectorizeKernels()] if vectorizes else []),
        *([UnconditionalBarriers()] if kind == "opencl" else []),  # when all branches are there
        *([InjectPTXAsyncCopy()] if kind == "cuda" else []),  # after it: of whole vectors
        tir.MarkUnrolledLoops(),  # the compiler of the device unrolls them
        tir.RemoveNoOp(),
        tir.LowerIntrin(),
        LowerVectors(),
    ]


def _for_vectors(machine: Machine, vectorizes: bool) -> list[Pass]:
    return [
        tir.InlineLets(),  # indices are whole sums again, which the rest takes apart
        tir.LowerAmx(machine),  # the loops are as the schedule has them
        tir.LoopPartition(),  # before VectorizeLoop, so that full tiles need no masks
        tir.HoistIfThenElse(),  # what LoopPartition has left of the conditions
        tir.VectorizeLoop(vectorizes, machine),  # what the schedule asks for
        tir.UnrollLoop(),  # after VectorizeLoop: the copies are vector statements
        tir.RemoveNoOp(),  # most conditions of copies
        tir.TransposeGathers(),  # after UnrollLoop: loads of neighbours are side by side
        tir.InterleaveStores(machine),  # after UnrollLoop: the parts are side by side
        *([tir.VectorizeInnerLoops(machine)] if vectorizes else []),  # what nobody asked for
        tir.AccumulateLanes(machine),  # after UnrollLoop: all updates of an element are seen
        tir.UnrollAndJam(machine),  # before PromoteRegisters: chains that overlap
        tir.PromoteRegisters(machine),  # tiles are straight vector code now
        tir.GroupBranches(),  # of tiles that stick out, whose stores are independent registers now
        tir.LowerMath(machine),  # after the vectors, which count calls
        # All last: VectorizeInnerLoops looks for sums, and the others are in the way of passes.
        *([tir.ContractFMA()] if machine.has_fma else []),
        tir.InsertPrefetches(),
        tir.StreamStores(),
    ]


class GenerateCode(Pass):
    """What the backend of a target makes of functions; the module stays as it is.

    Args:
        target: what to compile for.
        params: the constants that the functions find by `lookup_param`.

    Attributes:
        code: what was made of the last module, a `CompiledCode`.
    """

    necessary = "without it there is no code"

    def __init__(self, target: Target, params: Mapping[str, Param] | None = None) -> None:
        self.name = f"target.build.{target.kind.name}"
        self._target, self._params = target, params
        self.code: Any = None

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        kind = self._target.kind.name
        if kind == "llvm":
            from tilewright.target.codegen.llvm import compile_module as compiled
        elif kind == "c":
            from tilewright.target.codegen.c import compile_module as compiled
        elif kind in KERNEL_KINDS:
            from tilewright.target.codegen.device.compile import compile_module as compiled
        else:
            raise TargetError(f"tvm.build: target kind {kind!r} has no backend in this build")
        self.code = compiled(mod, self._target, self._params)
        return mod
