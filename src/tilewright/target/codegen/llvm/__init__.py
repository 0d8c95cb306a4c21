"""The `llvm` backend: LLVM IR text, compiled in this process or to object files."""

from tilewright.target.codegen.llvm.compile import CompiledModule, compile_module, generate_llvm
