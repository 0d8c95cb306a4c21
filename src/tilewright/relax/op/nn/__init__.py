"""Graph operators of neural networks."""

from tilewright.relax.op.nn.activation import *  # noqa: F403
from tilewright.relax.op.nn.attention import attention, attention_var_len
from tilewright.relax.op.nn.convolution import *  # noqa: F403
from tilewright.relax.op.nn.loss import cross_entropy_with_logits, nll_loss
from tilewright.relax.op.nn.normalization import *  # noqa: F403
from tilewright.relax.op.nn.pad import pad
from tilewright.relax.op.nn.pooling import *  # noqa: F403
