"""What happens to each candidate after its trace: postprocessors, one file each."""

import tilewright.tune.postproc.defaults
from tilewright.tune.postproc.disallow_async_strided_mem_copy import (
    DisallowAsyncStridedMemCopy,
)
from tilewright.tune.postproc.disallow_dynamic_loop import DisallowDynamicLoop
from tilewright.tune.postproc.postproc import Postproc
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
