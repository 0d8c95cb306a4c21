"""Passes over programs for processors."""

from __future__ import annotations

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.target import Target
from tilewright.target.kinds import KERNEL_KINDS


class ProcessorPass(ModulePass):
    """A pass that depends on the processor. Programs for devices stay as they are.

    Args:
        target: what the program is compiled for; by default the target of the enclosing ``with
            Target(...)``, and without one this machine.
    """

    def __init__(self, target: str | Target | None = None) -> None:
        self.target = target

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        target = Target.given_or_current(self.target)
        return mod if target.kind.name in KERNEL_KINDS else self.transform_for(mod, target)

    def transform_for(self, mod: IRModule, target: Target) -> IRModule:
        """The module for a processor."""
        raise NotImplementedError
