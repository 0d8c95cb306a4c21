"""A program to be tuned, and how it is found again."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, RecordError
from tilewright.ir.function import BaseFunc
from tilewright.ir.module import IRModule
from tilewright.ir.structural_hash import structural_hash
from tilewright.tir.json_form import from_json, to_json

ENTRY = "main"
"""The name of the function in the module of a task."""


def normalized(mod: IRModule | BaseFunc) -> IRModule:
    """The module of a task: a single function is called ``main``, whatever its name was.

    So that a program has the same hash, and its traces name the same function, wherever it came
    from. Modules of several functions stay as they are.
    """
    if isinstance(mod, BaseFunc):
        mod = IRModule.from_expr(mod)
    if not isinstance(mod, IRModule):
        raise ArgumentError(f"expected an IRModule or a PrimFunc, got {mod!r}")
    if len(mod) != 1:
        return mod
    ((var, func),) = mod.functions.items()
    if var.name_hint == ENTRY and func.global_symbol == ENTRY:
        return mod
    return IRModule({ENTRY: func.with_attr("global_symbol", ENTRY)}, mod.attrs, mod.global_infos)


class Workload:
    """A module that is tuned, with its hash.

    Args:
        mod: the module.
        shash: its hash; by default the structural hash.
    """

    def __init__(self, mod: IRModule | BaseFunc, shash: int | None = None) -> None:
        self._mod: IRModule | None = normalized(mod)
        self._form: Any = None
        self.shash = structural_hash(self._mod) if shash is None else int(shash)

    @property
    def mod(self) -> IRModule:
        """The module; decoded when it is first asked for, if it came from a file."""
        if self._mod is None:
            found = from_json(self._form)
            if not isinstance(found, IRModule):
                raise RecordError(f"workload {self.key}: expected a module, got {found!r}")
            self._mod = found
        return self._mod

    @property
    def key(self) -> str:
        """The hash as 16 hexadecimal digits: how records name the workload."""
        return f"{self.shash:016x}"

    def as_json(self) -> dict[str, Any]:
        """``{"hash": ..., "module": ...}``, which `json.dumps` writes."""
        if self._form is None:
            self._form = to_json(self.mod)
        return {"hash": self.key, "module": self._form}

    @staticmethod
    def from_json(json_obj: Any) -> Workload:
        """The workload that `as_json` wrote. Its module is decoded when it is first used.

        Raises:
            RecordError: if it is malformed.
        """
        try:
            key, form = json_obj["hash"], json_obj["module"]
            shash = int(key, 16)
        except (TypeError, KeyError, ValueError):
            raise RecordError('a workload is {"hash": 16 digits, "module": ...}') from None
        workload = Workload.__new__(Workload)
        workload._mod, workload._form, workload.shash = None, form, shash
        return workload

    def __repr__(self) -> str:
        return f"Workload({self.key})"
