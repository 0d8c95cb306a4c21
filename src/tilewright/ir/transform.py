"""Passes: transformations of modules with a name, which compose and can be watched.

A pass is an object that is called with a module and gives a module; the one that it gets stays as
it is. A pass of this package is a class::

    class RemoveEmptyBlocks(ModulePass):
        def transform_module(self, mod, ctx): ...

and a pass of a user is a function or a class with a decorator::

    @tvm.transform.module_pass(opt_level=0)
    def rename(mod, ctx):
        return ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from tilewright.error import ArgumentError, ArgumentValueError, UnknownNameError, did_you_mean
from tilewright.ir.instrument import PassInfo, PassInstrument, called, name_origin, tell_all
from tilewright.ir.module import BaseFunc, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.recursion import deep_recursion

_PASSES: dict[str, Callable[[], Pass]] = {}
"""How to make a pass of each name, for `required`."""


class Pass:
    """Base class of passes.

    Attributes:
        name: by default that of the class.
        opt_level: from which level of the context on a `Sequential` runs it.
        required: passes, or their names, that a `Sequential` runs right before it.
        necessary: why nothing may leave it out; empty for a pass that is not needed for a correct
            result.
    """

    name: str = "Pass"
    opt_level: int = 0
    required: tuple[str | Pass, ...] = ()
    necessary: str = ""

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = cls.__name__
        _PASSES[cls.name] = cls

    @property
    def info(self) -> PassInfo:
        """What instruments are told of it."""
        return PassInfo(self.opt_level, self.name, tuple(self.required))

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The transformed module."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it does")

    def __call__(self, mod: IRModule) -> IRModule:
        """The transformed module; an error names the pass."""
        if not isinstance(mod, IRModule):
            raise ArgumentError(
                f"{self.name}: a pass transforms an IRModule, got a {type(mod).__name__}"
            )
        return self.run_in(mod, PassContext.current())

    def run_in(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The transformed module; the instruments of `ctx`, the current context, are told of it."""
        if not ctx.instruments:
            return self._run(mod, ctx)
        instruments, info = tuple(ctx.instruments), self.info
        for instrument in instruments:
            if not called(instrument, "should_run", mod, info):
                self.check_left_out(type(instrument).__name__)
                return mod
        watching: list[PassInstrument] = []
        try:
            for instrument in instruments:
                called(instrument, "run_before_pass", mod, info)
                watching.append(instrument)
            result = self._run(mod, ctx)
            while watching:
                called(watching.pop(0), "run_after_pass", result, info)
        except BaseException as error:
            tell_all(watching, "run_failed_pass", error, info)
            raise
        return result

    def check_left_out(self, by: str) -> None:
        """Raise if the pass may not be left out, which `by` wants."""
        if self.necessary:
            raise ArgumentValueError(
                f"{by} leaves out the pass {self.name}, which is necessary: {self.necessary}"
            )

    @deep_recursion
    def _run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        try:
            result = self.run(mod, ctx)
            if not isinstance(result, IRModule):
                raise ArgumentError(f"a pass gives an IRModule, this one gave {result!r}")
        except Exception as error:
            name_origin(error, self.name)
            raise
        return result

    def __repr__(self) -> str:
        return f"<pass {self.name}>"


