"""Graph operators, one file a family."""

from tilewright.relax.op import image, nn
from tilewright.relax.op.base import *  # noqa: F403
from tilewright.relax.op.conversion import (
    astype,
    dequantize,
    hint_on_device,
    quantize,
    to_vdevice,
    wrap_param,
)
from tilewright.relax.op.create import *  # noqa: F403
from tilewright.relax.op.elementwise import *  # noqa: F403
from tilewright.relax.op.gather import gather_elements, gather_nd, index_tensor, one_hot
from tilewright.relax.op.index import dynamic_strided_slice, strided_slice, take
from tilewright.relax.op.joining import concat, split, stack
from tilewright.relax.op.linear_algebra import einsum, linear, matmul, outer
from tilewright.relax.op.manipulate import *  # noqa: F403
from tilewright.relax.op.scatter import scatter_elements, scatter_nd
from tilewright.relax.op.search import argmax, argmin, multinomial_from_uniform, where
from tilewright.relax.op.sizes_from_data import *  # noqa: F403
from tilewright.relax.op.sorting import *  # noqa: F403
from tilewright.relax.op.statistical import *  # noqa: F403
from tilewright.relax.op.unary import *  # noqa: F403
from tilewright.relax.op.view import (
    expand_dims,
    flatten,
    reshape,
    shape_of,
    shape_to_tensor,
    squeeze,
    tensor_to_shape,
)
