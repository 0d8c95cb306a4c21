"""Mistakes in how a program uses threads, put into schedules that are right.

What is built of the result is refused, or computes in every order of threads what the interpreter
computes, which runs one thread after the other.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.property.device_fuzz import DeviceCase, Result, assert_right, random_device_case
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation

import tilewright as tvm
from tilewright.error import InterpreterError, TVMError
from tilewright.ir.expr import IntImm, Var
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir import Block, Buffer, BufferLoad, BufferRegion, PrimFunc, Range, Schedule
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.interpreter import interpret
from tilewright.tir.stmt import For, ForKind
from tilewright.tir.substitute import symbolic_sizes

ORDERS = 3
"""In so many orders of threads the emulation runs what is not refused."""


class _Replace(Rewriter):
    """Replaces one node."""

    def __init__(self, old: Any, new: Any) -> None:
        self._old, self._new = old, new

    def __call__(self, node: Any) -> Any:
        return self._new if node is self._old else super().__call__(node)


class _ReadAnywhere(Rewriter):
    """Lets blocks read all of a buffer, if they read any of it."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer

    def Block(self, block: Block) -> Block:
        block = block.map_children(self)
        reads = [self._widened(region) for region in block.reads]
        return block.replace(reads=tuple(reads))

    def _widened(self, region: BufferRegion) -> BufferRegion:
        if region.buffer is not self._buffer:
            return region
        return BufferRegion(region.buffer, tuple(Range(0, n) for n in region.buffer.shape))


def _chosen(func: PrimFunc, rng: random.Random, fits: Callable[[Any], bool]) -> Any:
    """A node of a program; None if none fits."""
    found = [node for node in walk(func.body) if fits(node)]
    return rng.choice(found) if found else None


def _replaced(func: PrimFunc, old: Any, new: Any) -> PrimFunc:
    return func.with_body(_Replace(old, new)(func.body))


def _bound(loop: For, tag: str) -> For:
    thread = IterVar(None, Var("", loop.loop_var.dtype), IterType.THREAD_INDEX, tag)
    return loop.replace(kind=ForKind.THREAD_BINDING, thread_binding=thread)


def bind_any_loop(func: PrimFunc, rng: random.Random) -> PrimFunc | None:
    """Threads or blocks take the iterations of a loop, whatever these do."""
    loop = _chosen(func, rng, lambda node: isinstance(node, For) and _is_serial(node))
    if loop is None:
        return None
    tags = ("threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x", "blockIdx.y", "vthread.z")
    return _replaced(func, loop, _bound(loop, rng.choice(tags)))


def _is_serial(loop: For) -> bool:
    constant = isinstance(loop.extent, IntImm) and 1 < loop.extent.value <= 64
    return loop.kind is ForKind.SERIAL and constant


def change_axis(func: PrimFunc, rng: random.Random) -> PrimFunc | None:
    """Blocks in place of threads, or threads in place of blocks."""
    loop = _chosen(func, rng, lambda n: isinstance(n, For) and n.thread_binding is not None)
    if loop is None:
        return None
    tag = loop.thread_binding.thread_tag
    if tag.startswith("vthread"):
        return _replaced(func, loop, _bound(loop, rng.choice(("threadIdx.z", "blockIdx.z"))))
    names = {"threadIdx": "blockIdx", "blockIdx": "threadIdx"}
    name, _, letter = tag.partition(".")
    return _replaced(func, loop, _bound(loop, f"{names[name]}.{letter}"))


def move_a_load(func: PrimFunc, rng: random.Random) -> PrimFunc | None:
    """An element that another iteration, and perhaps another thread, has written."""

    def fits(node: Any) -> bool:
        return isinstance(node, BufferLoad) and bool(_long_axes(node))

    load = _chosen(func, rng, fits)
    if load is None:
        return None
    axis = rng.choice(_long_axes(load))
    indices = list(load.indices)
    extent = _extent(load, axis)
    if rng.random() < 0.5:
        indices[axis] = extent - 1 - indices[axis]
    else:
        indices[axis] = (indices[axis] + rng.choice((1, extent - 1))) % extent
    moved = _replaced(func, load, load.replace(indices=tuple(indices)))
    return moved.with_body(_ReadAnywhere(load.buffer)(moved.body))


