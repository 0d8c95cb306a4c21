"""When a record of one module may be used for another."""

from __future__ import annotations

from typing import Final

from tilewright.error import ArgumentValueError
from tilewright.ir.module import IRModule
from tilewright.ir.structural import structural_equal
from tilewright.ir.structural_hash import structural_hash


class ModuleEquality:
    """A relation between modules, with a hash that goes with it."""

    name: str = ""

    def hash(self, mod: IRModule) -> int:
        """A number of 64 bits that equal modules share, in every process."""
        raise NotImplementedError(f"{type(self).__name__} does not define hash")

    def equal(self, lhs: IRModule, rhs: IRModule) -> bool:
        """Whether records of one module may be used for the other."""
        raise NotImplementedError(f"{type(self).__name__} does not define equal")

    @staticmethod
    def create(name: str | ModuleEquality) -> ModuleEquality:
        """The relation of that name, such as ``"structural"``."""
        if isinstance(name, ModuleEquality):
            return name
        if name not in _KINDS:
            raise ArgumentValueError(f"module_equality is one of {[*_KINDS]}, got {name!r}")
        return _KINDS[name]()


class StructuralEquality(ModuleEquality):
    """The modules differ in names at most."""

    name = "structural"

    def hash(self, mod: IRModule) -> int:
        """The structural hash."""
        return structural_hash(mod)

    def equal(self, lhs: IRModule, rhs: IRModule) -> bool:
        """Structural equality."""
        return structural_equal(lhs, rhs)


_KINDS: Final[dict[str, type[ModuleEquality]]] = {StructuralEquality.name: StructuralEquality}
