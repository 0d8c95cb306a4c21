"""Entry points of parsing: the decorators, modules, and text."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from tilewright.error import ArgumentError, ScriptError
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.node import Span
from tilewright.ir.recursion import deep_recursion, pass_on_recursion_error
from tilewright.script.builder.stack import ModuleUnderConstruction
from tilewright.script.parser.calls import FunctionDefinition, ModuleReference
from tilewright.script.parser.closed_world import BUILTINS, Allowance, attribute, script_package
from tilewright.script.parser.decorators import FunctionDecorator, PrimFuncDecorator
from tilewright.script.parser.evaluator import Evaluator
from tilewright.script.parser.macro import MacroDecorator, define_macro
from tilewright.script.parser.scope import Scope, class_definition
from tilewright.script.parser.source import Source, describe, source_of_text, without_internals


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


prim_func = PrimFuncDecorator()
macro = MacroDecorator()


class ModuleDecorator:
    """`I.ir_module`, with or without options."""

    def __init__(self, check_well_formed: bool = True) -> None:
        self.check_well_formed = check_well_formed

    def __call__(self, mod: Any = None, check_well_formed: bool | None = None) -> Any:
        """Parse a class to an `IRModule`.

        Args:
            mod: the class.
            check_well_formed: verify the functions.
        """
        check = self.check_well_formed if check_well_formed is None else check_well_formed
        if mod is None:
            return ModuleDecorator(check)
        if isinstance(mod, IRModule):
            return mod
        if not isinstance(mod, type):
            raise ArgumentError(f"I.ir_module decorates a class, got {mod!r}")
        try:
            source, node, names = class_definition(mod, 1)
            return parse_module(source, node, names, check_well_formed=check)
        except ScriptError as error:
            raise without_internals(error) from error.__cause__

    def __repr__(self) -> str:
        return "I.ir_module"


ir_module = ModuleDecorator()


def from_source(
    src: str,
    extra_vars: dict[str, Any] | None = None,
    check_well_formed: bool = True,
    *,
    trusted: bool = False,
) -> BaseFunc | IRModule:
    """Parse the text of a module or a function, as `script()` prints it.

    The text may come from anywhere: it can use the script namespaces, a few builtins that compute
    with numbers and lists, and `extra_vars`. It cannot import, reach a module or look into objects.

    Args:
        src: text with one decorated class or function, perhaps after imports of the script
            namespaces and constants.
        extra_vars: further names that the text may use; `I`, `T` and `R` are always known. It may
            call those values, but not use their attributes.
        check_well_formed: verify the result.
        trusted: the text is as good as the program that reads it: it may use all builtins, all of
            tilewright, and any attribute, so it can run any code.

    Raises:
        ScriptError: for any mistake in the text.
    """
    if not isinstance(src, str):
        raise ArgumentError(f"from_source expects text, got {src!r}")
    try:
        return parse_text(src, dict(extra_vars or {}), check_well_formed, trusted)
    except ScriptError as error:
        raise without_internals(error) from error.__cause__


parse = from_source

_GRAPH_NAME = re.compile(r"\b(R|relax)\b")
"""What makes a text one that is perhaps about graphs, which are loaded only then."""

_PACKAGES = ("tilewright", "tvm")
"""Packages whose import in a text means this one."""


@deep_recursion
def parse_text(
    text: str, extra_vars: dict[str, Any], check_well_formed: bool, trusted: bool
) -> BaseFunc | IRModule:
    """The function or module of a text; see `from_source`."""
    source = source_of_text(text, None if trusted else Allowance(len(text)))
    try:
        return _TextParser(source, extra_vars, check_well_formed).result()
    except ScriptError:
        raise
    except Exception as error:
        pass_on_recursion_error(error)
        place = Span(source.filename, 1, 0, 1, 1)
        raise source.error_at(place, describe(error)) from error


class _TextParser:
    def __init__(self, source: Source, extra_vars: dict[str, Any], check: bool) -> None:
        import tilewright
        from tilewright.script import ir, tir

        self.source, self.check = source, check
        is_trusted = source.allowance is None
        mentions_graphs = _GRAPH_NAME.search("\n".join(source.lines)) is not None
        namespaces: dict[str, Any] = {"ir": ir, "tir": tir}
        if mentions_graphs:
            namespaces["relax"] = tilewright.script.relax
        self.package: Any = tilewright if is_trusted else script_package(namespaces)
        known = {name[0].upper(): namespace for name, namespace in namespaces.items()} | namespaces
        known |= dict.fromkeys(_PACKAGES, self.package)
        self.scope = Scope((extra_vars, known) if is_trusted else (extra_vars, known, BUILTINS))
        self.evaluate = Evaluator(source, self.scope)

    def result(self) -> BaseFunc | IRModule:
        """The one definition of the text."""
        found: BaseFunc | IRModule | None = None
        for node in self.source.tree.body:
            value = self._statement(node)
            if value is not None:
                if found is not None:
                    raise self.source.error(
                        node, "expected one function or class, got a second one"
                    )
                found = value
        if found is None:
            place = Span(self.source.filename, 1, 0, 1, 1)
            raise self.source.error_at(
                place, "expected a class with @I.ir_module or a function with @T.prim_func"
            )
        return found

    def _statement(self, node: ast.stmt) -> BaseFunc | IRModule | None:
        if isinstance(node, ast.ClassDef):
            return self._module(node)
        if isinstance(node, ast.FunctionDef):
            return self._function(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node)
            return None
        if isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets):
            value = self.evaluate(node.value)
            for target in node.targets:
                assert isinstance(target, ast.Name)
                self.scope.define(target.id, value)
            return None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return None
        raise self.source.error(node, "expected a class with @I.ir_module or a function")

    def _module(self, node: ast.ClassDef) -> IRModule:
        decorators = [self.evaluate(item) for item in node.decorator_list]
        if len(decorators) != 1 or not isinstance(decorators[0], ModuleDecorator):
            place = node.decorator_list[0] if node.decorator_list else node
            raise self.source.error(place, "a class is a module: decorate it with @I.ir_module")
        check = self.check and decorators[0].check_well_formed
        names = self.scope.snapshot()
        return parse_module(self.source, node, names, check_well_formed=check)

    def _function(self, node: ast.FunctionDef) -> BaseFunc | None:
        decorators = [self.evaluate(item) for item in node.decorator_list]
        if len(decorators) == 1 and isinstance(decorators[0], MacroDecorator):
            self.scope.define(node.name, define_macro(self.evaluate, node))
            return None
        if len(decorators) != 1 or not isinstance(decorators[0], FunctionDecorator):
            place = node.decorator_list[0] if node.decorator_list else node
            raise self.source.error(place, "expected a function with @T.prim_func or @R.function")
        return decorators[0].parse(self.source, node, self.scope.snapshot(), self.check)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Imports of this package; others must come in through `extra_vars`."""
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module == "__future__":
                return
            if module.split(".")[0] in _PACKAGES:
                inner = module.split(".")[1:]
                for alias in node.names:
                    self.scope.define(
                        alias.asname or alias.name, self._find([*inner, alias.name], node)
                    )
                return
        elif all(alias.name.split(".")[0] in _PACKAGES for alias in node.names):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                found = self._find(alias.name.split(".")[1:], node)
                self.scope.define(name, found if alias.asname else self.package)
            return
        raise self.source.error(
            node, "only tilewright is imported by a text: pass other values as extra_vars"
        )

    def _find(self, parts: list[str], node: ast.stmt) -> Any:
        read = getattr if self.source.allowance is None else attribute
        value = self.package
        for part in parts:
            try:
                if part == "*" or part.startswith("_"):
                    raise AttributeError
                value = read(value, part)
            except AttributeError:
                message = f"tilewright has no `{'.'.join(parts)}`"
                raise self.source.error(node, message) from None
            except ArgumentError as error:
                raise self.source.error(node, str(error)) from None
        return value
