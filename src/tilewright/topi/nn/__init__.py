"""Operators of neural networks."""

from tilewright.topi.nn.activation import leaky_relu, prelu, relu
from tilewright.topi.nn.adaptive_pooling import (
    adaptive_pool,
    adaptive_pool1d,
    adaptive_pool3d,
    global_pool,
)
from tilewright.topi.nn.batch_norm import batch_norm
from tilewright.topi.nn.conv1d import (
    conv1d,
    conv1d_ncw,
    conv1d_nwc,
    group_conv1d_ncw,
    group_conv1d_nwc,
)
from tilewright.topi.nn.conv2d import (
    conv,
    conv2d,
    conv2d_hwcn,
    conv2d_nchw,
    conv2d_nhwc,
    group_conv2d_nchw,
    group_conv2d_nhwc,
)
from tilewright.topi.nn.conv2d_nchwc import conv2d_NCHWc
from tilewright.topi.nn.conv3d import conv3d_ncdhw, conv3d_ndhwc
from tilewright.topi.nn.conv_transpose import (
    conv1d_transpose_ncw,
    conv2d_transpose_nchw,
    conv3d_transpose_ncdhw,
    group_conv2d_transpose_nchw,
)
from tilewright.topi.nn.dense import batch_matmul, dense, matmul
from tilewright.topi.nn.depthwise_conv2d import depthwise_conv2d_nchw, depthwise_conv2d_nhwc
from tilewright.topi.nn.dilate import dilate
from tilewright.topi.nn.flatten import flatten
from tilewright.topi.nn.loss import nll_loss
from tilewright.topi.nn.lrn import lrn
from tilewright.topi.nn.normalization import group_norm, instance_norm, layer_norm, rms_norm
from tilewright.topi.nn.pad import circular_pad, mirror_pad, pad, replicate_pad
from tilewright.topi.nn.pooling import pool1d, pool2d, pool3d
from tilewright.topi.nn.scale_shift import scale_shift_nchw, scale_shift_nhwc
from tilewright.topi.nn.softmax import fast_softmax, log_softmax, masked_softmax, softmax
from tilewright.topi.nn.space_and_batch import batch_to_space_nd, space_to_batch_nd
from tilewright.topi.nn.space_and_depth import depth_to_space, space_to_depth
from tilewright.topi.nn.upsampling import upsampling, upsampling3d
