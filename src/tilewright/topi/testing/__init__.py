"""The operators in numpy, to compare results with."""

from tilewright.topi.generic import (
    get_broadcast_schedule,
    get_elemwise_schedule,
    get_injective_schedule,
    get_reduce_schedule,
)
from tilewright.topi.testing.convolution import (
    batch_matmul,
    conv1d_ncw_python,
    conv1d_nwc_python,
    conv1d_transpose_ncw_python,
    conv2d_hwcn_python,
    conv2d_nchw_python,
    conv2d_nhwc_python,
    conv2d_transpose_nchw_python,
    conv3d_ncdhw_python,
    conv3d_ndhwc_python,
    conv3d_transpose_ncdhw_python,
    dense,
    depthwise_conv2d_python_nchw,
    depthwise_conv2d_python_nhwc,
    dilate_python,
)
from tilewright.topi.testing.layers import (
    adaptive_pool,
    batch_norm,
    depth_to_space_python,
    group_norm_python,
    instance_norm_python,
    layer_norm_python,
    log_softmax_python,
    lrn_python,
    nll_loss,
    poolnd_python,
    resize2d_python,
    rms_norm_python,
    softmax_python,
    space_to_depth_python,
    upsampling_python,
)
