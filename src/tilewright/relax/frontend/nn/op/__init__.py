"""Operators on `nn.Tensor`: thin wrappers of the graph operators of `tilewright.relax.op`."""

from tilewright.relax.frontend.nn.op import arithmetic, calls, layout, network
from tilewright.relax.frontend.nn.op.arithmetic import *  # noqa: F403
from tilewright.relax.frontend.nn.op.calls import *  # noqa: F403
from tilewright.relax.frontend.nn.op.layout import *  # noqa: F403
from tilewright.relax.frontend.nn.op.network import *  # noqa: F403

__all__: list[str] = []
__all__ += arithmetic.__all__
__all__ += calls.__all__
__all__ += layout.__all__
__all__ += network.__all__
