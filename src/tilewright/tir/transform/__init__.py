"""Lowering: from scheduled blocks to the loops, vectors and registers that backends accept."""

from tilewright.tir.transform.compact_buffers import compact_buffers
from tilewright.tir.transform.contract_fma import contract_fma
from tilewright.tir.transform.flatten_buffers import flatten_buffers
from tilewright.tir.transform.function_pass import PrimFuncPass, prim_func_pass
from tilewright.tir.transform.group_branches import group_branches
from tilewright.tir.transform.hoist_workspaces import hoist_workspaces
from tilewright.tir.transform.inline_lets import inline_lets
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.pipeline import PassRecord, legalize_for, lower, run_passes
from tilewright.tir.transform.plan_buffer_locations import plan_buffer_locations
from tilewright.tir.transform.promote_registers import promote_registers
from tilewright.tir.transform.split_full_tiles import split_full_tiles
from tilewright.tir.transform.unroll import unroll
from tilewright.tir.transform.vectorize import vectorize
from tilewright.tir.transform.vectorize_inner_loops import vectorize_inner_loops
