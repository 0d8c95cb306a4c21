"""From LLVM IR text to code in this process, object files, and assembly.

The pipeline is short on purpose: the code is written in the form that it should have, so all that
remains for LLVM is to put local arrays into registers (SROA) and to select instructions. Loop
strength reduction is off: it costs a third of the time and finds nothing that the emitted pointer
arithmetic does not have.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

from tilewright.error import CodegenError, InternalError, TargetError
from tilewright.ir.module import IRModule
from tilewright.target.codegen.llvm.control import Control
from tilewright.target.codegen.llvm.module import ModuleText
from tilewright.target.target import Target
from tilewright.tir.function import PrimFunc

_lock = threading.RLock()


def generate_llvm(module: IRModule, target: Target) -> str:
    """The LLVM IR of the functions of `module`, which are in the form that backends take.

    Raises:
        CodegenError: for what LLVM cannot express, such as GPU threads.
    """
    text = ModuleText(target)
    functions = [
        Control(text).function(name.name_hint, function)
        for name, function in module.functions.items()
        if isinstance(function, PrimFunc)
    ]
    return text.text(functions)


class CompiledModule:
    """Compiled functions, with their code in several forms.

    Attributes:
        target: what it is compiled for.
        llvm_ir: the LLVM IR before any LLVM pass.
        function_names: the symbols of the functions.
    """

    def __init__(self, module: IRModule, target: Target) -> None:
        self.target = target
        self.llvm_ir = generate_llvm(module, target)
        self.function_names = [name.name_hint for name in module.functions]
        self._engine: Any = None

    def function_address(self, symbol: str) -> int:
        """The address of a function in this process; 0 if there is none.

        Raises:
            TargetError: if the code is for another architecture.
        """
        if symbol not in self.function_names:
            return 0
        if not self.target.is_host:
            raise TargetError(
                f"code for {self.target.triple} does not run on this machine; export it instead"
            )
        with _lock:
            if self._engine is None:
                self._engine = _engine(self.llvm_ir, self.target)
            return self._engine.get_function_address(symbol)

    def object_code(self) -> bytes:
        """A relocatable object file with position-independent code."""
        with _lock:
            machine = _machine(self.target, jit=False)
            return machine.emit_object(_optimised(self.llvm_ir, machine))

    @functools.cached_property
    def assembly(self) -> str:
        """Assembly in the target's usual syntax."""
        with _lock:
            machine = _machine(self.target, jit=False)
            return machine.emit_assembly(_optimised(self.llvm_ir, machine))

    def source(self, fmt: str) -> str:
        """Text in the format ``"ll"`` (the default) or ``"asm"``.

        Raises:
            CodegenError: for another format.
        """
        if fmt in ("", "ll"):
            return self.llvm_ir
        if fmt in ("asm", "s"):
            return self.assembly
        raise CodegenError(f"target llvm has no source in format {fmt!r}; use 'll' or 'asm'")


def compile_module(module: IRModule, target: Target | None = None) -> CompiledModule:
    """Compile functions in codegen form for `target`, by default this machine."""
    return CompiledModule(module, target or Target("llvm"))


@functools.cache
def _binding() -> Any:
    """llvmlite, set up once for the process."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    llvm.set_option("", "-disable-lsr")
    return llvm


@functools.cache
def _load_host_library() -> None:
    """Make the functions of tvm-ffi known to compiled code."""
    from tvm_ffi import libinfo

    _binding().load_library_permanently(libinfo.find_libtvm_ffi())


def _machine(target: Target, *, jit: bool) -> Any:
    llvm = _binding()
    try:
        kind = llvm.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise TargetError(f"target {target}: {error}") from None
    options: dict[str, Any] = {"cpu": target.cpu, "features": target.feature_string, "opt": 2}
    if "mabi" in target.attrs:
        options["abiname"] = target.attrs["mabi"]
    if jit:
        return kind.create_target_machine(jit=True, codemodel="jitdefault", **options)
    return kind.create_target_machine(reloc="pic", codemodel="default", **options)


def _optimised(text: str, machine: Any) -> Any:
    """The parsed module with local arrays in registers."""
    llvm = _binding()
    try:
        module = llvm.parse_assembly(text)
    except RuntimeError as error:
        raise InternalError(f"the generated LLVM IR is malformed: {error}\n{text}") from None
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    return module


def _engine(text: str, target: Target) -> Any:
    llvm = _binding()
    _load_host_library()
    machine = _machine(target, jit=True)
    engine = llvm.create_mcjit_compiler(_optimised(text, machine), machine)
    engine.finalize_object()
    return engine
