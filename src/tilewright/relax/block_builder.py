"""`BlockBuilder`, with which users, the parser and passes make graph functions.

::

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((n, 4), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.exp(x))
            out = builder.emit_output(relax.op.add(y, y))
        builder.emit_func_output(out)
    module = builder.get()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.convert import attributes
from tilewright.ir.module import GlobalVar
from tilewright.ir.recursion import ScopeStack, deep_recursion
from tilewright.relax.expr import (
    Binding,
    Call,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Var,
    VarBinding,
    as_relax,
)
from tilewright.relax.normalize import (
    emit_binding,
    emit_blocks,
    normalized,
    operand,
    value_struct_info,
)
from tilewright.relax.open_functions import OpenFunctions
from tilewright.relax.scope import FunctionScope
from tilewright.relax.struct_info import StructInfo


class BlockBuilder(OpenFunctions):
    """Builds graph functions in normal form, and the module that they are in.

    Args:
        mod: the module to begin with, which is not changed.
    """

    # --- functions --------------------------------------------------------------------------

    @contextmanager
    def function(
        self,
        name: str,
        params: Var | Sequence[Var] | None = None,
        attrs: Mapping[str, Any] | None = None,
        pure: bool = True,
        private: bool = False,
    ) -> Iterator[FunctionScope]:
        """A ``with`` statement around a function; `emit_func_output` ends it.

        Args:
            name: its name in the module.
            params: its parameters; they may be given to `emit_func_output` instead.
            attrs: its attributes.
            pure: whether it has no effect but its result.
            private: whether it is called by functions of the module only.
        """
        if not isinstance(name, str):
            raise ArgumentError(f"the name of a function is a text, got {name!r}")
        if name in self._module:
            raise ArgumentError(
                f"the module has a function {name!r} already; update_func replaces one"
            )
        known = None if params is None else _parameters(params)
        scope = FunctionScope(name, known, attrs, pure, private)
        self.reserve_name(name)
        self._functions.append(scope)
        _BUILDERS.enter(self)
        try:
            yield scope
            if not scope.is_finished:
                raise ArgumentError(
                    f"function {name!r} has no result: call emit_func_output at its end"
                )
        finally:
            _BUILDERS.leave()
            del self._functions[self._functions.index(scope) :]

    @staticmethod
    def current() -> BlockBuilder | None:
        """The builder of the innermost ``with builder.function(...)``; None outside of all."""
        return _BUILDERS.innermost()

    def emit_func_output(self, output: Any, params: Var | Sequence[Var] | None = None) -> GlobalVar:
        """End the function with its result, and add it to the module.

        Args:
            output: the result.
            params: the parameters, if `function` did not get them.
        """
        scope = self._current_function("emit_func_output")
        if scope.is_finished:
            raise ArgumentError(f"function {scope.name!r} has its result already")
        if self.in_dataflow:
            raise ArgumentError(
                "emit_func_output stands after the dataflow block; inside, use emit_output"
            )
        if params is not None:
            if scope.params is not None:
                raise ArgumentError("the parameters are given twice: to function, and here")
            scope.params = _parameters(params)
            scope.add_params(scope.params)
        if scope.params is None:
            raise ArgumentError("give the parameters of the function: function(name, params)")
        assert scope.name is not None
        body = self.end_body(output)
        attrs = dict(attributes(scope.attrs))
        if not scope.is_private:
            attrs.setdefault("global_symbol", scope.name)
        function = Function(scope.params, body, body.struct_info, scope.is_pure, attributes(attrs))
        scope.is_finished = True
        name = GlobalVar(scope.name)
        self.update_func(name, function)
        return name

    def end_body(self, output: Any) -> SeqExpr:
        """End the body that was begun last: its blocks, and its result `output`."""
        result = operand(self, as_relax(output))
        scope = self.function_scope.scope
        blocks = self.end_scope()
        return SeqExpr(blocks, result, scope.outside(value_struct_info(self, result)))

    # --- bindings ---------------------------------------------------------------------------

    def emit(self, expr: Any, name_hint: str = "") -> Var:
        """Bind an expression, in normal form, to a new variable."""
        self._require_place("emit")
        return self.bind(expr, name_hint)

    def bind(self, expr: Any, name_hint: str = "") -> Var:
        """Like `emit`, but outside of all functions, too."""
        prefix = "lv" if self.in_dataflow else "gv"
        return self._bind(expr, name_hint or prefix, DataflowVar if self.in_dataflow else Var)

    def _require_place(self, caller: str) -> None:
        """Require that there is something that bindings can become a part of."""
        if not self.is_in_body and self.function_scope.scope.open is None:
            raise ArgumentError(f"{caller} stands inside of `with builder.function(name, params)`")

    def emit_output(self, output: Any, name_hint: str = "") -> Var:
        """Bind an expression to a variable that can be used after the dataflow block."""
        if not self.in_dataflow:
            raise ArgumentError("emit_output stands inside of `with builder.dataflow()`")
        return self._bind(output, name_hint or "gv", Var)

    @deep_recursion
    def _bind(self, expr: Any, prefix: str, kind: type[Var]) -> Var:
        expr = as_relax(expr)
        value = normalized(self, expr)
        if isinstance(value, SeqExpr):
            value = operand(self, emit_blocks(self, value))
        name = self.get_unique_name(prefix)
        span = getattr(value, "span", None)
        var = kind(name, value_struct_info(self, value), span)
        self.function_scope.bind(VarBinding(var, value, span))
        if isinstance(expr, (Call, If)):  # an expression that is used again is not computed again
            self.function_scope.remember(expr, var)
        return var

    @deep_recursion
    def match_cast(self, value: Any, struct_info: StructInfo, name_hint: str = "") -> Var:
        """Bind a value to a variable with more precise struct info, which is checked at run time.

        Symbolic sizes of `struct_info` that are new are defined by the value.
        """
        if not isinstance(struct_info, StructInfo):
            raise ArgumentError(f"match_cast: expected struct info, got {struct_info!r}")
        self._require_place("match_cast")
        is_local = self.in_dataflow
        kind, prefix = (DataflowVar, "lv") if is_local else (Var, "gv")
        var = kind(self.get_unique_name(name_hint or prefix), struct_info)
        return emit_binding(self, MatchCast(var, as_relax(value), struct_info))

    def emit_normalized(self, binding: Binding) -> Var:
        """Append a binding with its own variable; its value is brought into normal form."""
        return emit_binding(self, binding)

    @deep_recursion
    def normalize(self, expr: Any) -> Any:
        """An expression in normal form; operations inside of it are bound in the open block."""
        return normalized(self, as_relax(expr))

    @deep_recursion
    def normalize_argument(self, expr: Any) -> Any:
        """An expression as an operand: a leaf, or the variable that it is bound to."""
        return operand(self, as_relax(expr))

    # --- tensor programs --------------------------------------------------------------------

    def call_te(
        self,
        func: Callable[..., Any],
        *args: Any,
        primfunc_name_hint: str | None = None,
        primfunc_attrs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The call of a tensor program that computes ``func(*args, **kwargs)``.

        See `tilewright.relax.call_te` for how the arguments are converted.

        Args:
            func: makes tensors of tensors, such as a function of `tilewright.topi`.
            *args: its arguments; graph values among them become tensors, scalars and shapes.
            primfunc_name_hint: the name of the tensor program; by default that of `func`.
            primfunc_attrs: attributes of the tensor program.
            **kwargs: more arguments.
        """
        from tilewright.relax.call_te import call_te

        return call_te(self, func, args, kwargs, primfunc_name_hint, primfunc_attrs)

    def emit_te(
        self, func: Callable[..., Any], *args: Any, name_hint: str = "", **kwargs: Any
    ) -> Var:
        """Bind the result of `call_te` to a new variable."""
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)


_BUILDERS: ScopeStack[BlockBuilder] = ScopeStack()


def _parameters(params: Any) -> tuple[Var, ...]:
    """The parameters of a function of the module as a tuple."""
    found = (params,) if isinstance(params, Var) else tuple(params)
    earlier: set[int] = set()
    for param in found:
        if isinstance(param, DataflowVar):
            raise ArgumentError(f"parameter {param.name_hint!r} is a variable of a dataflow block")
        if isinstance(param, Var) and param.struct_info is None:
            raise ArgumentError(
                f"parameter {param.name_hint!r} has no struct info, such as "
                "relax.TensorStructInfo((2, 3), 'float32')"
            )
        if id(param) in earlier:
            raise ArgumentError(f"parameter {param.name_hint!r} is given twice")
        earlier.add(id(param))
    return found
