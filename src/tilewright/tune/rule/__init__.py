"""How the tuner gets from a program to sketches: schedule rules, and lists of them for targets."""

from __future__ import annotations

from tilewright.tune.rule.add_rfactor import AddRFactor
from tilewright.tune.rule.deferred import ParallelizeVectorizeUnroll, RandomComputeLocation
from tilewright.tune.rule.inline import AutoInline, InlineConstantScalars, InlineProducers
from tilewright.tune.rule.multi_level_tiling import MultiLevelTiling, MultiLevelTilingWideVector
from tilewright.tune.rule.multi_level_tiling_tensor_core import MultiLevelTilingTensorCore
from tilewright.tune.rule.multi_level_tiling_with_intrin import MultiLevelTilingWithIntrin
from tilewright.tune.rule.nest_rule import (
    ReduceAlongColumns,
    ReduceAlongRows,
    ShareOuterLoops,
    SharePlaces,
    TileProduct,
    TileStencil,
    TileTransposition,
    VectorizeElements,
)
from tilewright.tune.rule.reuse import ReuseType
from tilewright.tune.rule.schedule_rule import RULE_SETS, ApplyCustomRule, ScheduleRule
from tilewright.tune.rule.threads import AutoBind, CrossThreadReduction


@RULE_SETS.add("llvm", "c")
def _for_cpu(*intrinsics: str) -> list[ScheduleRule]:
    """The rules for CPUs; the first ones tile for tensor intrinsics."""
    reuse = ReuseType("may", levels=(1, 2), scope="global")
    return [
        ApplyCustomRule(),
        InlineConstantScalars(),
        InlineProducers(),
        *(
            MultiLevelTilingWithIntrin(name, "SSRSRS", max_innermost_factor=64, reuse_write=reuse)
            for name in intrinsics
        ),
        TileStencil(),  # before products: a convolution of each channel is one, too
        ShareOuterLoops(),
        TileProduct(),
        TileTransposition(),
        SharePlaces(),
        VectorizeElements(),
        ReduceAlongColumns(),
        ReduceAlongRows(),
        _inline_on_cpus(),
        AddRFactor(max_jobs_per_core=16, max_innermost_factor=64),
        MultiLevelTiling("SSRSRS", max_innermost_factor=64, reuse_write=reuse),
        ParallelizeVectorizeUnroll(
            max_jobs_per_core=16,
            max_vectorize_extent=64,
            unroll_max_steps=[0, 16, 64, 512],
            unroll_explicit=True,
        ),
        RandomComputeLocation(),
    ]


@RULE_SETS.add("vnni", "avx512")
def _for_vnni() -> list[ScheduleRule]:
    """The rules for x86 CPUs that multiply and add four 8-bit integers at once."""
    return _for_cpu("dot_16x4_vnni")


@RULE_SETS.add("dotprod")
def _for_dotprod() -> list[ScheduleRule]:
    """The rules for ARM CPUs that do."""
    return _for_cpu("dot_4x4_i8i8s32_sdot", "dot_4x4_u8u8u32_udot")


def _inline_on_cpus() -> AutoInline:
    """Inlining that keeps loops simple, and computes nothing costly twice."""
    return AutoInline(
        into_producer=False,
        into_consumer=True,
        inline_const_tensor=True,
        disallow_if_then_else=True,
        require_injective=True,
        require_ordered=True,
        disallow_op=["tir.exp"],
    )


@RULE_SETS.add("cuda-tensorcore")
def _for_tensor_cores() -> list[ScheduleRule]:
    """The rules for GPUs with units for products of small matrices of halves."""
    return _for_gpu(
        MultiLevelTilingTensorCore(
            [_wmma_group(trans) for trans in ("", "_trans")],
            "SSSRRSRS",
            tile_binds=["blockIdx.y", "blockIdx.x", "threadIdx.y"],
            max_innermost_factor=4,
            vector_load_lens=[1, 2, 3, 4, 8, 16],
            reuse_read=ReuseType("must", levels=(4,), scope="shared.dyn"),
            reuse_write=ReuseType("must", levels=(2,), scope="shared.dyn"),
        )
    )


def _wmma_group(trans: str) -> dict[str, str]:
    """The intrinsics for tiles of 16 by 16 elements, the second operand transposed or not."""
    shape = "16x16x16"
    return {
        "init": f"wmma_fill_{shape}_f32",
        "load_a": f"wmma_load_{shape}_f16_a_shared_dyn",
        "load_b": f"wmma_load_{shape}_f16_b{trans}_shared_dyn",
        "compute": f"wmma_sync_{shape}_f16f16f32{trans}",
        "store": f"wmma_store_{shape}_f32_shared_dyn",
    }


@RULE_SETS.add("cuda", "opencl")
def _for_gpu(*before_tiling: ScheduleRule) -> list[ScheduleRule]:
    """The rules for GPUs, some others before those that tile."""
    return [
        ApplyCustomRule(),
        *before_tiling,
        MultiLevelTiling(
            "SSSRRSRS",
            tile_binds=["blockIdx.x", "vthread.x", "threadIdx.x"],
            max_innermost_factor=64,
            vector_load_lens=[1, 2, 3, 4, 8, 16],
            reuse_read=ReuseType("must", levels=(4,), scope="shared"),
            reuse_write=ReuseType("must", levels=(3,), scope="local"),
        ),
        InlineConstantScalars(),
        AutoInline(
            into_producer=True,
            into_consumer=True,
            inline_const_tensor=True,
            disallow_if_then_else=False,
            require_injective=False,
            require_ordered=False,
        ),
        CrossThreadReduction(thread_extents=[4, 8, 16, 32, 64, 128, 256, 512]),
        ParallelizeVectorizeUnroll(
            max_jobs_per_core=-1,
            max_vectorize_extent=-1,
            unroll_max_steps=[0, 16, 64, 512, 1024],
            unroll_explicit=True,
        ),
        AutoBind(max_threadblocks=256, thread_extents=[32, 64, 128, 256, 512, 1024]),
    ]


@RULE_SETS.add("hexagon")
def _for_hexagon() -> list[ScheduleRule]:
    """The rules for DSPs with wide vectors."""
    return [
        ApplyCustomRule(),
        InlineConstantScalars(),
        _inline_on_cpus(),
        MultiLevelTilingWideVector(
            "SRSRS",
            vector_length_in_bits=1024,
            max_innermost_factor=128,
            reuse_write=ReuseType("may", levels=(1, 2), scope="global"),
        ),
        ParallelizeVectorizeUnroll(
            max_jobs_per_core=16,
            max_vectorize_extent=128,
            unroll_max_steps=[0, 16, 64, 512],
            unroll_explicit=True,
        ),
    ]
