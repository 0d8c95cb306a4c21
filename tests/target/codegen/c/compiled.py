"""Programs through the C backend and the C compiler of this machine."""

from __future__ import annotations

import functools
import os
import subprocess

import pytest
from tests.passes import legalize_for, lower

from tilewright.ir import IRModule
from tilewright.runtime.linking import find_compiler
from tilewright.runtime.loading import load_module
from tilewright.target import Target
from tilewright.target.codegen.c import generate_c
from tilewright.tir import PrimFunc
from tilewright.tir.call_boundary.make_packed_api import make_packed_api

COMPILER = find_compiler()
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-O1")
SANITIZER = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined", "-static-libubsan")


@functools.lru_cache(maxsize=1)
def strict_options():
    """Warnings are errors, and undefined behaviour ends the process where that can be checked."""
    probe = [*COMPILER.split(), "-x", "c", *SANITIZER, "-shared", "-fPIC", "-", "-o", os.devnull]
    works = subprocess.run(probe, input=b"int x;", capture_output=True, check=False).returncode == 0
    return (*WARNINGS, *SANITIZER) if works else WARNINGS


def source_of(program):
    """The C source of a function, a schedule's module, or a module."""
    module = program
    if isinstance(program, PrimFunc):
        name = program.global_symbol or "main"
        module = IRModule({name: program.with_attr("global_symbol", name)})
    return generate_c(make_packed_api(legalize_for(lower(module), Target("c"))))


def compile_source(source, directory, options=None):
    """The module of a C source; the source must compile without a warning."""
    path, library = directory / "code.c", directory / "code.so"
    path.write_text(source)
    command = [
        *COMPILER.split(), "-shared", "-fPIC", "-ffp-contract=off", *(options or strict_options()),
        str(path), "-o", str(library), "-lm",
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{result.stderr}\n{source}"
    return load_module(library)


def compiled(program, directory):
    """The module of a program."""
    return compile_source(source_of(program), directory)
