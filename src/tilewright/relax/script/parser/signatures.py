"""Signatures: parameters, symbolic sizes, and what functions of the module know of each other."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.error import ScriptError
from tilewright.ir.expr import SizeVar
from tilewright.ir.module import GlobalVar
from tilewright.ir.recursion import pass_on_recursion_error
from tilewright.relax.expr import Var
from tilewright.relax.script.annotations import as_struct_info
from tilewright.relax.script.context import GraphFunction
from tilewright.relax.struct_info import FuncStructInfo, ObjectStructInfo, StructInfo
from tilewright.script.builder import set_name
from tilewright.script.constructs.dtypes import DTypeFunction

if TYPE_CHECKING:
    from tilewright.relax.script.parser.evaluator import GraphEvaluator


def read_signature(
    evaluate: GraphEvaluator, function: GraphFunction, node: ast.FunctionDef
) -> list[Var]:
    """Define the parameters of a function in the scope, and note its result."""
    arguments = node.args
    for unsupported in (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs):
        if unsupported is not None:
            raise evaluate.source.error(unsupported, "a script function has plain parameters only")
    if arguments.defaults:
        raise evaluate.source.error(arguments.defaults[0], "parameters have no default values")
    parameters = [*arguments.posonlyargs, *arguments.args]
    annotations = [p.annotation for p in parameters if p.annotation is not None]
    function.candidates = _strings(
        annotations if node.returns is None else [*annotations, node.returns]
    )
    _read_declarations(evaluate, function, node)
    params = [_parameter(evaluate, parameter) for parameter in parameters]
    if node.returns is not None:
        function.ret_struct_info = _struct_info(evaluate, node.returns)
    function.in_signature = False
    return params


def _strings(annotations: Sequence[ast.expr]) -> set[str]:
    """Strings that are names: among them are all symbolic sizes that are defined."""
    constants = [node for item in annotations for node in ast.walk(item)]
    values = [node.value for node in constants if isinstance(node, ast.Constant)]
    return {value for value in values if isinstance(value, str) and value.isidentifier()}


def _parameter(evaluate: GraphEvaluator, parameter: ast.arg) -> Var:
    name = parameter.arg
    if evaluate.scope.is_defined_here(name):
        raise evaluate.source.error(parameter, f"the parameter `{name}` occurs twice")
    if parameter.annotation is None:
        raise evaluate.source.error(
            parameter,
            f"the parameter `{name}` needs struct info, such as R.Tensor(...) or R.Object",
        )
    info = _struct_info(evaluate, parameter.annotation)
    var = Var(name, info, evaluate.source.span(parameter))
    evaluate.scope.define(name, var)
    return var


def _struct_info(evaluate: GraphEvaluator, annotation: ast.expr) -> Any:
    value = evaluate(annotation)
    try:
        return as_struct_info(value)
    except ScriptError:
        raise
    except Exception as error:
        pass_on_recursion_error(error)
        raise evaluate.source.error(annotation, str(error)) from error


def _read_declarations(
    evaluate: GraphEvaluator, function: GraphFunction, node: ast.FunctionDef
) -> None:
    """Define the sizes that the body declares first as more than plain variables.

    ``n = T.int64(is_size_var=True)`` after a signature with ``"n"`` makes that a `SizeVar`.
    """
    for statement in node.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            break
        target, value = statement.targets[0], statement.value
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        values = value.elts if isinstance(value, ast.Tuple) else [value]
        for name, call in zip(targets, values, strict=False):
            if not (isinstance(name, ast.Name) and isinstance(call, ast.Call) and call.keywords):
                continue
            made = _new_size(evaluate, call)
            if made is not None:
                set_name(made, name.id)
                function.sizes[name.id] = made


def _new_size(evaluate: GraphEvaluator, call: ast.Call) -> SizeVar | None:
    if call.args or not isinstance(evaluate(call.func), DTypeFunction):
        return None
    made = evaluate(call)
    return made if isinstance(made, SizeVar) else None


# --- functions of the module -----------------------------------------------------------------


def declare(evaluate: GraphEvaluator, place: ast.AST, name: GlobalVar) -> None:
    """Tell the builder the struct info of a function of the module.

    A function without a return annotation is parsed now.
    """
    from tilewright.relax.script.parser.functions import GraphFunctionDecorator

    builder = evaluate.builder
    module, blocks = builder.module, builder.blocks
    if module is None or blocks.signature_of(name) is not None:
        return
    definition = module.definitions.get(name)
    if definition is None:
        return
    if not isinstance(definition.decorator, GraphFunctionDecorator):
        blocks.update_func(name, module.parse(name))
    elif definition.node.returns is not None:
        signature = _signature(evaluate, definition.node, definition.decorator.pure)
        blocks.declare_func(name.name_hint, signature)
    elif name in module.in_progress:
        raise evaluate.source.error(
            place,
            f"`{name.name_hint}` is called before it is known what it returns: give it a return "
            "annotation",
        )
    else:
        module.parse(name)


def _signature(evaluate: GraphEvaluator, node: ast.FunctionDef, pure: bool) -> FuncStructInfo:
    """The signature of another function of the module."""
    outside = evaluate.builder.functions[0].names
    function = GraphFunction(node.name, outside)
    outer = evaluate.within_names(outside)
    evaluate.builder.functions.append(function)
    try:
        params = read_signature(outer, function, node)
    finally:
        evaluate.builder.functions.pop()
    return signature_of(params, function.ret_struct_info, pure)


def signature_of(params: Sequence[Var], ret: StructInfo | None, pure: bool) -> FuncStructInfo:
    """Struct info of a function with these parameters."""
    infos = [param.struct_info or ObjectStructInfo() for param in params]
    return FuncStructInfo(infos, ret, pure)
