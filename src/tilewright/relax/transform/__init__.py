"""Passes over graphs, one file per group of related passes."""

from tilewright.relax.transform.alter_op_impl import AlterOpImpl
from tilewright.relax.transform.attributes import (
    AttachExternModules,
    AttachGlobalSymbol,
    NormalizeGlobalVar,
    RemovePurityChecking,
)
from tilewright.relax.transform.bind_params import BindParams, BindSymbolicVars
from tilewright.relax.transform.canonicalize_bindings import CanonicalizeBindings, Normalize
from tilewright.relax.transform.channels_last import ChannelsLast
from tilewright.relax.transform.dataflow import ConvertToDataflow, ToNonDataflow, TopologicalSort
from tilewright.relax.transform.decompose_ops import (
    DecomposeOpsForInference,
    DecomposeOpsForTraining,
    FoldBatchnormToConv2D,
)
from tilewright.relax.transform.elimination import DeadCodeElimination, EliminateCommonSubexpr
from tilewright.relax.transform.fake_quantization import FakeQuantizationToInteger
from tilewright.relax.transform.fold_constant import FoldConstant
from tilewright.relax.transform.function_pass import (
    DataflowBlockPass,
    FunctionPass,
    dataflowblock_pass,
    function_pass,
)
from tilewright.relax.transform.fuse_ops import AnnotateTIROpPattern, FuseOps
from tilewright.relax.transform.fuse_ops_by_pattern import (
    FuseOpsByPattern,
    FusionPattern,
    MergeCompositeFunctions,
)
from tilewright.relax.transform.fuse_tir import FuseTIR
from tilewright.relax.transform.lambda_lift import LambdaLift
from tilewright.relax.transform.legalize_ops import LegalizeOps
from tilewright.relax.transform.matmul_rewrites import (
    AdjustMatmulOrder,
    CombineParallelMatmul,
    ExpandMatmulOfSum,
    FuseTransposeMatmul,
)
from tilewright.relax.transform.meta_schedule import (
    MetaScheduleApplyDatabase,
    MetaScheduleTuneIRMod,
    MetaScheduleTuneTIR,
)
from tilewright.relax.transform.model_params import (
    BundleModelParams,
    LiftTransformParams,
    UpdateParamStructInfo,
)
from tilewright.relax.transform.pack_constants import PackConstants
from tilewright.relax.transform.patches import PatchConv2DToMatmul
from tilewright.relax.transform.pointwise import PointwiseConv2DToMatmul
from tilewright.relax.transform.precision import FastMathTransform, ToMixedPrecision
from tilewright.relax.transform.private_functions import InlinePrivateFunctions
from tilewright.relax.transform.private_signatures import (
    ExpandTupleArguments,
    RemoveUnusedOutputs,
    RemoveUnusedParameters,
)
from tilewright.relax.transform.quantize_weights import QuantizeWeights
from tilewright.relax.transform.requantization import FoldRequantization
from tilewright.relax.transform.reshape_rewrites import (
    RemoveRedundantReshape,
    ReorderPermuteDimsAfterConcat,
    RewriteDataflowReshape,
)
from tilewright.relax.transform.run_codegen import RunCodegen
from tilewright.relax.transform.winograd import WinogradConv2D

_DONE_BY_BUILD = frozenset({
    "CallTIRRewrite", "ComputePrimValue", "KillAfterLastUse", "LowerAllocTensor",
    "LowerRuntimeBuiltin", "StaticPlanBlockMemory", "VMBuiltinLower", "VMShapeLower",
})  # fmt: skip
"""Names of passes that lower graphs to instructions, which other compilers have."""


def __getattr__(name: str) -> object:
    reason = ": relax.build does its work after the pipeline, leave it out"
    raise AttributeError(
        f"relax.transform has no pass {name!r}{reason if name in _DONE_BY_BUILD else ''}"
    )
