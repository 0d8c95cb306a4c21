"""`VirtualAxis`: an axis while the knobs of a template are collected."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.expr import IntImm
from tilewright.tir.expr import IterVar


class VirtualAxis:
    """Stands for a loop that a knob is about.

    Two are equal if they are the same object, so that candidates of a reordering can name them.

    Args:
        var: the number of iterations, a loop of a te schedule, or another one of these.
        name: what messages call it.

    Attributes:
        length: its number of iterations; None if it is a loop that another knob makes.
    """

    def __init__(self, var: Any, name: str = "axis") -> None:
        self.name = name
        self.length: int | None
        if isinstance(var, VirtualAxis):
            self.name, self.length = var.name, var.length
        elif isinstance(var, int) and not isinstance(var, bool):
            self.length = var
        elif isinstance(var, IntImm):
            self.length = var.value
        elif isinstance(var, IterVar):
            self.name = var.var.name
            self.length = _extent(var)
        else:
            raise ArgumentError(
                "cfg.axis: expected a number of iterations or a loop such as s[C].op.axis[0], got "
                f"{var!r}"
            )
        if self.length is not None and self.length < 1:
            raise ArgumentValueError(
                f"cfg.axis: {self.name} has {self.length} iterations, so there is nothing to choose"
            )

    @staticmethod
    def made_by(knob: str, position: int) -> VirtualAxis:
        """One of the loops that a knob makes; how long it is depends on the config."""
        axis = VirtualAxis.__new__(VirtualAxis)
        axis.name, axis.length = f"{knob}[{position}]", None
        return axis

    def known_length(self, knob: str) -> int:
        """The number of iterations, for a knob that needs it.

        Raises:
            ArgumentValueError: for a loop that is made by another knob.
        """
        if self.length is None:
            raise ArgumentValueError(
                f"the length of {self.name} depends on another knob, so {knob!r} cannot divide it: "
                "split the original axis into more parts by `num_outputs`"
            )
        return self.length

    def __repr__(self) -> str:
        return f"vaxis({self.name})"


def _extent(var: IterVar) -> int | None:
    """The extent of a loop; None for one that was split off, which has no domain yet."""
    if var.dom is None:
        return None
    if not isinstance(var.dom.extent, IntImm):
        raise ArgumentValueError(
            f"cfg.axis: the extent {var.dom.extent} of {var.var.name} is not a constant; templates "
            "are for constant shapes"
        )
    return var.dom.extent.value
