"""`R.function` and `R.macro`, which parse definitions into graph functions."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Final

from tilewright.error import VerifyError
from tilewright.ir.module import BaseFunc, IRModule
from tilewright.ir.node import Span
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import DataflowVar, Function, SeqExpr, Var, VarBinding
from tilewright.relax.normalize import value_struct_info
from tilewright.relax.script.annotations import Tensor
from tilewright.relax.script.context import GraphBuilder, GraphFunction
from tilewright.relax.script.metadata import OmittedMetadata
from tilewright.relax.script.parser import bindings as _bindings
from tilewright.relax.script.parser import control as _control
from tilewright.relax.script.parser.evaluator import GraphParser, parses_graph
from tilewright.relax.script.parser.signatures import read_signature, signature_of
from tilewright.relax.struct_info import StructInfo
from tilewright.relax.struct_info_relation import BaseCheckResult, struct_info_base_check
from tilewright.script.parser.calls import ModuleReference
from tilewright.script.parser.decorators import FunctionDecorator
from tilewright.script.parser.macro import Macro, MacroDecorator, define_macro
from tilewright.script.parser.scope import Scope
from tilewright.script.parser.source import Source


class GraphMacro(Macro):
    """A macro; its statements become part of the function that calls it."""

    def run(self, parser: Any, bound: dict[str, Any]) -> Any:
        """Parse the statements; the value of the call."""
        *statements, last = self.node.body
        if not isinstance(last, ast.Return):
            statements = self.node.body
        parser.scope.push(bound)
        for statement in statements:
            if isinstance(statement, ast.Return):
                raise parser.error(statement, "`return` is the last statement of a macro")
            parser.statement(statement)
        value = None
        if isinstance(last, ast.Return) and last.value is not None:
            value = parser.evaluate(last.value)
        parser.scope.pop(last.end_lineno or last.lineno)
        return value


class GraphMacroDecorator(MacroDecorator):
    """`R.macro`, with or without options."""

    written = "R.macro"

    def make(
        self, source: Source, node: ast.FunctionDef, names: tuple[Mapping[str, Any], ...]
    ) -> Macro:
        return GraphMacro(source, node, names, self.hygienic)


class GraphFunctionDecorator(FunctionDecorator):
    """`R.function`, with or without options."""

    def __init__(
        self, pure: bool = True, private: bool = False, check_well_formed: bool = True
    ) -> None:
        self.pure, self.private, self.check_well_formed = pure, private, check_well_formed

    def __call__(
        self,
        f: Any = None,
        pure: bool | None = None,
        private: bool | None = None,
        check_well_formed: bool | None = None,
    ) -> Any:
        """Parse a function to a graph function.

        Args:
            f: the function.
            pure: whether it has no effect but its result.
            private: leave out the `global_symbol`, so that it is not exported.
            check_well_formed: verify the result, and with it all of the module that it is in.
        """
        chosen = GraphFunctionDecorator(
            self.pure if pure is None else pure,
            self.private if private is None else private,
            self.check_well_formed if check_well_formed is None else check_well_formed,
        )
        return chosen if f is None else chosen.decorate(f, 2)

    def __repr__(self) -> str:
        return "R.function"

    def parse(
        self,
        source: Source,
        node: ast.FunctionDef,
        names: tuple[Mapping[str, Any], ...],
        check_well_formed: bool = True,
    ) -> BaseFunc:
        should_check = check_well_formed and self.check_well_formed
        result = parse_function(
            source, node, names, pure=self.pure, private=self.private, verifies=should_check
        )
        is_member = isinstance(Scope(names).find("cls"), ModuleReference)
        if should_check and not is_member:
            _check(source, source.span(node), result)
        return result

    def check_module(self, source: Source, module: IRModule) -> None:
        _check(source, Span(source.filename, 1, 0, 1, 1), module)


def _check(source: Source, place: Span, checked: Function | IRModule) -> None:
    """Refuse an ill-formed function or module, at the position of the mistake if known."""
    try:
        check_well_formed(checked)
    except VerifyError as error:
        raise source.error_at(error.span or place, error.rule) from None


function = GraphFunctionDecorator()
macro = GraphMacroDecorator()


del _bindings, _control

_ALWAYS_KNOWN: Final[Mapping[str, Any]] = {"Tensor": Tensor, "metadata": OmittedMetadata()}
"""Names that mean something even where nothing defines them."""


class ModuleGraphs:
    """The builder that the graph functions of a module share."""

    def __init__(self) -> None:
        self.blocks = BlockBuilder()


def parse_function(
    source: Source,
    node: ast.FunctionDef,
    names: tuple[Mapping[str, Any], ...],
    *,
    pure: bool = True,
    private: bool = False,
    verifies: bool = True,
) -> Function:
    """The graph function that a definition stands for.

    Args:
        source: where it is written.
        node: the definition.
        names: visible names, innermost scope first.
        pure: whether it has no effect but its result.
        private: whether it has no `global_symbol`.
        verifies: whether annotations that say more than is known of the value are refused.

    Raises:
        ScriptError: for any mistake in it.
    """
    names = (*names, _ALWAYS_KNOWN)
    scope = Scope(names)
    module = scope.find("cls")
    module = module if isinstance(module, ModuleReference) else None
    blocks = ModuleGraphs().blocks if module is None else module.state(ModuleGraphs).blocks
    if module is not None:
        for name in module.definitions:
            blocks.reserve_name(name.name_hint)
    with GraphBuilder(blocks, module, verifies, source.allowance) as builder:
        parser = GraphParser(source, scope, builder)
        builder.scopes.append(scope)
        builder.span = source.span(node)
        function = _parse(parser, node, names, pure, private)
    if module is not None:
        _add_new_functions(blocks, module)
    return function


def _add_new_functions(blocks: BlockBuilder, module: ModuleReference) -> None:
    """Add the tensor programs that were made on the way to the module."""
    for name, function in blocks.get().functions.items():
        if name not in module.definitions:
            module.parsed[name] = function


def _parse(
    parser: GraphParser,
    node: ast.FunctionDef,
    names: tuple[Mapping[str, Any], ...],
    pure: bool,
    private: bool,
) -> Function:
    builder, blocks = parser.builder, parser.builder.blocks
    function = GraphFunction(node.name, names)
    builder.functions.append(function)
    parser.scope.push()
    params = read_signature(parser.evaluate, function, node)
    if builder.module is not None and function.ret_struct_info is not None:
        blocks.declare_func(node.name, signature_of(params, function.ret_struct_info, pure))
    with blocks.function(node.name, params, None, pure, private) as open_function:
        _parse_body(parser, function, node)
        open_function.attrs = function.attrs
        if private and "global_symbol" in function.attrs:
            raise parser.error(node, "a private function has no 'global_symbol': drop private=True")
        name = parser.guarded(function.end, blocks.emit_func_output, function.result)
        result = blocks.get()[name]
        returned = _returned(parser, function, node, result.ret_struct_info)
    parser.scope.pop()
    builder.functions.pop()
    result = result.replace(ret_struct_info=returned, span=parser.source.span(node))
    blocks.update_func(name, result)
    return result


def _parse_body(parser: GraphParser, function: GraphFunction, node: ast.FunctionDef) -> None:
    parser.block(node.body)
    for (_, name), declaration in function.declared.items():
        raise parser.error(declaration.node, f"`{name}` is declared, but no `if` gives it a value")
    if function.result is None:
        raise parser.error(node, f"the function `{node.name}` ends without `return`")


def _returned(
    parser: GraphParser, function: GraphFunction, node: ast.FunctionDef, known: StructInfo
) -> StructInfo:
    """What the function returns: as its signature says, if that can be."""
    said = function.ret_struct_info
    if said is None:
        return known
    result = struct_info_base_check(said, known, parser.builder.blocks.analyzer)
    is_more = result is BaseCheckResult.FAIL_L1 and parser.builder.verifies
    if is_more or result is BaseCheckResult.FAIL_L0:
        hint = ": R.match_cast checks more when the program runs" if is_more else ""
        raise parser.error(
            node.returns or function.end,
            f"the function is said to return {said!r}, but it returns {known!r}{hint}",
        )
    return said


# --- functions inside of functions -----------------------------------------------------------


@parses_graph(ast.FunctionDef)
def _local_function(parser: GraphParser, node: ast.FunctionDef) -> None:
    decorators = [parser.evaluate(item) for item in node.decorator_list]
    if len(decorators) == 1 and isinstance(decorators[0], MacroDecorator):
        parser.scope.define(node.name, define_macro(parser.evaluate, node))
        return
    if len(decorators) != 1 or not isinstance(decorators[0], GraphFunctionDecorator):
        place = node.decorator_list[0] if node.decorator_list else node
        raise parser.error(
            place, "a function inside of a graph function is one with @R.function or @R.macro"
        )
    dataflow = parser.builder.function.dataflow
    is_output = dataflow is not None and dataflow.outputs.get(node.name) is node
    is_local = parser.builder.blocks.in_dataflow and not is_output
    var, value = _parse_local(parser, node, decorators[0].pure, DataflowVar if is_local else Var)
    binding = VarBinding(var, value, parser.source.span(node))
    bound = parser.guarded(node, parser.builder.blocks.emit_normalized, binding)
    parser.scope.define(node.name, bound)


class _NotYetKnown:
    """Value of the name of a function in its own body, if its result is not annotated."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *arguments: Any) -> Any:
        del arguments
        raise TypeError("a function that calls itself needs a return annotation")


def _parse_local(
    parser: GraphParser, node: ast.FunctionDef, pure: bool, kind: type[Var]
) -> tuple[Var, Function]:
    """The variable and the value of a function inside of another one."""
    builder, blocks = parser.builder, parser.builder.blocks
    function = GraphFunction(node.name, parser.scope.snapshot())
    span = parser.source.span(node)
    builder.functions.append(function)
    parser.scope.push()
    params = read_signature(parser.evaluate, function, node)
    said = function.ret_struct_info
    signature = None if said is None else signature_of(params, said, pure)
    var = kind(node.name, signature, span)
    if not parser.scope.is_defined_here(node.name):
        parser.scope.define(node.name, _NotYetKnown(node.name) if said is None else var)
    blocks.begin_scope(params)
    _parse_body(parser, function, node)
    scope = blocks.function_scope.scope
    known = scope.outside(value_struct_info(blocks, function.result))
    inside = blocks.end_scope()
    returned = _returned(parser, function, node, known)
    parser.scope.pop(node.end_lineno or node.lineno)
    builder.functions.pop()
    body = SeqExpr(inside, function.result, known, span)
    return var, Function(tuple(params), body, returned, pure, function.attrs, span)
