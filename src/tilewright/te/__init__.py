"""Tensor expressions: tensors defined by formulas, and schedules for their loops."""

from tilewright.ir.arithmetic import truncdiv as div
from tilewright.te.compute import compute, const, placeholder, size_var, var
from tilewright.te.create_prim_func import create_prim_func
from tilewright.te.extern import extern, extern_primfunc
from tilewright.te.from_prim_func import tensors_of
from tilewright.te.operation import ComputeOp, ExternOp, Operation, PlaceholderOp, ScanOp
from tilewright.te.reducer import comm_reducer, reduce_axis, thread_axis
from tilewright.te.scan import scan
from tilewright.te.schedule import Schedule, Stage, create_schedule
from tilewright.te.schedule.layout import AXIS_SEPARATOR
from tilewright.te.tag import TagScope, tag_scope
from tilewright.te.tensor import Tensor, TensorSlice
from tilewright.te.tensor_intrin import TensorIntrin, decl_tensor_intrin
from tilewright.tir.op import *  # noqa: F403

# These come last: they replace the functions of two scalars of the same names.
from tilewright.te.reductions import all, any, max, min, prod, sum  # isort: skip
