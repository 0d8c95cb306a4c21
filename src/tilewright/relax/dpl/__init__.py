"""Patterns of graphs: finding what looks like something, and replacing it."""

from tilewright.relax.dpl.constructors import (
    has_attr,
    has_dtype,
    has_shape,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from tilewright.relax.dpl.context import PatternContext, PatternSeq
from tilewright.relax.dpl.pattern import DFPattern
from tilewright.relax.dpl.rewrite import rewrite_bindings, rewrite_call
