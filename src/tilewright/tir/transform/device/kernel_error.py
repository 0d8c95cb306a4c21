"""What no kernel can run, with the loops at fault."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.error import LoweringError
from tilewright.ir.expr import Var


class KernelError(LoweringError):
    """A program whose loops are bound to blocks and threads that cannot run them.

    Args:
        message: what is wrong.
        loops: the variables of the loops at fault, as far as they are known.
        example: two threads, or numbers, for which it goes wrong.
        hint: what to do instead.

    Attributes:
        message: as above, as are the others.
    """

    def __init__(
        self, message: str, *, loops: Sequence[Var] = (), example: str = "", hint: str = ""
    ) -> None:
        shown = f"{message} ({example})" if example else message
        super().__init__(f"{shown}; {hint}" if hint else shown)
        self.message, self.hint = message, hint
        self.loops, self.example = tuple(loops), example
