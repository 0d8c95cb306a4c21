"""How the tuner gets from a program to sketches: schedule rules, one file each."""

import tilewright.tune.rule.defaults
from tilewright.tune.rule.add_rfactor import AddRFactor
from tilewright.tune.rule.apply_custom_rule import ApplyCustomRule
from tilewright.tune.rule.auto_bind import AutoBind
from tilewright.tune.rule.auto_inline import AutoInline
from tilewright.tune.rule.cross_thread_reduction import CrossThreadReduction
from tilewright.tune.rule.inline_constant_scalars import InlineConstantScalars
from tilewright.tune.rule.inline_producers import InlineProducers
from tilewright.tune.rule.multi_level_tiling import MultiLevelTiling
from tilewright.tune.rule.multi_level_tiling_tensor_core import MultiLevelTilingTensorCore
from tilewright.tune.rule.multi_level_tiling_wide_vector import MultiLevelTilingWideVector
from tilewright.tune.rule.multi_level_tiling_with_intrin import MultiLevelTilingWithIntrin
from tilewright.tune.rule.nest_rule import (
    ReduceAlongColumns,
    ReduceAlongRows,
    ShareOuterLoops,
    TileProduct,
    TileStencil,
    TileTransposition,
    VectorizeElements,
)
from tilewright.tune.rule.parallelize_vectorize_unroll import ParallelizeVectorizeUnroll
from tilewright.tune.rule.random_compute_location import RandomComputeLocation
from tilewright.tune.rule.reuse_type import ReuseType
from tilewright.tune.rule.schedule_rule import ScheduleRule
