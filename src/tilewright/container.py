"""`tilewright.ir.container`, where older programs look for it."""

from tilewright.ir.container import Array, Map

__all__ = ["Array", "Map"]
