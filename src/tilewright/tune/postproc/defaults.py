"""The postprocessors for each kind of target, in the order in which they are applied."""

from __future__ import annotations

from tilewright.tune.postproc.disallow_async_strided_mem_copy import (
    DisallowAsyncStridedMemCopy,
)
from tilewright.tune.postproc.disallow_dynamic_loop import DisallowDynamicLoop
from tilewright.tune.postproc.postproc import POSTPROC_SETS, Postproc
from tilewright.tune.postproc.rewrite_cooperative_fetch import RewriteCooperativeFetch
from tilewright.tune.postproc.rewrite_layout import RewriteLayout
from tilewright.tune.postproc.rewrite_parallel_vectorize_unroll import (
    RewriteParallelVectorizeUnroll,
)
from tilewright.tune.postproc.rewrite_reduction_block import RewriteReductionBlock
from tilewright.tune.postproc.rewrite_tensorize import RewriteTensorize
from tilewright.tune.postproc.rewrite_unbound_block import RewriteUnboundBlock
from tilewright.tune.postproc.verify_gpu_code import VerifyGPUCode
from tilewright.tune.postproc.verify_vtcm_limit import VerifyVTCMLimit


@POSTPROC_SETS.add("llvm", "c")
def for_cpu() -> list[Postproc]:
    """The postprocessors for CPUs."""
    return [
        DisallowDynamicLoop(),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        RewriteLayout(),
    ]


@POSTPROC_SETS.add("vnni", "avx512", "dotprod")
def for_cpu_with_intrinsics() -> list[Postproc]:
    """The postprocessors for CPUs with tensor intrinsics."""
    return [
        DisallowDynamicLoop(),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        RewriteTensorize(vectorize_init_loop=True),
        RewriteLayout(),
    ]


@POSTPROC_SETS.add("cuda", "opencl")
def for_gpu() -> list[Postproc]:
    """The postprocessors for GPUs."""
    return [
        DisallowDynamicLoop(),
        RewriteCooperativeFetch(),
        RewriteUnboundBlock(256),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        VerifyGPUCode(),
    ]


@POSTPROC_SETS.add("cuda-tensorcore")
def for_tensor_cores() -> list[Postproc]:
    """The postprocessors for GPUs with units for products of small matrices."""
    return [
        DisallowDynamicLoop(),
        RewriteCooperativeFetch(),
        RewriteUnboundBlock(256),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        RewriteTensorize(),
        VerifyGPUCode(),
    ]


@POSTPROC_SETS.add("hexagon")
def for_hexagon() -> list[Postproc]:
    """The postprocessors for DSPs with wide vectors."""
    return [
        DisallowDynamicLoop(),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        RewriteLayout(),
        VerifyVTCMLimit(),
        DisallowAsyncStridedMemCopy(),
    ]
