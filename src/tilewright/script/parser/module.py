"""Parses a class into an `IRModule`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.recursion import deep_recursion
from tilewright.script.builder.module import ModuleUnderConstruction
from tilewright.script.parser.calls import FunctionDefinition, ModuleReference
from tilewright.script.parser.decorators import FunctionDecorator
from tilewright.script.parser.evaluator import Evaluator
from tilewright.script.parser.macro import MacroDecorator
from tilewright.script.parser.scope import Scope
from tilewright.script.parser.source import Source


@deep_recursion
def parse_module(
    source: Source,
    node: ast.ClassDef,
    names: tuple[Mapping[str, Any], ...],
    *,
    check_well_formed: bool = True,
) -> IRModule:
    """The module that a class definition stands for; arguments are those of `parse_prim_func`."""
    reference = ModuleReference(node.name)
    local: dict[str, Any] = {}
    scope = Scope(({"cls": reference, node.name: reference}, *names))
    scope.push(local)
    evaluate = Evaluator(source, scope)
    definitions: list[tuple[FunctionDecorator, ast.FunctionDef]] = []
    with ModuleUnderConstruction() as module:
        for statement in node.body:
            decorator = _member(evaluate, statement, reference, local)
            if decorator is not None:
                assert isinstance(statement, ast.FunctionDef)
                definitions.append((decorator, statement))
        module.is_open = False
        inside = scope.snapshot()
        for decorator, definition in definitions:
            parse = partial(decorator.parse, source, definition, inside, check_well_formed)
            name = reference.functions[definition.name]
            reference.definitions[name] = FunctionDefinition(decorator, definition, parse)
        for name in reference.definitions:
            reference.parse(name)
        names_in_order = [*reference.definitions, *reference.parsed]
        functions = {name: reference.parsed[name] for name in names_in_order}
        result = IRModule(functions, module.attrs, module.global_infos)
        if check_well_formed:
            _check(source, result, [decorator for decorator, _ in definitions])
    return result


def _check(source: Source, module: IRModule, decorators: Sequence[FunctionDecorator]) -> None:
    """Check the module once for each kind of function in it, unless one of them is exempt."""
    for kind in dict.fromkeys(map(type, decorators)):
        same_kind = [decorator for decorator in decorators if type(decorator) is kind]
        if all(decorator.check_well_formed for decorator in same_kind):
            same_kind[0].check_module(source, module)


def _member(
    evaluate: Evaluator, node: ast.stmt, module: ModuleReference, local: dict[str, Any]
) -> FunctionDecorator | None:
    """Read one statement of the class body; the decorator, if it is a function to parse."""
    source = evaluate.source
    if isinstance(node, ast.FunctionDef):
        return _declare(evaluate, node, module, local)
    if isinstance(node, ast.Pass):
        return None
    if isinstance(node, ast.Expr):
        evaluate(node.value)
        return None
    if isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets):
        value = evaluate(node.value)
        for target in node.targets:
            assert isinstance(target, ast.Name)
            local[target.id] = module.others[target.id] = value
        return None
    raise source.error(
        node, "the body of a module has functions with @T.prim_func, I.module_attrs and constants"
    )


def _declare(
    evaluate: Evaluator, node: ast.FunctionDef, module: ModuleReference, local: dict[str, Any]
) -> FunctionDecorator | None:
    if len(node.decorator_list) != 1:
        place = node.decorator_list[1] if node.decorator_list else node
        raise evaluate.source.error(
            place, f"the function `{node.name}` needs one decorator, such as @T.prim_func"
        )
    decorator = evaluate(node.decorator_list[0])
    if isinstance(decorator, MacroDecorator):
        macro = decorator.make(evaluate.source, node, evaluate.scope.snapshot())
        local[node.name] = module.others[node.name] = macro
        return None
    if not isinstance(decorator, FunctionDecorator):
        raise evaluate.source.error(
            node.decorator_list[0], "expected @T.prim_func, or another decorator of functions"
        )
    if node.name in module.functions:
        raise evaluate.source.error(node, f"the module has a function `{node.name}` already")
    variable = module.functions[node.name] = GlobalVar(node.name)
    outside = evaluate.scope.find(node.name)
    if not isinstance(outside, (ModuleType, ModuleReference)):  # `R` keeps its meaning, and `cls`
        local[node.name] = variable
    decorator.declare(evaluate, node, variable, module)
    return decorator
