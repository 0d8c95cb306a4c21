"""The frame of a tensor program."""

from __future__ import annotations

from tilewright.ir.expr import Var
from tilewright.ir.rewrite import walk
from tilewright.script.builder import Builder, FunctionFrame, set_name
from tilewright.script.ir_builder.base import IRBuilder
from tilewright.tir.buffer import Buffer


class PrimFuncFrame(FunctionFrame):
    """``with T.prim_func():``; `func_name`, `arg` and the statements are inside."""

    def closed(self, builder: Builder) -> None:
        self.private = self.private or not self.name
        super().closed(builder)
        assert self.result is not None
        for node in (*self.result.params, *walk(self.result.body)):
            if isinstance(node, (Var, Buffer)):
                set_name(node, "v" if isinstance(node, Var) else "buffer")
        IRBuilder.current().finish(self.name, self.result)


def prim_func(is_private: bool = False) -> PrimFuncFrame:
    """A tensor program, as a context manager.

    Args:
        is_private: leave out the ``global_symbol``, so that it is not exported.
    """
    return PrimFuncFrame("", is_private)