def _long_axes(load: BufferLoad) -> list[int]:
    return [axis for axis in range(len(load.indices)) if _extent(load, axis) > 1]


def _extent(load: BufferLoad, axis: int) -> int:
    return getattr(load.buffer.shape[axis], "value", 0)


def lose_reduction_form(func: PrimFunc, rng: random.Random) -> PrimFunc | None:
    """Threads take a reduction that does not say that it is one."""
    block = _chosen(func, rng, lambda node: isinstance(node, Block) and node.init is not None)
    if block is None:
        return None
    kinds = {IterType.COMM_REDUCE: IterType.ORDERED}
    iterators = [v.replace(iter_type=kinds.get(v.iter_type, v.iter_type)) for v in block.iter_vars]
    changed = _replaced(func, block, block.replace(iter_vars=tuple(iterators)))
    return bind_any_loop(changed, rng) or changed


def change_scope(func: PrimFunc, rng: random.Random) -> PrimFunc | None:
    """Memory of a thread or a block in place of memory of all, or the other way round."""
    sch = Schedule(func, error_render_level="none")
    blocks = [realize.block for realize in sch.state.tree("main").blocks()]
    scopes = ("local", "shared", "global")
    written = [b for b in blocks if b.writes and b.writes[0].buffer not in func.buffer_map.values()]
    if not written:
        return None
    block = rng.choice(written)
    scope = rng.choice([scope for scope in scopes if scope != block.writes[0].buffer.scope()])
    sch.set_scope(sch.get_block(block.name_hint), 0, scope)
    return sch.mod["main"]


def bind_by_primitive(func: PrimFunc, rng: random.Random) -> PrimFunc | None:
    """The step that binds a loop, which looks at what its iterations do."""
    sch = Schedule(func, error_render_level="none")
    block = rng.choice([r.block.name_hint for r in sch.state.tree("main").blocks()])
    loops = [loop for loop in sch.get_loops(block) if _is_serial(sch.get(loop))]
    if not loops:
        return None
    sch.bind(rng.choice(loops), rng.choice(("threadIdx.x", "threadIdx.z", "blockIdx.z")))
    return sch.mod["main"]


RACES: tuple[Callable[[PrimFunc, random.Random], PrimFunc | None], ...] = (
    bind_any_loop, bind_any_loop, bind_by_primitive, change_axis, change_scope, move_a_load,
    lose_reduction_form,
)  # fmt: skip


def racy_case(seed: int) -> DeviceCase | str:
    """A program with a mistake; a text if there is none, or what the refusal of a step says."""
    case = random_device_case(seed)
    if case is None or symbolic_sizes(case.program):
        return "left out"
    rng = random.Random(seed)
    race = rng.choice(RACES)
    try:
        program = race(case.program, rng)
    except TVMError:
        return f"{race.__name__}: refused"
    if program is None:
        return "left out"
    arguments = case.results[0].arguments
    expected = [array.copy() for array in arguments]
    try:
        interpret(program, *expected, check_reads=True)
    except InterpreterError:
        return "left out"  # reads what nothing has written, and means nothing
    return case._replace(kind=race.__name__, program=program, results=[Result(arguments, expected)])


def check_inserted_races(seeds: Sequence[int]) -> Counter[str]:
    """What became of programs with mistakes: refused, or right in several orders of threads."""
    done: Counter[str] = Counter()
    modules = []
    for seed in seeds:
        case = racy_case(seed)
        if isinstance(case, str):
            done[case] += 1
            continue
        try:
            modules.append((case, tvm.build(case.program, target="cuda")))
        except TVMError:
            done[f"{case.kind}: refused"] += 1
    api = EmulatedCuda([module.imported_modules[0].get_source() for _, module in modules])
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_emulation(monkeypatch, api)
        for case, module in modules:
            for order in range(ORDERS):
                api.seed = ORDERS * case.seed + order
                assert_right(case, module, tvm.cuda(0))
            done[f"{case.kind}: right"] += 1
    return done
