"""Functions of any kind, and modules: functions by name, with attributes and global infos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError, ArgumentValueError, UnknownNameError, did_you_mean
from tilewright.ir.convert import Attributes, attributes
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.ir.node import Node, attr, derived, meta, node
from tilewright.ir.text import Scriptable
from tilewright.providers import provider


@node
class GlobalVar(Expr):
    """The name of a function of a module; two with the same name refer to the same function.

    Attributes:
        name_hint: the name.
        struct_info: what graphs know of the function, if a module or a builder of modules has
            given out the name: as it was at that time.
    """

    name_hint: str = attr()
    struct_info: Any = meta(default=None)
    dtype: DType = derived("DType('handle')")

    def __eq__(self, other: object) -> Any:
        return isinstance(other, GlobalVar) and other.name_hint == self.name_hint

    def __ne__(self, other: object) -> Any:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash(self.name_hint)


class BaseFunc(Node):
    """Base class of functions: nodes with an `attrs` dictionary."""

    __slots__ = ()
    attrs: Attributes

    def with_attr(self, key: str | Attributes, value: Any = None) -> Any:
        """A copy with one attribute set, or several given as a dictionary."""
        changes = attributes(key if not isinstance(key, str) else {key: value})
        return self.replace(attrs={**self.attrs, **changes})

    def with_attrs(self, values: Attributes) -> Any:
        """A copy with the given attributes set."""
        return self.with_attr(values)

    def without_attr(self, key: str) -> Any:
        """A copy without the attribute `key` (which need not be there)."""
        return self.replace(attrs={k: v for k, v in self.attrs.items() if k != key})

    @property
    def global_symbol(self) -> str | None:
        """The name under which the function is exported, if it is."""
        symbol = self.attrs.get("global_symbol")
        return None if symbol is None else str(symbol)


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
        """Set what the module says about its environment, such as its devices, in place.

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


_set = object.__setattr__


class GlobalInfo(Node):
    """Base class of global infos."""

    __slots__ = ()


@node
class DummyGlobalInfo(GlobalInfo):
    """A global info that says nothing."""


@node
class VDevice(GlobalInfo):
    """A device that the functions of a module name, before it is known which real one it is.

    Attributes:
        target: what its code is generated for, or None; a string or dictionary becomes a `Target`.
        vdevice_id: tells several devices of one kind apart.
        memory_scope: where arrays are on the device.
    """

    target: Any = attr(default=None)
    vdevice_id: int = attr(default=0)
    memory_scope: str = attr(default="global")

    def __init__(
        self, target: Any = None, vdevice_id: int = 0, memory_scope: str = "global"
    ) -> None:
        if isinstance(target, (str, Mapping)):
            target = provider("targets").Target(target)
        if target is not None and not hasattr(target, "kind"):
            raise ArgumentError(f"VDevice: expected a target, got {target!r}")
        if not isinstance(vdevice_id, int) or isinstance(vdevice_id, bool):
            raise ArgumentError(f"VDevice: the number is an integer, got {vdevice_id!r}")
        if vdevice_id < 0:
            raise ArgumentValueError(f"VDevice: the number is at least 0, got {vdevice_id}")
        if not isinstance(memory_scope, str):
            raise ArgumentError(f"VDevice: the memory scope is a string, got {memory_scope!r}")
        _set(self, "target", target)
        _set(self, "vdevice_id", vdevice_id)
        _set(self, "memory_scope", memory_scope)
