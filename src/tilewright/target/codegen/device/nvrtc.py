"""CUDA C to the machine code of NVIDIA GPUs, by NVRTC. It needs neither a GPU nor a driver."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

from tilewright.error import CodegenError, TargetError

DEFAULT_ARCHITECTURE: Final = "sm_75"
"""The oldest architecture that NVRTC 13 compiles for; every later GPU runs PTX for it."""

_REGISTERS: Final = re.compile(
    r"Compiling entry function '(\w+)'.*?Used (\d+) registers", re.DOTALL
)
"""What the assembler says of each kernel."""

_ARCHITECTURE: Final = re.compile(r"sm_(\d+)[af]?")


def compile_kernels(
    source: str, architecture: str = "", form: Literal["ptx", "cubin"] = "cubin"
) -> bytes:
    """Compile kernels.

    Args:
        source: of the kernels, in CUDA C.
        architecture: such as ``"sm_90"``; `DEFAULT_ARCHITECTURE` if it is empty.
        form: ``"cubin"`` is code for this architecture, ``"ptx"`` an assembly text that drivers
            translate for this and each later one.

    Raises:
        TargetError: for an architecture that NVRTC does not know.
        CodegenError: if NVRTC is not installed, or refuses the source.
    """
    nvrtc = _load()
    with _compiled(source, architecture) as program:
        if form == "ptx":
            return _text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program).rstrip(bytes(1))
        return _text(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)


def registers_of_kernels(source: str, architecture: str = "") -> dict[str, int]:
    """Compile kernels to machine code; how many registers a thread of each has, by its name.

    Raises:
        TargetError: for an architecture that NVRTC does not know.
        CodegenError: if NVRTC is not installed, or refuses the source.
    """
    nvrtc = _load()
    with _compiled(source, architecture, b"--ptxas-options=-v") as program:
        log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
    return {name: int(count) for name, count in _REGISTERS.findall(log.decode(errors="replace"))}


@contextmanager
def _compiled(source: str, architecture: str, *others: bytes) -> Iterator[Any]:
    """A program of NVRTC that is compiled, with options beside those that it always has."""
    nvrtc = _load()
    architecture = architecture or DEFAULT_ARCHITECTURE
    _check_architecture(architecture)
    program = _call(nvrtc.nvrtcCreateProgram, source.encode(), b"kernels.cu", 0, None, None)
    try:
        options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", *others]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            text = log.rstrip(bytes(1)).decode(errors="replace").strip()
            raise CodegenError(
                f"NVRTC refuses the kernels for {architecture}: "
                f"{_line_with_error(source, text)}{text or status.name}"
            )
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _line_with_error(source: str, log: str) -> str:
    """The line of the source of which a log tells the first error, if it tells one."""
    match = re.search(r"\((\d+)\): (?:catastrophic )?error", log)
    lines = source.splitlines()
    if match is None or int(match[1]) > len(lines):
        return ""
    return f"line {match[1]}: {lines[int(match[1]) - 1].strip()}\n"


def compile_for_device(source: str, major: int, minor: int) -> bytes:
    """Kernels in a form that a device can load.

    Args:
        source: of the kernels, in CUDA C.
        major: the compute capability of the device, its first part.
        minor: the second part.

    Raises:
        CodegenError: if NVRTC is not installed, or refuses the source.
        TargetError: if the device is older than what NVRTC compiles for.
    """
    capability = 10 * major + minor
    if capability in supported_architectures():
        # Code with `a` behind its architecture may use all that this one device has.
        return compile_kernels(source, f"sm_{capability}{'a' if major >= 9 else ''}")
    older = [number for number in supported_architectures() if number < capability]
    return compile_kernels(source, f"sm_{max(older, default=capability)}", "ptx")


@functools.cache
def supported_architectures() -> tuple[int, ...]:
    """The compute capabilities that NVRTC compiles for, times ten.

    Raises:
        CodegenError: if NVRTC is not installed.
    """
    return tuple(_call(_load().nvrtcGetSupportedArchs))


def nvrtc_is_installed() -> bool:
    """Whether kernels can be compiled here."""
    try:
        _load()
    except CodegenError:
        return False
    return True


def _check_architecture(architecture: str) -> None:
    match = _ARCHITECTURE.fullmatch(architecture)
    known = supported_architectures()
    if match is None or int(match[1]) not in known:
        raise TargetError(
            f"target cuda: NVRTC has no architecture {architecture!r}; one of "
            f"{', '.join(f'sm_{number}' for number in known)}"
        )


@functools.cache
def _load() -> Any:
    """The functions of NVRTC."""
    try:
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
        nvrtc.nvrtcVersion()  # loads the library
    except (ImportError, RuntimeError) as error:
        raise CodegenError(
            "compiling CUDA C needs the packages cuda-bindings and nvidia-cuda-nvrtc: install "
            f"tilewright[cuda] ({error})"
        ) from None
    return nvrtc


def _call(function: Any, *arguments: Any) -> Any:
    """The result of a function of NVRTC, whose status is not an error."""
    status, *results = function(*arguments)
    if status.value:
        raise CodegenError(f"NVRTC fails: {status.name}")
    return results[0] if results else None


def _text(size: Any, get: Any, program: Any) -> bytes:
    """What NVRTC has to say of a program."""
    content = bytes(_call(size, program))
    _call(get, program, content)
    return content
