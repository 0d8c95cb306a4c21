"""From the functions of a module to LLVM IR text, object files and assembly.

The pipeline is short on purpose: the code is written in the form that it should have, so all that
remains for LLVM is to put local arrays into registers (SROA) and to select instructions. Loop
strength reduction is off: it costs a third of the time and finds nothing that the emitted pointer
arithmetic does not have.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tilewright.error import CodegenError, InternalError, TargetError, did_you_mean
from tilewright.ir.module import IRModule
from tilewright.target.codegen.llvm.functions import write_function
from tilewright.target.codegen.llvm.module import ModuleText
from tilewright.target.codegen.llvm.support import ObjectUnit, support_needed, support_text
from tilewright.target.codegen.llvm.types import value_type
from tilewright.target.codegen.params import Param, refuse_params, write_objects
from tilewright.target.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.imported_code import imported_code

LOCK: Final = threading.RLock()
"""Machines and JITs are shared by all threads, one of which uses them at a time."""

MOST_BLOCKS: Final = 3_000
"""Basic blocks of a function beyond which its module is translated without optimisation.

Time for the allocation of registers is quadratic in the number of blocks. Such functions call
thousands of kernels, or are unrolled without need.
"""

MOST_ACCESSES: Final = 200
"""Accesses of memory in a basic block of which LLVM's schedulers keep track in detail.

They compare all pairs of these, and LLVM's own limit is 1000.
"""


def generate_llvm(module: IRModule, target: Target) -> ModuleText:
    """The functions of `module`, which are in the form that backends take, in LLVM IR.

    Raises:
        CodegenError: for what LLVM cannot express, such as GPU threads.
    """
    text = ModuleText(target)
    for name, function in module.functions.items():
        if not isinstance(function, PrimFunc):
            continue
        types = tuple(value_type(param.dtype) for param in function.params)
        if function.attrs.get("tir.is_shared", False):
            text.declare_error(name.name_hint, types)
        elif function.attrs.get("tir.is_external", False):
            text.declare(name.name_hint, "i32", types)
        else:
            text.functions.append(write_function(text, name.name_hint, function))
    return text


class CompiledModule:
    """Compiled functions, with their code in several forms.

    Attributes:
        target: what it is compiled for.
        llvm_ir: the LLVM IR before any LLVM pass.
        function_names: the symbols of the exported functions: those with the attribute
            ``calling_conv`` or ``tir.is_exported``.
        needs: names of the support modules with which it is linked.
        externals: C functions that it calls.
        params: constants that it refers to.
    """

    def __init__(
        self, module: IRModule, target: Target, params: Mapping[str, Param] | None = None
    ) -> None:
        self.target = target
        machine_for(target)  # a target that LLVM does not know is refused here
        written = generate_llvm(module, target)
        self.llvm_ir, defined = with_imports(written.text(), imported_code(module, "llvm"), target)
        self._is_huge = any(text.count(":\n") > MOST_BLOCKS for text in written.functions)
        self.function_names = tuple(written.exported)
        self.needs = support_needed(written)
        self.externals = tuple(name for name in written.externals if name not in defined)
        self.params = {name: (params or {})[name] for name in written.params}
        self._loaded: Any = None

    def function_address(self, symbol: str, units: Sequence[ObjectUnit] = ()) -> int:
        """The address of a function in this process; 0 if there is none.

        Args:
            symbol: of the function.
            units: object files of functions that it calls.

        Raises:
            TargetError: if the code is for another architecture.
            CodegenError: if the code calls a C function that this process does not have.
        """
        if symbol not in self.function_names:
            return 0
        require_host(self.target)
        from tilewright.target.codegen.llvm.jit import load

        with LOCK:
            if self._loaded is None:
                self._loaded = load([self.unit, *units], self.function_names, self.params)
            return self._loaded[symbol]

    @functools.cached_property
    def shared_object(self) -> bytes:
        """The object file without the support modules, which modules of a process share.

        It is for a process of this package, see `load_object`.
        """
        with LOCK:
            machine = self._machine()
            return machine.emit_object(optimised(parse(self.llvm_ir, machine), machine))

    @property
    def unit(self) -> ObjectUnit:
        """The object file, and the names of what it is linked with."""
        return ObjectUnit(self.shared_object, self.needs, self.externals)

    def write_objects(self, directory: str) -> list[str]:
        """Write object files from which a library can be linked; their paths."""
        return write_objects(directory, [self._object_code()], self.params)

    def object_code(self) -> bytes:
        """A relocatable object file with position-independent code.

        Raises:
            ExportError: if the program has constants outside of the code.
        """
        refuse_params(self.params)
        return self._object_code()

    def _object_code(self) -> bytes:
        if not self.needs:
            return self.shared_object
        with LOCK:
            machine = self._machine()
            return machine.emit_object(self._whole(machine))

    @functools.cached_property
    def assembly(self) -> str:
        """Assembly in the target's usual syntax."""
        with LOCK:
            machine = self._machine()
            return machine.emit_assembly(optimised(parse(self.llvm_ir, machine), machine))

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

    def _machine(self) -> Any:
        return machine_for(self.target, optimises=not self._is_huge)

    def _whole(self, machine: Any) -> Any:
        context = binding().create_context()
        module = parse(self.llvm_ir, machine, context)
        for name in self.needs:
            module.link_in(parse(support_text(name, self.target), machine, context))
        return optimised(module, machine)


