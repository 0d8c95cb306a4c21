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
from tilewright.tir.op.math import *  # noqa: F403
