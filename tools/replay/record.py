"""Compiles a program and keeps the texts of the stages in between."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

from tools.replay.program import TARGETS, Program, Texts

import tilewright as tvm
from tilewright import relax
from tilewright.target import Target

_KEY = re.compile(r"(?<=\w)_[0-9a-f]{24}\b")
"""The end of the name of a kernel: a hash of the program, and of the version of the compiler."""


def texts_of(program: Program, target: str) -> Texts:
    """The texts of a compilation; an error is a text, too."""
    texts: Texts = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            program.record(Target(TARGETS[target]), texts)
        except Exception as error:
            texts["error.txt"] = f"{type(error).__name__}: {error}\n"
    if caught:
        lines = [f"{item.category.__name__}: {item.message}\n" for item in caught]
        texts["warnings.txt"] = "".join(lines)
    return {name: _KEY.sub("", text) for name, text in texts.items()}


def compiled(make: Callable[[], Any], **options: Any) -> Callable[[Any, Texts], None]:
    """For a `Program` that goes through `tvm.build`.

    Args:
        make: makes what is built, or a pair of a `te.Schedule` and its parameters.
        options: for the `PassContext`, without the prefix ``tir.``.
    """

    def record(target: Any, texts: Texts) -> None:
        inputs = make()
        inputs, args = inputs if isinstance(inputs, tuple) else (inputs, None)
        record_build(inputs, args, target, texts, options)

    return record


def scheduled(
    make: Callable[[], tvm.tir.PrimFunc | tvm.IRModule],
    schedule: Callable[[tvm.tir.Schedule, Any], None],
) -> Callable[[Any, Texts], None]:
    """For a `Program` with a schedule, which is given the target, too."""

    def record(target: Any, texts: Texts) -> None:
        sch = tvm.tir.Schedule(make())
        schedule(sch, target)
        texts["trace.py"] = trace_text(sch)
        record_build(sch.mod, None, target, texts)

    return record


def trace_text(sch: tvm.tir.Schedule) -> str:
    """The steps of a schedule, or why they have no text."""
    try:
        return f"{sch.trace}\n"
    except tvm.error.ArgumentValueError as error:
        return f"# {error}\n"


def record_build(
    inputs: Any, args: Any, target: Any, texts: Texts, options: dict[str, Any] | None = None
) -> None:
    """Build something, and keep its schedule, its lowered form, and its code."""
    with _Stages(texts, options or {}):
        module = tvm.build(inputs, args, target=target)
    texts[_code_file(target)] = module.get_source()


def record_graph(module: Any, target: Any, texts: Texts) -> None:
    """Build a graph, and keep the texts of its kernels and of its own functions."""
    with _Stages(texts, {}) as stages:
        executable = relax.build(module, target)
    texts["graph.py"] = executable.mod.script()
    texts["functions.py"] = executable.as_text()
    code = [executable.module.get_source()]
    if target.kind.name == "llvm":  # the kernels are object files of their own
        code += [
            tvm.build(_exported(kernel), target=target).get_source() for kernel in stages.kernels
        ]
    texts[_code_file(target)] = "\n".join(code)


def _exported(module: tvm.IRModule) -> tvm.IRModule:
    functions = {
        var: function.with_attr("global_symbol", var.name_hint)
        for var, function in module.functions.items()
    }
    return tvm.IRModule(functions)


def _code_file(target: Any) -> str:
    return "code.c" if target.kind.name == "c" else "code.ll"


class _Stages:
    """While it is entered, modules are noted when they have a schedule, and when they are lowered.

    Attributes:
        kernels: the modules with their schedules.
    """

    def __init__(self, texts: Texts, options: dict[str, Any]) -> None:
        self.kernels: list[tvm.IRModule] = []
        self._lowered: list[tvm.IRModule] = []
        self._texts = texts
        passes = [(0, _noting(self.kernels)), (3, _noting(self._lowered))]
        config = {f"tir.{name}": value for name, value in options.items()}
        self._context = tvm.transform.PassContext(config={"tir.add_lower_pass": passes, **config})

    def __enter__(self) -> _Stages:
        self._context.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._context.__exit__(*error)
        for name, modules in (("schedule.py", self.kernels), ("lowered.py", self._lowered)):
            self._texts[name] = "\n".join(module.script() for module in modules)


def _noting(modules: list[tvm.IRModule]) -> Any:
    @tvm.transform.module_pass(opt_level=0)
    def note(module: tvm.IRModule, context: object) -> tvm.IRModule:
        modules.append(module)
        return module

    return note
