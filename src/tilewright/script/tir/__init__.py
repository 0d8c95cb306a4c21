"""The `T` namespace: everything that a tensor program in TVMScript is written with.

``from tilewright.script import tir as T``. Functions that build expressions also work outside of a
script; those that build statements need a function around them.
"""

from __future__ import annotations

import sys
from typing import Any

from tilewright.tir.op import *  # noqa: F403  # isort: skip  (the names below win over these)

from tilewright.ir.op import CallEffectKind, Op
from tilewright.script.constructs.blocks import (
    AXIS,
    block,
    block_attr,
    grid,
    init,
    iter_var,
    parallel,
    reads,
    serial,
    thread_binding,
    unroll,
    vectorized,
    where,
    writes,
)
from tilewright.script.constructs.buffers import (
    BUFFER,
    alloc_buffer,
    allocate,
    allocate_const,
    decl_buffer,
    match_buffer,
)
from tilewright.script.constructs.dtypes import (
    DTYPE_FUNCTIONS,
    OPERATIONS,
    buffer_var,
    call_kernel,
    ptr,
)
from tilewright.script.constructs.function import (
    arg,
    env_thread,
    func_attr,
    func_name,
    func_ret,
    meta_var,
    target,
)
from tilewright.script.constructs.nodes import *  # noqa: F403
from tilewright.script.constructs.statements import *  # noqa: F403
from tilewright.script.parser.text import macro, prim_func
from tilewright.tir.expr import CommReducer, ProducerLoad

axis = AXIS
Buffer = buffer = buffer_decl = BUFFER
Ptr = ptr
vars(sys.modules[__name__]).update(DTYPE_FUNCTIONS)
for _name, _operation in OPERATIONS.items():
    if getattr(_operation, "__wrapped__", None) is globals()[_name]:
        globals()[_name] = _operation


def __getattr__(name: str) -> Any:
    if name.startswith("_"):  # which debuggers and test runners look for in each module
        raise AttributeError(f"T has no {name!r}")
    import difflib

    close = difflib.get_close_matches(name, list(globals()), n=1)
    hint = f"; did you mean T.{close[0]}?" if close else ""
    raise AttributeError(f"T has no {name!r}{hint}")
