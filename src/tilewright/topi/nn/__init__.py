"""Operators of neural networks."""

from tilewright.topi.nn.activation import (
    fast_softmax,
    leaky_relu,
    log_softmax,
    nll_loss,
    prelu,
    relu,
    scale_shift_nchw,
    scale_shift_nhwc,
    softmax,
)
from tilewright.topi.nn.adaptive_pooling import (
    adaptive_pool,
    adaptive_pool1d,
    adaptive_pool3d,
    global_pool,
    places_of_adaptive_maxima,
)
from tilewright.topi.nn.channel_normalization import batch_norm, lrn
from tilewright.topi.nn.conv_nd import (
    conv,
    conv1d,
    conv1d_ncw,
    conv1d_nwc,
    conv2d,
    conv2d_hwcn,
    conv2d_nchw,
    conv2d_NCHWc,
    conv2d_nhwc,
    conv3d_ncdhw,
    conv3d_ndhwc,
    depthwise_conv2d_nchw,
    depthwise_conv2d_nhwc,
    group_conv1d_ncw,
    group_conv1d_nwc,
    group_conv2d_nchw,
    group_conv2d_nhwc,
)
from tilewright.topi.nn.conv_transpose import (
    conv1d_transpose_ncw,
    conv2d_transpose_nchw,
    conv3d_transpose_ncdhw,
    group_conv2d_transpose_nchw,
)
from tilewright.topi.nn.dense import batch_matmul, dense, flatten, matmul
from tilewright.topi.nn.normalization import group_norm, instance_norm, layer_norm, rms_norm
from tilewright.topi.nn.pad import circular_pad, dilate, mirror_pad, pad, replicate_pad
from tilewright.topi.nn.pooling import places_of_maxima, pool1d, pool2d, pool3d
from tilewright.topi.nn.quantized_weights import quantized_weight_matmul
from tilewright.topi.nn.spatial import (
    batch_to_space_nd,
    depth_to_space,
    space_to_batch_nd,
    space_to_depth,
    upsampling,
    upsampling3d,
)
from tilewright.topi.nn.winograd import winograd_conv2d_nhwc
