"""Operators as tensor expressions."""

from tilewright.topi import generic, image, linalg, nn, testing, utils, vision
from tilewright.topi import generic as x86
from tilewright.topi.broadcast import (
    add,
    atan2,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    broadcast_to,
    divide,
    equal,
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
    maximum,
    minimum,
    mod,
    multiply,
    not_equal,
    power,
    right_shift,
    subtract,
    trunc_divide,
)
from tilewright.topi.creation import (
    arange,
    full,
    full_like,
    meshgrid,
    trilu,
)
from tilewright.topi.indexing import (
    adv_index,
    gather,
    gather_nd,
    matrix_set_diag,
    one_hot,
    sequence_mask,
    take,
    where,
)
from tilewright.topi.joining import (
    concatenate,
    repeat,
    split,
    stack,
    tile,
)
from tilewright.topi.math import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    bitwise_not,
    cast,
    ceil,
    ceil_log2,
    clip,
    cos,
    cosh,
    elemwise_sum,
    erf,
    exp,
    exp2,
    exp10,
    fast_erf,
    fast_exp,
    fast_tanh,
    fixed_point_multiply,
    fixed_point_multiply_per_axis,
    floor,
    identity,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logical_not,
    nearbyint,
    negative,
    reinterpret,
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
from tilewright.topi.nonzero import count_nonzero, nonzero
from tilewright.topi.products import (
    einsum,
    matmul,
    tensordot,
)
from tilewright.topi.random import (
    random_integers,
    random_normal,
    random_uniform,
    random_words,
)
from tilewright.topi.reduction import (
    all,
    any,
    argmax,
    argmin,
    collapse_sum,
    max,
    min,
    prod,
    sum,
)
from tilewright.topi.reshape import (
    reshape,
    unravel_index,
)
from tilewright.topi.scan import (
    cumprod,
    cumsum,
    scanop,
)
from tilewright.topi.scatter import (
    invert_permutation,
    scatter_elements,
    scatter_nd,
    sparse_to_dense,
)
from tilewright.topi.shape import (
    expand_dims,
    expand_like,
    flip,
    layout_transform,
    ndarray_size,
    reverse_sequence,
    shape,
    squeeze,
    transform_by_map,
    transpose,
)
from tilewright.topi.slicing import (
    dynamic_strided_slice,
    sliding_window,
    strided_set,
    strided_slice,
)
from tilewright.topi.sort import argsort, searchsorted, sort, topk
