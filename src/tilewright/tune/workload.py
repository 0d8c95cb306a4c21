"""A program to be tuned, and how it is found again."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, RecordError
from tilewright.ir.module import BaseFunc, IRModule
from tilewright.ir.structural import structural_hash
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
        shash: the hash by which records name it; by default the structural hash.
    """

    def __init__(self, mod: IRModule | BaseFunc, shash: int | None = None) -> None:
        self.mod = normalized(mod)
        self.shash = structural_hash(self.mod) if shash is None else int(shash)

    @property
    def key(self) -> str:
        """The hash as 16 hexadecimal digits: how records name the workload."""
        return f"{self.shash:016x}"

    def as_json(self) -> dict[str, Any]:
        """``{"hash": ..., "module": ...}``, which `json.dumps` writes."""
        return {"hash": self.key, "module": to_json(self.mod)}

    @staticmethod
    def from_json(json_obj: Any) -> Workload:
        """The workload that `as_json` wrote.

        Raises:
            RecordError: if it is malformed.
        """
        try:
            shash, mod = int(json_obj["hash"], 16), from_json(json_obj["module"])
            if not isinstance(mod, IRModule):
                raise RecordError(f"a workload is a module, got {mod!r}")
            return Workload(mod, shash)
        except RecordError:
            raise
        except (TypeError, LookupError, ValueError, AttributeError, OverflowError) as error:
            raise RecordError(f"malformed workload: {error}") from None

    def __repr__(self) -> str:
        return f"Workload({self.key})"
