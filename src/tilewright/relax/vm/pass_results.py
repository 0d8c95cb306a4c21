"""What the passes make of a module, which is kept between processes.

A file holds the module after the passes as JSON, and its arrays behind that, each at a multiple of
64 bytes: they are mapped into memory, not read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tilewright.driver.object_cache import ObjectCache, default_cache, key_of, target_facts
from tilewright.error import ArgumentError, TVMError
from tilewright.ir.dtype import DType
from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk_once
from tilewright.providers import loaded_provider
from tilewright.relax.expr import Call
from tilewright.relax.op.table import OPERATORS
from tilewright.relax.pipeline import get_pipeline
from tilewright.runtime.ndarray import ALIGNMENT, NDArray, alias
from tilewright.target import Target
from tilewright.tir.json_form import from_json, to_json

Pipeline = str | Callable[[IRModule], IRModule] | None

KEPT: Final = ("zero", "default_build")
"""The pipelines that do the same in each process."""


def after_passes(module: IRModule, target: Target, pipeline: Pipeline) -> IRModule:
    """The module after the passes of a pipeline.

    Args:
        module: the module.
        target: the target of the compilation.
        pipeline: the name of a pipeline, a pass, or None for no passes.
    """
    if pipeline is None:
        return module
    if not isinstance(pipeline, str):
        if not callable(pipeline):
            raise ArgumentError(f"relax.build: the pipeline is a name or a pass, got {pipeline!r}")
        return pipeline(module)
    passes = get_pipeline(pipeline)
    cache = default_cache()
    if cache is None or not _can_be_kept(module, pipeline):
        return passes(module)
    key = _key(module, target, pipeline)
    if key is None:
        return passes(module)
    kept = _load(cache, key)
    if kept is not None:
        return kept
    result = passes(module)
    cache.put(key, *_parts(result))
    cache.trim()
    return result


def _can_be_kept(module: IRModule, pipeline: str) -> bool:
    """Whether the result depends on nothing but the module, the target and the options."""
    if pipeline not in KEPT:
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
    """What a result is kept under; None for a module, or a context, that is not only data."""
    options = PassContext.current().fingerprint()
    if options is None:
        return None
    arrays: list[Any] = []
    try:
        form = json.dumps(to_json(module, arrays))
    except TVMError:
        return None
    contents = [f"{data.dtype} {data.shape} {_digest(data)}" for data in arrays]
    return key_of([pipeline, *target_facts(target), *options, form, *contents])


def _digest(data: Any) -> str:
    values = data._host_view("hash") if isinstance(data, NDArray) else data
    return hashlib.sha256(np.asarray(values).reshape(-1).view(np.uint8).data).hexdigest()


def _parts(module: IRModule) -> list[bytes | memoryview]:
    """The content of a file, in parts: arrays are not copied."""
    arrays: list[Any] = []
    form = to_json(module, arrays)
    values = [np.asarray(a._host_view("keep") if isinstance(a, NDArray) else a) for a in arrays]
    head = json.dumps([form, [[str(DType(v.dtype)), v.shape] for v in values]]).encode()
    parts: list[bytes | memoryview] = [len(head).to_bytes(8, "little"), head]
    position = 8 + len(head)
    for value in values:
        data = np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
        parts += [bytes(-position % ALIGNMENT), data]
        position += len(parts[-2]) + value.nbytes
    return parts


def _load(cache: ObjectCache, key: str) -> IRModule | None:
    data = cache.get_mapped(key)
    if data is None:
        return None
    size = int.from_bytes(data[:8], "little")
    form, described = json.loads(bytes(data[8 : 8 + size]))
    position, arrays = 8 + size, []
    for dtype, shape in described:
        position += -position % ALIGNMENT
        kind, count = DType(dtype).numpy, int(np.prod(shape, dtype=np.int64))
        values = np.frombuffer(data, kind, count, position).reshape(shape)
        arrays.append(alias(values))
        position += values.nbytes
    return from_json(form, arrays)
