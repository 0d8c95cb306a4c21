"""Frames that build graph functions from Python: ``R`` of `tilewright.script.ir_builder`.

::

    with IRBuilder() as builder, R.function():
        R.func_name("main")
        x = R.arg("x", R.Tensor(("n", 4), "float32"))
        with R.dataflow() as block:
            R.output(R.emit(R.add(x, x)))
        R.func_ret_value(block.output_vars[0])

What statements of a script stand for are functions and context managers here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from tilewright.error import ArgumentError, DiagnosticError
from tilewright.ir.module import IRModule
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Binding, RelaxExpr, SeqExpr, Var, as_relax
from tilewright.relax.expr import If as Conditional
from tilewright.relax.normalize import value_struct_info
from tilewright.relax.script.annotations import as_struct_info
from tilewright.relax.script.context import GraphBuilder, GraphFunction, require_graph
from tilewright.script.ir_builder.base import IRBuilder

__all__ = [
    "Else", "If", "Then", "arg", "dataflow", "emit", "emit_match_cast", "emit_te",
    "emit_var_binding", "func_ret_value", "function", "match_cast", "output",
]  # fmt: skip


class FunctionBuilder(GraphBuilder):
    """The graph function that is open.

    Attributes:
        params: its parameters.
        last: the variable that was bound last.
        dataflow: the dataflow block that is open.
        conditionals: the conditionals that are open, innermost last.
    """

    def __init__(self, blocks: BlockBuilder) -> None:
        super().__init__(blocks, None, verifies=True)
        self.functions.append(GraphFunction("", ()))
        self.params: list[Var] = []
        self.last: Var | None = None
        self.dataflow: DataflowFrame | None = None
        self.conditionals: list[IfFrame] = []
        self.body = ExitStack()

    def __enter__(self) -> FunctionBuilder:
        super().__enter__()
        return self

    def begin_body(self) -> None:
        """No parameter follows."""
        function = self.function
        if function.in_signature:
            function.in_signature = False
            if "global_symbol" not in function.attrs:
                raise DiagnosticError("a graph function needs a name: call R.func_name first")
            name = str(function.attrs["global_symbol"])
            self.scope = self.body.enter_context(self.blocks.function(name, self.params))

    def bound(self, var: Var) -> Var:
        """Note a variable as the last one."""
        self.last = var
        return var


def _function(what: str) -> FunctionBuilder:
    builder = require_graph(what)
    if not isinstance(builder, FunctionBuilder):
        raise DiagnosticError(f"{what} belongs inside of `with R.function():`")
    return builder


def _body(what: str) -> FunctionBuilder:
    builder = _function(what)
    builder.begin_body()
    return builder


@contextmanager
def function(is_pure: bool = True, is_private: bool = False) -> Iterator[None]:
    """A graph function, as a context manager; `func_ret_value` ends it.

    Args:
        is_pure: whether it has no effect but its result.
        is_private: whether it is called by functions of the module only.
    """
    module = IRBuilder.current().module
    functions = {} if module is None else module.functions
    known = {name: made for name, made in functions.items() if made is not None}
    with FunctionBuilder(BlockBuilder(IRModule(known))) as builder, builder.body:
        yield
        name = _finished(builder, is_pure, is_private)
    result = builder.blocks.get()
    IRBuilder.current().finish(name, result[name])
    for var, made in result.functions.items():  # tensor programs of `emit_te`
        if var.name_hint not in {*known, name}:
            IRBuilder.current().finish(var.name_hint, made)


def _finished(builder: FunctionBuilder, is_pure: bool, is_private: bool) -> str:
    """Complete the function that is open; its name."""
    function, blocks = builder.function, builder.blocks
    if function.result is None:
        raise DiagnosticError("a graph function ends with R.func_ret_value(...)")
    builder.scope.is_pure, builder.scope.is_private = is_pure, is_private
    builder.scope.attrs = function.attrs
    name = blocks.emit_func_output(function.result)
    result = blocks.get()[name]
    if function.ret_struct_info is not None:
        result = result.replace(ret_struct_info=function.ret_struct_info)
    blocks.update_func(name, result.without_attr("global_symbol") if is_private else result)
    return name.name_hint


def arg(name: str, struct_info: Any) -> Var:
    """Append a parameter to the function.

    Args:
        name: its name.
        struct_info: its struct info; strings in shapes define symbolic sizes.
    """
    builder = _function("R.arg")
    if not builder.function.in_signature:
        raise DiagnosticError("R.arg belongs ahead of the first binding")
    builder.params.append(Var(name, as_struct_info(struct_info)))
    return builder.params[-1]


def func_ret_value(value: Any) -> None:
    """End the function with its result."""
    builder = _body("R.func_ret_value")
    if builder.function.result is not None:
        raise DiagnosticError("the function has its result already")
    builder.function.result = as_relax(value)


# --- bindings -------------------------------------------------------------------------------------


def emit(value: Any, annotate_struct_info: Any = None) -> Var:
    """Bind a value to a new variable, and give it back.

    Args:
        value: the value.
        annotate_struct_info: declared struct info; by default that of the value.
    """
    builder = _body("R.emit")
    var = builder.blocks.emit(as_relax(value))
    if annotate_struct_info is not None:
        var = builder.blocks.match_cast(var, as_struct_info(annotate_struct_info))
    return builder.bound(var)


def emit_te(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
    """Bind the result of a tensor program that computes ``func(*args, **kwargs)``.

    The program becomes a function of the module, so `I.ir_module` has to be open.
    """
    builder = _body("R.emit_te")
    if IRBuilder.current().module is None:
        raise DiagnosticError(
            "R.emit_te adds a tensor program to the module: open I.ir_module() around"
        )
    return builder.bound(builder.blocks.emit_te(func, *args, **kwargs))


def match_cast(value: Any, struct_info: Any) -> Var:
    """Bind `value`, which is checked to have `struct_info` when the program runs."""
    builder = _body("R.match_cast")
    return builder.bound(builder.blocks.match_cast(as_relax(value), as_struct_info(struct_info)))


emit_match_cast = match_cast


def emit_var_binding(binding: Binding) -> Var:
    """Append a binding that was made before; its variable."""
    if not isinstance(binding, Binding):
        raise ArgumentError(f"R.emit_var_binding expects a binding, got {binding!r}")
    builder = _body("R.emit_var_binding")
    return builder.bound(builder.blocks.emit_normalized(binding))


# --- blocks and branches --------------------------------------------------------------------------


class DataflowFrame:
    """A dataflow block that is open.

    Attributes:
        output_vars: the variables of the outputs after the block.
    """

    def __init__(self) -> None:
        self.output_vars: list[Var] = []


@contextmanager
def dataflow() -> Iterator[DataflowFrame]:
    """A block of bindings without effects; `output` inside says what can be used after it."""
    builder = _body("R.dataflow")
    if builder.dataflow is not None:
        raise DiagnosticError("a dataflow block cannot have another one inside")
    builder.dataflow = DataflowFrame()
    try:
        with builder.blocks.dataflow():
            yield builder.dataflow
    finally:
        builder.dataflow = None


def output(*variables: Var) -> Sequence[Var]:
    """Say which variables of a dataflow block can be used after it; gives those to use there."""
    builder = _body("R.output")
    block = builder.dataflow
    if block is None:
        raise DiagnosticError("R.output belongs inside of `with R.dataflow():`")
    block.output_vars += [builder.blocks.emit_output(var) for var in variables]
    return block.output_vars


class IfFrame:
    """A conditional that is open.

    Attributes:
        branches: its branches by name.
        var: after it, the variable of the result: what the chosen branch binds last.
    """

    def __init__(self) -> None:
        self.branches: dict[str, RelaxExpr] = {}
        self.var: Var | None = None


@contextmanager
def If(condition: Any) -> Iterator[IfFrame]:
    """A choice between `Then` and `Else`; ``with R.If(c) as choice`` has ``choice.var`` after."""
    builder = _body("R.If")
    operand = builder.blocks.normalize_argument(as_relax(condition))
    frame = IfFrame()
    builder.conditionals.append(frame)
    yield frame
    builder.conditionals.pop()
    if set(frame.branches) != {"Then", "Else"}:
        raise DiagnosticError("R.If holds `with R.Then():` and `with R.Else():`")
    value = Conditional(operand, frame.branches["Then"], frame.branches["Else"])
    frame.var = builder.bound(builder.blocks.emit(value))


@contextmanager
def _branch(name: str) -> Iterator[None]:
    builder = _body(f"R.{name}")
    if not builder.conditionals or name in builder.conditionals[-1].branches:
        raise DiagnosticError(f"R.{name} belongs inside of R.If, once")
    blocks = builder.blocks
    blocks.begin_scope()
    builder.last = None
    yield
    result = builder.last
    if result is None:
        raise DiagnosticError(f"R.{name} is empty: its value is what it binds last")
    info = blocks.function_scope.scope.outside(value_struct_info(blocks, result))
    builder.conditionals[-1].branches[name] = SeqExpr(blocks.end_scope(), result, info)


def Then() -> AbstractContextManager[None]:
    """The branch of `If` for a condition that holds; its value is what is bound last in it."""
    return _branch("Then")


def Else() -> AbstractContextManager[None]:
    """The branch of `If` for a condition that does not hold; see `Then`."""
    return _branch("Else")
