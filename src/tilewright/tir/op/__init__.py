"""Functions that build expressions: arithmetic, mathematics, and other intrinsics."""

from tilewright.ir.arithmetic import (
    absolute as abs,
)
from tilewright.ir.arithmetic import (
    add,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    divide,
    floordiv,
    floormod,
    logical_and,
    logical_not,
    logical_or,
    multiply,
    select,
    shift_left,
    shift_right,
    subtract,
    truncdiv,
    truncmod,
)
from tilewright.ir.arithmetic import (
    maximum as max,
)
from tilewright.ir.arithmetic import (
    minimum as min,
)
from tilewright.tir.op.calls import *  # noqa: F403
from tilewright.tir.op.control import *  # noqa: F403
from tilewright.tir.op.dtypes import *  # noqa: F403
from tilewright.tir.op.gpu import *  # noqa: F403
from tilewright.tir.op.math import *  # noqa: F403
from tilewright.tir.op.memory import *  # noqa: F403
from tilewright.tir.op.objects import *  # noqa: F403
from tilewright.tir.op.vector import *  # noqa: F403
