"""Compiled programs are kept between processes.

A program has two files. One is what the passes make of a module: the module as JSON, and its arrays
behind that, each at a multiple of 64 bytes, so that they are mapped into memory, not read. The
other one has the object files, and what is needed to call the functions in them. Loading a program
looks at the second one, and at the arrays; the module is read when somebody wants to see it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tilewright.driver.digests import digest_of
from tilewright.driver.object_cache import ObjectCache, default_cache, key_of, target_facts
from tilewright.error import TVMError
from tilewright.ir.dtype import DType
from tilewright.ir.library import Parameter
from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk_once
from tilewright.providers import loaded_provider
from tilewright.relax.expr import Call
from tilewright.relax.op.table import OPERATORS
from tilewright.relax.vm.compile import CompiledGraphs
from tilewright.relax.vm.function import Descriptions, describe
from tilewright.runtime.module import CompiledCode, Module, compiled_module
from tilewright.runtime.ndarray import ALIGNMENT, NDArray, alias
from tilewright.target import Target
from tilewright.target.codegen.llvm.compile import LOCK, require_host
from tilewright.target.codegen.llvm.jit import Library, LinkedModule, load
from tilewright.target.codegen.llvm.support import ObjectUnit
from tilewright.target.codegen.params import Param
from tilewright.tir.call_boundary.metadata import signatures_of
from tilewright.tir.json_form import from_json, to_json

PIPELINES: Final = ("zero", "default_build")
"""The pipelines that do the same in each process."""


def kept_program(module: IRModule, target: Target, pipeline: object) -> KeptProgram | None:
    """Where a program is kept, if it is or not.

    None without a cache, or if it depends on something else than the module, the target and the
    options of the current `PassContext`.
    """
    cache = default_cache()
    if cache is None or not isinstance(pipeline, str) or not _can_be_kept(module, pipeline):
        return None
    key = _key(module, target, pipeline)
    return None if key is None else KeptProgram(cache, key)


@dataclass(frozen=True)
class KeptCode:
    """The code of a program.

    Attributes:
        units: the object files, that of the graph functions first.
        symbols: of its functions.
        params: the constants that it refers to.
        signatures: the parameters of the functions by name.
        descriptions: how the graph functions are called.
    """

    units: Sequence[ObjectUnit]
    symbols: Sequence[str]
    params: dict[str, Param]
    signatures: dict[str, tuple[Parameter, ...]]
    descriptions: Descriptions

    def runtime_module(self, target: Target, compiled: Callable[[], CompiledCode]) -> Module:
        """The functions, to be called.

        Args:
            target: what the code is for.
            compiled: gives the code in its other forms, to be shown and exported.
        """
        code = _KeptModule(target, self.units, self.symbols, self.params, compiled)
        module = compiled_module(code, self.signatures)
        describe(module, self.descriptions)
        return module


class _KeptModule:
    """A module whose object files were kept, with those of functions that it calls.

    Args:
        target: what it is compiled for.
        units: the object files.
        symbols: of its functions.
        params: constants that it refers to.
        compiled: gives the same as it was compiled, for what is asked seldom.
    """

    def __init__(
        self,
        target: Target,
        units: Sequence[ObjectUnit],
        symbols: Sequence[str],
        params: Mapping[str, Param],
        compiled: Callable[[], CompiledCode],
    ) -> None:
        self._target, self._units = target, units
        self._symbols, self._params = symbols, params
        self._compiled = compiled
        self._loaded: Library | None = None

    def function_address(self, symbol: str) -> int:
        """See `LinkedModule.function_address`."""
        if symbol not in self._symbols:
            return 0
        require_host(self._target)
        with LOCK:
            if self._loaded is None:
                self._loaded = load(self._units, self._symbols, self._params)
            return self._loaded[symbol]

    def object_code(self) -> bytes:
        """See `LinkedModule.object_code`."""
        return self._compiled().object_code()

    def write_objects(self, directory: str) -> list[str]:
        """See `LinkedModule.write_objects`."""
        return self._compiled().write_objects(directory)

    def source(self, fmt: str) -> str:
        """See `LinkedModule.source`."""
        return self._compiled().source(fmt)


class KeptProgram:
    """The files of a program, which need not be there."""

    def __init__(self, cache: ObjectCache, key: str) -> None:
        self._cache, self._key = cache, key
        self._code_key = key_of([key, "code"])

    # --- the module -------------------------------------------------------------------------

    @functools.cached_property
    def _module_file(self) -> tuple[bytes, list[Any]] | None:
        """The module as JSON, and its arrays."""
        data = self._cache.get_mapped(self._key)
        if data is None:
            return None
        size = int.from_bytes(data[:8], "little")
        form_size, described = json.loads(bytes(data[8 : 8 + size]))
        position, arrays = 8 + size + form_size, []
        form = bytes(data[8 + size : position])
        for dtype, shape in described:
            position += -position % ALIGNMENT
            kind, count = DType(dtype).numpy, int(np.prod(shape, dtype=np.int64))
            values = np.frombuffer(data, kind, count, position).reshape(shape)
            arrays.append(alias(values))
            position += values.nbytes
        return form, arrays

    @property
    def has_module(self) -> bool:
        """Whether the module after the passes is kept."""
        return self._module_file is not None

    def module(self) -> IRModule:
        """The module after the passes, which is kept."""
        assert self._module_file is not None
        form, arrays = self._module_file
        return from_json(json.loads(form), arrays)

    def keep_module(self, module: IRModule) -> None:
        """Keep the module after the passes."""
        arrays: list[Any] = []
        form = json.dumps(to_json(module, arrays)).encode()
        self._cache.put(self._key, *_module_parts(form, arrays))
        self._cache.trim()
        self._module_file = form, arrays

    # --- the code ---------------------------------------------------------------------------

    def code(self) -> KeptCode | None:
        """The code; None if it is not kept."""
        data = self._cache.get(self._code_key)
        if data is None or self._module_file is None:
            return None
        form, arrays = self._module_file
        size = int.from_bytes(data[:8], "little")
        position = 8 + size
        units: list[ObjectUnit] = []
        module, sizes, symbols, constants, signatures, described = json.loads(data[8:position])
        if module != _digest_of(form):
            return None  # another process has numbered the arrays in another order
        for length, needs, externals in sizes:
            code = data[position : position + length]
            units.append(ObjectUnit(code, tuple(needs), tuple(externals)))
            position += length
        params = {symbol: _param(arrays[number]) for symbol, number in constants.items()}
        parameters = {n: tuple(Parameter(*p) for p in ps) for n, ps in signatures.items()}
        return KeptCode(units, symbols, params, parameters, Descriptions.from_json(described))

    def keep_code(self, compiled: CompiledGraphs) -> None:
        """Keep the code of the module that is kept, if it is native code and nothing else."""
        code = compiled.code
        if not isinstance(code, LinkedModule) or compiled.graphs.reasons or not self._module_file:
            return
        form, arrays = self._module_file
        numbers = {id(array): number for number, array in enumerate(arrays)}
        originals = compiled.constants.originals.items()
        constants = {symbol: numbers.get(id(data)) for symbol, data in originals}
        if None in constants.values():
            return
        units = code.units
        sizes = [(len(unit.code), unit.needs, unit.externals) for unit in units]
        head = json.dumps(
            [
                _digest_of(form),
                sizes,
                code.main.function_names,
                constants,
                signatures_of(compiled.module),
                compiled.descriptions.as_json(),
            ]
        ).encode()
        codes = (unit.code for unit in units)
        self._cache.put(self._code_key, len(head).to_bytes(8, "little"), head, *codes)
        self._cache.trim()


def _digest_of(form: bytes) -> str:
    return hashlib.sha256(form).hexdigest()


def _param(data: Any) -> Param:
    return Param(data.data_ptr(), data._host_view("constant").nbytes, data)


def _module_parts(form: bytes, arrays: Sequence[Any]) -> Iterator[bytes | memoryview]:
    """The content of a file, in parts: arrays are not copied."""
    values = [np.asarray(a._host_view("keep") if isinstance(a, NDArray) else a) for a in arrays]
    described = [[str(DType(v.dtype)), v.shape] for v in values]
    head = json.dumps([len(form), described]).encode()
    position = 0
    for part in (len(head).to_bytes(8, "little"), head, form):
        yield part
        position += len(part)
    for value in values:
        padding = bytes(-position % ALIGNMENT)
        yield padding
        yield np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
        position += len(padding) + value.nbytes


# --- keys ------------------------------------------------------------------------------------


def _can_be_kept(module: IRModule, pipeline: str) -> bool:
    """Whether the result depends on nothing but the module, the target and the options."""
    if pipeline not in PIPELINES:
        return False
    databases = loaded_provider("tuning databases")
    if databases is not None and databases.Database.current() is not None:
        return False  # the schedules of the kernels come from there
    operators = {
        OPERATORS[node.op]
        for function in module.functions.values()
        for node in walk_once(function)
        if isinstance(node, Call) and isinstance(node.op, Op) and node.op in OPERATORS
    }
    own = __name__.partition(".")[0] + "."
    return all(
        operator.legalize is None or operator.legalize.__module__.startswith(own)
        for operator in operators
    )


def _key(module: IRModule, target: Target, pipeline: str) -> str | None:
    """What a program is kept under; None for a module, or a context, that is not only data."""
    options = PassContext.current().fingerprint()
    if options is None:
        return None
    arrays: list[Any] = []
    try:
        form = json.dumps(to_json(module, arrays))
    except TVMError:
        return None
    contents = [f"{data.dtype} {data.shape}" for data in arrays]
    digest = digest_of(map(_bytes_of, arrays)).hex()
    return key_of([pipeline, *target_facts(target), *options, form, *contents, digest])


def _bytes_of(data: Any) -> memoryview:
    values = data._host_view("hash") if isinstance(data, NDArray) else data
    return np.asarray(values).reshape(-1).view(np.uint8).data
