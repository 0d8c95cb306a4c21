"""Graph operators, one file a family."""

from tilewright.relax.op.base import (
    assert_op,
    call_dps_packed,
    call_inplace_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    invoke_closure,
    invoke_pure_closure,
    make_closure,
    null_value,
    print,
    shape_of,
    shape_to_tensor,
    tensor_to_shape,
)
