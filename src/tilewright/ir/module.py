"""A module: named functions that may call each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError, UnknownNameError, did_you_mean
from tilewright.ir.attributes import Attributes, attributes
from tilewright.ir.function import BaseFunc, GlobalVar
from tilewright.ir.scriptable import Scriptable
from tilewright.providers import provider


class IRModule(Scriptable):
    """A dictionary of functions by name, with attributes.

    The functions are immutable; the dictionary is not: `mod[name] = func` and `update_func`
    change it in place.
    """

    __slots__ = ("attrs", "functions", "global_infos")

    functions: dict[GlobalVar, BaseFunc]
    attrs: Attributes
    global_infos: Mapping[str, tuple[Any, ...]]

    def __init__(
        self,
        functions: Mapping[Any, BaseFunc] | None = None,
        attrs: Mapping[str, Any] | None = None,
        global_infos: Mapping[str, tuple[Any, ...]] | None = None,
    ) -> None:
        self.functions = {}
        self.attrs = attributes(attrs)
        self.global_infos = dict(global_infos or {})
        for name, function in (functions or {}).items():
            self.update_func(_as_global_var(name), function)

    @staticmethod
    def from_expr(
        expr: BaseFunc,
        functions: Mapping[Any, BaseFunc] | None = None,
        type_defs: object = None,
    ) -> IRModule:
        """A module with the function `expr`, named by its `global_symbol` (``main`` without)."""
        del type_defs
        if not isinstance(expr, BaseFunc):
            raise ArgumentError(f"IRModule.from_expr: expected a function, got {expr!r}")
        module = IRModule(functions)
        module.update_func(GlobalVar(expr.global_symbol or "main"), expr)
        return module

    def __getitem__(self, name: str | GlobalVar) -> Any:
        """The function of that name."""
        function = self.functions.get(_as_global_var(name))
        return self.functions[self._find(name)] if function is None else function

    def __setitem__(self, name: str | GlobalVar, function: BaseFunc) -> None:
        self.update_func(_as_global_var(name), function)

    def __delitem__(self, name: str | GlobalVar) -> None:
        del self.functions[self._find(name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, (str, GlobalVar)) and _as_global_var(name) in self.functions

    def __len__(self) -> int:
        return len(self.functions)

    def __iter__(self) -> Any:
        return iter(self.functions)

    def get_global_var(self, name: str) -> GlobalVar:
        """The name object of the function `name`, which must exist."""
        return self._described(self._find(name))

    def get_global_vars(self) -> list[GlobalVar]:
        """The name objects of all functions."""
        return [self._described(var) for var in self.functions]

    def functions_items(self) -> list[tuple[GlobalVar, BaseFunc]]:
        """All functions with their name objects, in the order of the alphabet."""
        items = ((self._described(var), function) for var, function in self.functions.items())
        return sorted(items, key=lambda item: item[0].name_hint)

    def update_func(self, var: GlobalVar, func: BaseFunc) -> None:
        """Set the function named by `var`, in place."""
        if not isinstance(func, BaseFunc):
            raise ArgumentError(f"expected a function for {var.name_hint!r}, got {func!r}")
        self.functions[_as_global_var(var)] = func

    def update(self, other: IRModule | Mapping[Any, BaseFunc]) -> None:
        """Add the functions of `other`, replacing those of the same name."""
        items = other.functions if isinstance(other, IRModule) else other
        for name, function in items.items():
            self.update_func(_as_global_var(name), function)

    def update_global_info(self, name: str, global_info: Sequence[Any]) -> None:
        """Set what the module says about its surroundings, such as its devices, in place.

        Args:
            name: what it is about, such as ``"vdevice"``.
            global_info: the new items, which replace those of that name.
        """
        self.global_infos = {**self.global_infos, name: tuple(global_info)}

    def clone(self) -> IRModule:
        """A copy whose dictionary is its own; the functions are shared."""
        return IRModule(self.functions, self.attrs, self.global_infos)

    def with_attr(self, key: str, value: Any) -> IRModule:
        """A copy with one attribute set."""
        return IRModule(self.functions, {**self.attrs, key: value}, self.global_infos)

    def with_attrs(self, values: Mapping[str, Any]) -> IRModule:
        """A copy with the given attributes set."""
        return IRModule(self.functions, {**self.attrs, **values}, self.global_infos)

    def without_attr(self, key: str) -> IRModule:
        """A copy without the attribute `key`."""
        kept = {k: v for k, v in self.attrs.items() if k != key}
        return IRModule(self.functions, kept, self.global_infos)

    def get_attr(self, key: str) -> Any:
        """The attribute `key`, or None."""
        return self.attrs.get(key)

    def graph(self, func: str | GlobalVar = "main") -> Any:
        """A picture of a graph function: boxes are operations, arrows the arrays between them.

        Notebooks show it; `save(path)` writes it as SVG.
        """
        return provider("graph pictures").draw(self[func])

    def __repr__(self) -> str:
        return self.script()

    def _described(self, var: GlobalVar) -> GlobalVar:
        """`var` with what is known of its function."""
        return GlobalVar(var.name_hint, getattr(self.functions[var], "struct_info", None))

    def _find(self, name: str | GlobalVar) -> GlobalVar:
        key = _as_global_var(name)
        for var in self.functions:
            if var.name_hint == key.name_hint:
                return var
        names = [var.name_hint for var in self.functions]
        hint = did_you_mean(key.name_hint, names, f"; it has {names}")
        raise UnknownNameError(f"the module has no function {key.name_hint!r}{hint}")


def _as_global_var(name: object) -> GlobalVar:
    if isinstance(name, GlobalVar):
        return name
    if isinstance(name, str):
        return GlobalVar(name)
    raise ArgumentError(f"functions are named by strings or GlobalVars, got {name!r}")
