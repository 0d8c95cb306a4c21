"""Postprocessors, which run after the trace of each candidate, and lists of them for targets."""

from __future__ import annotations

from tilewright.tune.postproc.loops import (
    RewriteParallelVectorizeUnroll,
    RewriteReductionBlock,
)
from tilewright.tune.postproc.postproc import POSTPROC_SETS, Postproc
from tilewright.tune.postproc.rejections import (
    DisallowAsyncStridedMemCopy,
    DisallowDynamicLoop,
    VerifyGPUCode,
    VerifyVTCMLimit,
)
from tilewright.tune.postproc.rewrite_layout import RewriteLayout
from tilewright.tune.postproc.threads_and_intrinsics import (
    RewriteCooperativeFetch,
    RewriteTensorize,
    RewriteUnboundBlock,
)


@POSTPROC_SETS.add("llvm", "c")
def _for_cpu(*for_intrinsics: Postproc) -> list[Postproc]:
    return [
        DisallowDynamicLoop(),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        *for_intrinsics,
        RewriteLayout(),
    ]


@POSTPROC_SETS.add("vnni", "avx512", "dotprod")
def _for_cpu_with_intrinsics() -> list[Postproc]:
    return _for_cpu(RewriteTensorize(vectorize_init_loop=True))


@POSTPROC_SETS.add("hexagon")
def _for_hexagon() -> list[Postproc]:
    return [*_for_cpu(), VerifyVTCMLimit(), DisallowAsyncStridedMemCopy()]


@POSTPROC_SETS.add("cuda", "opencl")
def _for_gpu(*for_intrinsics: Postproc) -> list[Postproc]:
    return [
        DisallowDynamicLoop(),
        RewriteCooperativeFetch(),
        RewriteUnboundBlock(256),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        *for_intrinsics,
        VerifyGPUCode(),
    ]


@POSTPROC_SETS.add("cuda-tensorcore")
def _for_tensor_cores() -> list[Postproc]:
    return _for_gpu(RewriteTensorize())
