"""The `c` backend: readable C11 that needs nothing but the C library."""

from tilewright.target.codegen.c.compile import CompiledSource, compile_module, generate_c

__all__ = ["CompiledSource", "compile_module", "generate_c"]
