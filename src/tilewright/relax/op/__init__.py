"""Graph operators, one file a family."""

from tilewright.relax.op import (
    image,
    nn,
)
from tilewright.relax.op.base import (
    assert_op,
    call_dps_packed,
    call_inplace_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    call_tir_with_grad,
    invoke_closure,
    invoke_pure_closure,
    make_closure,
    null_value,
    print,
)
from tilewright.relax.op.create import (
    arange,
    full,
    full_like,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from tilewright.relax.op.datatype import (
    astype,
    dequantize,
    quantize,
    wrap_param,
)
from tilewright.relax.op.devices import hint_on_device, to_vdevice
from tilewright.relax.op.elementwise import (
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    divide,
    equal,
    ewise_fma,
    floor_divide,
    floor_mod,
    greater,
    greater_equal,
    left_shift,
    less,
    less_equal,
    logical_and,
    logical_or,
    logical_xor,
    masked_fill,
    maximum,
    minimum,
    mod,
    multiply,
    not_equal,
    power,
    right_shift,
    subtract,
)
from tilewright.relax.op.gather import (
    gather_elements,
    gather_nd,
    index_tensor,
    one_hot,
)
from tilewright.relax.op.index import (
    dynamic_strided_slice,
    strided_slice,
    take,
)
from tilewright.relax.op.joining import (
    concat,
    split,
    stack,
)
from tilewright.relax.op.linear_algebra import (
    einsum,
    linear,
    matmul,
    outer,
)
from tilewright.relax.op.manipulate import (
    broadcast_to,
    collapse_sum_like,
    collapse_sum_to,
    flip,
    layout_transform,
    permute_dims,
    repeat,
    tile,
)
from tilewright.relax.op.scatter import (
    scatter_elements,
    scatter_nd,
)
from tilewright.relax.op.search import (
    argmax,
    argmin,
    multinomial_from_uniform,
    where,
)
from tilewright.relax.op.sorting import (
    argsort,
    nonzero,
    sort,
    topk,
    unique,
)
from tilewright.relax.op.statistical import (
    cumprod,
    cumsum,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    variance,
)
from tilewright.relax.op.unary import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    bitwise_not,
    ceil,
    clip,
    cos,
    cosh,
    erf,
    exp,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    log2,
    log10,
    logical_not,
    negative,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    trunc,
)
from tilewright.relax.op.view import (
    expand_dims,
    flatten,
    reshape,
    shape_of,
    shape_to_tensor,
    squeeze,
    tensor_to_shape,
)
