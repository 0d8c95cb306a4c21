"""Questions about graph functions."""

from tilewright.relax.analysis.functions import (
    computable_at_compile_time,
    contains_impure_call,
    detect_recursion,
    estimate_memory_usage,
    remove_all_unused,
)
from tilewright.relax.analysis.reshape_pattern import has_reshape_pattern
from tilewright.relax.analysis.variables import (
    all_global_vars,
    all_vars,
    bound_vars,
    called_global_vars,
    definable_tir_vars_in_struct_info,
    defined_symbolic_vars,
    free_symbolic_vars,
    free_vars,
    get_var2val,
    name_to_binding,
    tir_vars_in_struct_info,
    udchain,
)
from tilewright.relax.analysis.well_formed import check_well_formed, well_formed
from tilewright.relax.struct_info_relation import (
    BaseCheckResult,
    erase_to_well_defined,
    get_static_type,
    struct_info_base_check,
    struct_info_lca,
)
from tilewright.relax.visitor import post_order_visit
