"""`IRBuilder`, which collects what the frames inside of it build."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentError, DiagnosticError
from tilewright.ir.expr import Var
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.recursion import ScopeStack
from tilewright.ir.rewrite import walk
from tilewright.script.builder import Builder, FunctionFrame, set_name
from tilewright.script.builder.stack import ModuleUnderConstruction
from tilewright.tir.buffer import Buffer


class ModuleFrame(ModuleUnderConstruction):
    """``with I.ir_module():``, which collects functions by name."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: dict[str, BaseFunc | None] = {}
        self.names: dict[str, GlobalVar] = {}

    def __enter__(self) -> ModuleFrame:
        IRBuilder.current().open_module(self)
        super().__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        builder = IRBuilder.current()
        builder.close_module()
        if exception[0] is None:
            builder.finish("", self.result())

    def declare(self, name: str) -> GlobalVar:
        """The variable that a function of the module is called by."""
        if name not in self.names:
            self.names[name] = GlobalVar(name)
            self.functions[name] = None
        return self.names[name]

    def define(self, name: str, function: BaseFunc) -> GlobalVar:
        """Give the module a function.

        Raises:
            DiagnosticError: if it has one of that name.
        """
        variable = self.declare(name)
        if self.functions[name] is not None:
            raise DiagnosticError(f"the module has a function `{name}` already")
        self.functions[name] = function
        return variable

    def result(self) -> IRModule:
        """The module.

        Raises:
            DiagnosticError: if a function is declared but not defined.
        """
        functions: dict[GlobalVar | str, BaseFunc] = {}
        for name, function in self.functions.items():
            if function is None:
                raise DiagnosticError(f"the function `{name}` is declared, but not defined")
            functions[self.names[name]] = function
        return IRModule(functions, self.attrs, self.global_infos)


class IRBuilder:
    """A ``with`` statement around one function or one module; `get` returns it."""

    def __init__(self) -> None:
        self._constructs = Builder()
        self._result: Any = None
        self.module: ModuleFrame | None = None

    def __enter__(self) -> IRBuilder:
        self._constructs.__enter__()
        _builders.enter(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _builders.leave()
        self._constructs.__exit__(*exception)

    @staticmethod
    def current() -> IRBuilder:
        """The innermost builder that is open in this thread.

        Raises:
            DiagnosticError: if there is none.
        """
        builder = _builders.innermost()
        if builder is None:
            raise DiagnosticError("this belongs inside of `with IRBuilder():`")
        return builder

    @staticmethod
    def is_in_scope() -> bool:
        """Whether a builder is open in this thread."""
        return _builders.innermost() is not None

    def get(self) -> Any:
        """The function or the module.

        Raises:
            DiagnosticError: if none was built.
        """
        if self._result is None:
            raise DiagnosticError(
                "nothing was built: open T.prim_func(), R.function() or I.ir_module() inside"
            )
        return self._result

    @staticmethod
    def name(name: str, value: Any) -> Any:
        """Name a variable or buffer that has no name of its own; gives it back."""
        if not isinstance(name, str):
            raise ArgumentError(f"IRBuilder.name expects a text, got {name!r}")
        if isinstance(value, (Var, Buffer)):
            set_name(value, name)
        elif hasattr(value, "name_hint"):
            object.__setattr__(value, "name_hint", name)
        return value

    @staticmethod
    def name_many(names: Sequence[str], values: Sequence[Any]) -> list[Any]:
        """`name` each value."""
        if len(names) != len(values):
            raise ArgumentError(f"{len(names)} names for {len(values)} values")
        return [IRBuilder.name(name, value) for name, value in zip(names, values, strict=True)]

    # --- what frames say ------------------------------------------------------------------------

    def open_module(self, frame: ModuleFrame) -> None:
        """Collect functions in a module from now on."""
        if self.module is not None:
            raise DiagnosticError("I.ir_module is open already: a module has no module inside")
        self.module = frame

    def close_module(self) -> None:
        """The module is complete."""
        self.module = None

    def finish(self, name: str, result: Any) -> None:
        """Take a finished function or module.

        Args:
            name: the name of a function.
            result: the function or the module.
        """
        if self.module is not None:
            if not name:
                raise DiagnosticError("a function of a module needs a name: call func_name")
            self.module.define(name, result)
        elif self._result is not None:
            raise DiagnosticError(
                "an IRBuilder builds one function: open I.ir_module() around several"
            )
        else:
            self._result = result


_builders: ScopeStack[IRBuilder] = ScopeStack()


class PrimFuncFrame(FunctionFrame):
    """``with T.prim_func():``; `func_name`, `arg` and the statements are inside."""

    def closed(self, builder: Builder) -> None:
        self.private = self.private or not self.name
        super().closed(builder)
        assert self.result is not None
        for node in (*self.result.params, *walk(self.result.body)):
            if isinstance(node, (Var, Buffer)):
                set_name(node, "v" if isinstance(node, Var) else "buffer")
        IRBuilder.current().finish(self.name, self.result)


def prim_func(is_private: bool = False) -> PrimFuncFrame:
    """A tensor program, as a context manager.

    Args:
        is_private: leave out the ``global_symbol``, so that it is not exported.
    """
    return PrimFuncFrame("", is_private)
