"""Modules that hold others: `ModuleList`, `Sequential` and `ModuleDict`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.relax.frontend.nn.module import Module


def _require_module(value: Any) -> Any:
    if not isinstance(value, Module):
        raise ArgumentError(f"expected an nn.Module, got {value!r}")
    return value


class ModuleList(Module):
    """Modules by number; as a layer, one after the other."""

    def __init__(self, modules: Sequence[Module] = ()) -> None:
        self.modules = [_require_module(module) for module in modules]

    def _children(self) -> Iterable[tuple[str, Any]]:
        """The modules with their numbers."""
        return ((str(index), module) for index, module in enumerate(self.modules))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.modules)

    def __getitem__(self, index: int) -> Any:
        return self.modules[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self.modules[index] = _require_module(module)

    def __len__(self) -> int:
        return len(self.modules)

    def append(self, module: Module) -> None:
        """Add a module at the end."""
        self.modules.append(_require_module(module))

    def forward(self, x: Any) -> Any:
        """Apply all modules, each to the result of the one before."""
        for module in self.modules:
            x = module(x)
        return x


class Sequential(ModuleList):
    """Modules that are applied one after the other: ``nn.Sequential(nn.Linear(4, 8), nn.ReLU())``.

    Args:
        *modules: the modules, or one sequence of them.
    """

    def __init__(self, *modules: Any) -> None:
        if len(modules) == 1 and not isinstance(modules[0], Module):
            modules = tuple(modules[0])
        super().__init__(modules)


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        self.modules: dict[str, Any] = {}
        self.update(modules or {})

    def _children(self) -> Iterable[tuple[str, Any]]:
        """The modules with their names."""
        return self.modules.items()

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __getitem__(self, key: str) -> Any:
        return self.modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.modules[key] = _require_module(module)

    def __len__(self) -> int:
        return len(self.modules)

    def __contains__(self, key: object) -> bool:
        return key in self.modules

    def keys(self) -> Any:
        """The names."""
        return self.modules.keys()

    def values(self) -> Any:
        """The modules."""
        return self.modules.values()

    def items(self) -> Any:
        """The names and the modules."""
        return self.modules.items()

    def get(self, key: str, default: Any = None) -> Any:
        """The module of that name, or `default`."""
        return self.modules.get(key, default)

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add modules, or replace those of the same names."""
        for key, module in modules.items():
            self[key] = module

    def clear(self) -> None:
        """Remove all modules."""
        self.modules.clear()

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        return self.modules.pop(key)
