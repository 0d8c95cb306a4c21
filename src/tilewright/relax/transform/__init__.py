"""Passes over graphs, one file each."""

from tilewright.relax.transform.adjust_matmul_order import AdjustMatmulOrder
from tilewright.relax.transform.alter_op_impl import AlterOpImpl
from tilewright.relax.transform.annotate_tir_op_pattern import AnnotateTIROpPattern
from tilewright.relax.transform.attach_extern_modules import AttachExternModules
from tilewright.relax.transform.attach_global_symbol import AttachGlobalSymbol
from tilewright.relax.transform.bind_params import BindParams
from tilewright.relax.transform.bind_symbolic_vars import BindSymbolicVars
from tilewright.relax.transform.bundle_model_params import BundleModelParams
from tilewright.relax.transform.canonicalize_bindings import CanonicalizeBindings
from tilewright.relax.transform.combine_parallel_matmul import CombineParallelMatmul
from tilewright.relax.transform.dataflow import ConvertToDataflow, ToNonDataflow
from tilewright.relax.transform.dead_code_elimination import DeadCodeElimination
from tilewright.relax.transform.decompose_ops import (
    DecomposeOpsForInference,
    DecomposeOpsForTraining,
)
from tilewright.relax.transform.eliminate_common_subexpr import EliminateCommonSubexpr
from tilewright.relax.transform.expand_matmul_of_sum import ExpandMatmulOfSum
from tilewright.relax.transform.expand_tuple_arguments import ExpandTupleArguments
from tilewright.relax.transform.fast_math_transform import FastMathTransform
from tilewright.relax.transform.fold_batchnorm_to_conv2d import FoldBatchnormToConv2D
from tilewright.relax.transform.fold_constant import FoldConstant
from tilewright.relax.transform.function_pass import (
    DataflowBlockPass,
    FunctionPass,
    dataflowblock_pass,
    function_pass,
)
from tilewright.relax.transform.fuse_ops import FuseOps
from tilewright.relax.transform.fuse_ops_by_pattern import FuseOpsByPattern, FusionPattern
from tilewright.relax.transform.fuse_tir import FuseTIR
from tilewright.relax.transform.fuse_transpose_matmul import FuseTransposeMatmul
from tilewright.relax.transform.inline_private_functions import InlinePrivateFunctions
from tilewright.relax.transform.lambda_lift import LambdaLift
from tilewright.relax.transform.legalize_ops import LegalizeOps
from tilewright.relax.transform.lift_transform_params import LiftTransformParams
from tilewright.relax.transform.merge_composite_functions import MergeCompositeFunctions
from tilewright.relax.transform.meta_schedule import (
    MetaScheduleApplyDatabase,
    MetaScheduleTuneIRMod,
    MetaScheduleTuneTIR,
)
from tilewright.relax.transform.normalize import Normalize
from tilewright.relax.transform.normalize_global_var import NormalizeGlobalVar
from tilewright.relax.transform.pack_constants import PackConstants
from tilewright.relax.transform.remove_purity_checking import RemovePurityChecking
from tilewright.relax.transform.remove_redundant_reshape import RemoveRedundantReshape
from tilewright.relax.transform.remove_unused_outputs import RemoveUnusedOutputs
from tilewright.relax.transform.remove_unused_parameters import RemoveUnusedParameters
from tilewright.relax.transform.reorder_permute_dims_after_concat import (
    ReorderPermuteDimsAfterConcat,
)
from tilewright.relax.transform.rewrite_dataflow_reshape import RewriteDataflowReshape
from tilewright.relax.transform.run_codegen import RunCodegen
from tilewright.relax.transform.to_mixed_precision import ToMixedPrecision
from tilewright.relax.transform.topological_sort import TopologicalSort
from tilewright.relax.transform.update_param_struct_info import UpdateParamStructInfo

_DONE_BY_BUILD = frozenset(
    {
        "CallTIRRewrite",
        "ComputePrimValue",
        "KillAfterLastUse",
        "LowerAllocTensor",
        "LowerRuntimeBuiltin",
        "StaticPlanBlockMemory",
        "VMBuiltinLower",
        "VMShapeLower",
    }
)
"""Names of passes that lower graphs to instructions, which other compilers have."""


def __getattr__(name: str) -> object:
    reason = ": relax.build does its work after the pipeline, leave it out"
    raise AttributeError(
        f"relax.transform has no pass {name!r}{reason if name in _DONE_BY_BUILD else ''}"
    )