class ModulePass(Pass):
    """A pass that sees the whole module."""

    name = "ModulePass"

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The transformed module; `mod` itself must stay as it is."""
        raise NotImplementedError

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return self.transform_module(mod, ctx)


class EachFunctionPass(Pass):
    """Base class of passes that transform one function after the other, those of one class."""

    name = "EachFunctionPass"
    function_class: ClassVar[type[BaseFunc]] = BaseFunc

    def transform_function(self, func: Any, mod: IRModule, ctx: PassContext) -> Any:
        """The transformed function, or None to remove it; `mod` is the module before the pass."""
        raise NotImplementedError

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        changed: dict[Any, BaseFunc | None] = {}
        for var, func in mod.functions.items():
            if isinstance(func, self.function_class):
                result = self.transform_function(func, mod, ctx)
                if result is not func:
                    changed[var] = result
        if not changed:
            return mod
        functions = {**mod.functions, **changed}
        kept = {var: func for var, func in functions.items() if func is not None}
        return IRModule(kept, mod.attrs, mod.global_infos)


class Sequential(Pass):
    """Passes, one after the other.

    What the context disables, or what has a higher level than it, is left out.

    Args:
        passes: the passes.
        opt_level: from which level on this one runs inside of another `Sequential`.
        name: its name.
        required: passes that run before it inside of another `Sequential`.
    """

    name = "sequential"

    def __init__(
        self,
        passes: Sequence[Pass] = (),
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str | Pass] | None = None,
    ) -> None:
        if not isinstance(passes, Sequence):
            raise ArgumentError(f"Sequential: passes is a list of passes, got {passes!r}")
        for step in passes:
            if not isinstance(step, Pass):
                hint = " (call it first?)" if isinstance(step, type) else ""
                raise ArgumentError(f"Sequential: {step!r} is not a pass{hint}")
        self.passes = tuple(passes)
        self.opt_level, self.name = opt_level, name
        self.required = _required_passes(name, required)

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for step in self.passes:
            if not ctx.runs(step.name, step.opt_level):
                step.check_left_out("PassContext")
                continue
            for before in step.required:
                mod = _required_pass(before, step).run_in(mod, ctx)
            mod = step.run_in(mod, ctx)
        return mod

    def __repr__(self) -> str:
        return f"Sequential({list(self.passes)!r}, name={self.name!r})"


def _required_passes(name: str, required: Sequence[str | Pass] | None) -> tuple[str | Pass, ...]:
    """What a pass requires, as a tuple."""
    if isinstance(required, (str, Pass)):
        raise ArgumentError(f"{name}: required is a list of passes, got {required!r}")
    return tuple(required or ())


class PrintIR(ModulePass):
    """Print the module, and leave it as it is.

    Args:
        header: a line that is printed before it.
        show_meta_data: whether constants are printed, too.
    """

    def __init__(self, header: str = "", show_meta_data: bool = False) -> None:
        self._header, self._show_meta = header, show_meta_data

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        print(f"# {self._header}\n" if self._header else "", end="")
        print(mod.script(show_meta=self._show_meta))
        return mod


def _required_pass(required: str | Pass, by: Pass) -> Pass:
    if isinstance(required, Pass):
        return required
    make = _PASSES.get(required)
    if make is None:
        hint = did_you_mean(required, _PASSES)
        raise UnknownNameError(f"{by.name} requires a pass {required!r}, which is unknown{hint}")
    try:
        return make()
    except TypeError as error:
        raise ArgumentError(
            f"{by.name} requires the pass {required!r}, which cannot be made without arguments; "
            "give the pass itself"
        ) from error


Decorated = TypeVar("Decorated")


def pass_decorator(
    base: type[Pass],
    method: str,
    decorated: Any,
    opt_level: int | None,
    name: str | None,
    required: Sequence[str | Pass] | None,
) -> Any:
    """What a decorator of passes does with a function, or with a class that has `method`.

    A function, which takes what the method takes, becomes a pass; a class becomes a class of
    passes. Without `decorated` the result is the decorator.
    """

    def decorate(definition: Any) -> Any:
        is_class = isinstance(definition, type)
        if not callable(definition) or (is_class and not hasattr(definition, method)):
            raise ArgumentError(f"a pass is a function, or a class with the method {method!r}")
        defined_as = getattr(definition, "__name__", type(definition).__name__)
        called = name or defined_as
        names = {
            "name": called,
            "opt_level": 0 if opt_level is None else opt_level,
            "required": _required_passes(called, required),
            "__module__": definition.__module__,
            "__doc__": definition.__doc__,
        }
        if is_class:
            return type(defined_as, (definition, base), names)
        names[method] = staticmethod(definition)
        return type(defined_as, (base,), names)()

    return decorate if decorated is None else decorate(decorated)


def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str | Pass] | None = None,
) -> Any:
    """Make a pass of a function ``(mod, ctx) -> mod``.

    A class with a method ``transform_module(self, mod, ctx)`` becomes a class of passes. The module
    that they get is a copy, which they may change in place.

    Args:
        pass_func: the function or class; without, the result is a decorator.
        opt_level: from which level on a `Sequential` runs it.
        name: by default that of the function or class.
        required: passes, or their names, that a `Sequential` runs before it.
    """
    return pass_decorator(
        _CopyingModulePass, "transform_module", pass_func, opt_level, name, required
    )


class _CopyingModulePass(ModulePass):
    name = "module_pass"

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return self.transform_module(mod.clone(), ctx)


__all__ = [
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "module_pass",
]