def require_host(target: Target) -> None:
    """Refuse code that does not run in this process.

    Raises:
        TargetError: if it is for another architecture.
    """
    if not target.is_host:
        raise TargetError(
            f"code for {target.triple} does not run on this machine; export it instead"
        )


def compile_module(
    module: IRModule, target: Target | None = None, params: Mapping[str, Param] | None = None
) -> CompiledModule:
    """Compile functions in codegen form for `target`, by default this machine."""
    return CompiledModule(module, target or Target("llvm"), params)


@functools.cache
def binding() -> Any:
    """llvmlite, set up once for the process."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    llvm.set_option("", "-disable-lsr")
    llvm.set_option("", f"-dag-maps-huge-region={MOST_ACCESSES}")
    llvm.set_option("", f"-dag-maps-reduction-size={MOST_ACCESSES // 2}")
    return llvm


def machine_for(target: Target, *, optimises: bool = True) -> Any:
    """LLVM's description of the machine.

    `optimises` tells whether time is spent on good code.
    """
    return _machine(target.triple, target.cpu, target.feature_string, target.abi, optimises)


@functools.cache
def _machine(triple: str, cpu: str, features: str, mabi: str, optimises: bool) -> Any:
    llvm = binding()
    try:
        kind = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise TargetError(f"target triple {triple!r}: {error}") from None
    options: dict[str, Any] = {"abiname": mabi} if mabi else {}
    if triple.startswith("x86_64"):
        # LLVM ends the process when it meets 64-bit code for a CPU without these.
        features = f"{features},+64bit,+sse2".lstrip(",")
    machine, complaints = _with_standard_error(
        lambda: kind.create_target_machine(
            cpu=cpu,
            features=features,
            opt=2 if optimises else 0,
            reloc="pic",
            codemodel="default",
            **options,
        )
    )
    found = re.search(r"'(\S+)' is not a recognized (processor|feature)", complaints)
    if found is not None:
        option = "-mcpu" if found[2] == "processor" else "-mattr"
        hint = did_you_mean(found[1].lstrip("+-"), _names_of(triple, found[2]))
        raise TargetError(
            f"target {triple}: LLVM knows no {found[2]} {found[1]!r} ({option}){hint}"
        )
    return machine


def _names_of(triple: str, what: str) -> list[str]:
    """The processors or the features of an architecture."""
    processors, _, features = _help(triple.partition("-")[0]).partition("Available features")
    listed = processors if what == "processor" else features
    return re.findall(r"^  (\S+) +- ", listed, re.MULTILINE)


@functools.cache
def _help(architecture: str) -> str:
    """LLVM's list of processors and features, which it prints only once in a process."""
    kind = binding().Target.from_triple(architecture)
    return _with_standard_error(lambda: kind.create_target_machine(cpu="help"))[1]


def _with_standard_error(action: Callable[[], Any]) -> tuple[Any, str]:
    """The result of `action`, and what native code in it writes to standard error.

    LLVM reports unknown processors in no other way.
    """
    try:
        saved = os.dup(2)
    except OSError:  # there is no standard error
        return action(), ""
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            result = action()
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        file.seek(0)
        return result, file.read().decode(errors="replace")


def parse(text: str, machine: Any, context: Any = None) -> Any:
    """The LLVM module of generated text.

    LLVM's contexts keep every constant, so each module has its own, which ends with it.

    `context` is that of the module into which it will be linked.
    """
    llvm = binding()
    try:
        module = llvm.parse_assembly(text, context or llvm.create_context())
    except RuntimeError as error:
        raise InternalError(f"the generated LLVM IR is malformed: {error}\n{text}") from None
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def with_imports(text: str, imports: Sequence[str], target: Target) -> tuple[str, frozenset[str]]:
    """Generated text together with code that the program imports, and the names defined there.

    The imported functions become internal: another module may import the same.

    Args:
        text: the generated module.
        imports: modules of LLVM IR, each the text or the path of a file (``.ll`` or ``.bc``).
        target: what the text is for.

    Raises:
        CodegenError: for code that LLVM cannot read, or that defines what the program defines.
    """
    if not imports:
        return text, frozenset()
    with LOCK:
        machine, context = machine_for(target), binding().create_context()
        module, defined = parse(text, machine, context), set[str]()
        for code in imports:
            imported = _imported_module(code, machine, context)
            defined |= {f.name for f in imported.functions if not f.is_declaration}
            try:
                module.link_in(imported)
            except RuntimeError as error:
                raise CodegenError(f"pragma_import_llvm: {error}") from None
        for name in defined:
            module.get_function(name).linkage = "internal"
        return str(module), frozenset(defined)


def _imported_module(code: str, machine: Any, context: Any) -> Any:
    llvm = binding()
    try:
        if code.endswith((".ll", ".bc")) and "\n" not in code:
            with open(code, "rb") as file:
                data = file.read()
            is_text = code.endswith(".ll")
            parse_file = llvm.parse_assembly if is_text else llvm.parse_bitcode
            module = parse_file(data.decode() if is_text else data, context)
        else:
            module = llvm.parse_assembly(code, context)
    except (OSError, RuntimeError) as error:
        raise CodegenError(f"pragma_import_llvm: LLVM cannot read the code: {error}") from None
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return module


def optimised(module: Any, machine: Any) -> Any:
    """`module` with local arrays in registers."""
    llvm = binding()
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    # A builder serves one run: in later ones it would call back objects of the first.
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return module
