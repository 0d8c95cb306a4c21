"""`Mutator`: changing modules, such as replacing all linear layers by quantised ones."""

from __future__ import annotations

from typing import Any

from tilewright.relax.frontend.nn.containers import ModuleDict, ModuleList
from tilewright.relax.frontend.nn.effect import Effect
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.parameter import Parameter


class Mutator:
    """Visits a module and all below, and puts what its methods return in their places.

    Override the methods for the kinds that are to be changed; by default they visit what is below
    and return what they got::

        class Quantize(nn.Mutator):
            def visit_module(self, name, node):
                if isinstance(node, nn.Linear):
                    return QuantizedLinear(node)
                return self.visit(name, node)

        model = Quantize().visit_module("", model)
    """

    def visit_module(self, name: str, node: Module) -> Any:
        """What takes the place of a module; `name` is its path."""
        return self.visit(name, node)

    def visit_modulelist(self, name: str, node: ModuleList) -> Any:
        """What takes the place of a list of modules."""
        return self.visit(name, node)

    def visit_moduledict(self, name: str, node: ModuleDict) -> Any:
        """What takes the place of a dictionary of modules."""
        return self.visit(name, node)

    def visit_effect(self, name: str, node: Effect) -> Any:
        """What takes the place of an effect."""
        return self.visit(name, node)

    def visit_param(self, name: str, node: Parameter) -> Any:
        """What takes the place of a parameter."""
        return self.visit(name, node)

    def visit(self, name: str, node: Any) -> Any:
        """Visit what is below `node`, and return it."""
        if not isinstance(node, Module):
            return node
        for key, child in list(node._children()):
            path = f"{name}.{key}" if name else key
            visited = self._visit_child(path, child)
            if visited is child:
                continue
            if isinstance(node, ModuleList):
                node[int(key)] = visited
            elif isinstance(node, ModuleDict):
                node[key] = visited
            else:
                setattr(node, key, visited)
        return node

    def _visit_child(self, path: str, child: Any) -> Any:
        if isinstance(child, ModuleList):
            return self.visit_modulelist(path, child)
        if isinstance(child, ModuleDict):
            return self.visit_moduledict(path, child)
        if isinstance(child, Module):
            return self.visit_module(path, child)
        if isinstance(child, Effect):
            return self.visit_effect(path, child)
        return self.visit_param(path, child) if isinstance(child, Parameter) else child
