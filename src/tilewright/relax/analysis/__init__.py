"""Questions about graph functions."""

from tilewright.relax.analysis.struct_info import (
    BaseCheckResult,
    erase_to_well_defined,
    struct_info_base_check,
    struct_info_lca,
)
from tilewright.relax.visitor import post_order_visit
