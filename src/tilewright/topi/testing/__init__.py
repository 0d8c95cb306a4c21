"""The operators in numpy, to compare results with."""

from tilewright.topi.testing.convolution import (
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
    depthwise_conv2d_python_nchw,
    depthwise_conv2d_python_nhwc,
    dilate_python,
)
from tilewright.topi.testing.dense import batch_matmul, dense
from tilewright.topi.testing.image import (
    depth_to_space_python,
    resize2d_python,
    space_to_depth_python,
    upsampling_python,
)
from tilewright.topi.testing.loss import nll_loss
from tilewright.topi.testing.normalization import (
    batch_norm,
    group_norm_python,
    instance_norm_python,
    layer_norm_python,
    log_softmax_python,
    lrn_python,
    rms_norm_python,
    softmax_python,
)
from tilewright.topi.testing.pooling import adaptive_pool, poolnd_python
from tilewright.topi.testing.schedules import (
    get_broadcast_schedule,
    get_elemwise_schedule,
    get_injective_schedule,
    get_reduce_schedule,
)
