"""Graph operators of neural networks."""

from tilewright.relax.op.nn.activation import (
    dropout,
    gelu,
    gelu_tanh,
    leakyrelu,
    log_softmax,
    prelu,
    relu,
    silu,
    softmax,
)
from tilewright.relax.op.nn.attention import attention, attention_var_len
from tilewright.relax.op.nn.convolution import (
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
)
from tilewright.relax.op.nn.loss import cross_entropy_with_logits, nll_loss
from tilewright.relax.op.nn.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    rms_norm,
)
from tilewright.relax.op.nn.pad import pad
from tilewright.relax.op.nn.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
