"""Arguments of single primitives that are often right, by what the program is like."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.property.step_arguments import index_map

from tilewright.arith.linear import mentions
from tilewright.ir.expr import Call, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.proofs.scope import Scope
from tilewright.tir.stmt import BlockRealize, BufferStore

if TYPE_CHECKING:
    from tests.property.random_schedules import Steps

Chooser = Callable[["Steps"], dict[str, Any]]


def block_that(steps: Steps, fits: Callable[[BlockRealize], Any]) -> str:
    """A block with a property; raises IndexError if there is none."""
    return steps.rng.choice([name for name in steps.blocks() if fits(steps.realize(name))])


def related(
    steps: Steps, relation: Callable[[Scope, BlockRealize], list[BlockRealize]]
) -> tuple[str, str]:
    """A block and one of its producers or consumers."""
    names = set(steps.blocks())
    pairs = []
    for name in names:
        found = relation(steps.scope(name), steps.realize(name))
        pairs += [(name, f.block.name_hint) for f in found if f.block.name_hint in names]
    return steps.rng.choice(sorted(pairs))


def _options(steps: Steps) -> dict[str, Any]:
    rng = steps.rng
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["preserve_unit_loops"] = True
    if rng.random() < 0.3:
        options["index"] = rng.choice((-1, -2, 0, 1))
    return options


def compute_at(steps: Steps) -> dict[str, Any]:
    """A producer and a loop of one of its consumers."""
    producer, consumer = related(steps, Scope.consumers)
    return {"block": producer, "loop": steps.loop(consumer)} | _options(steps)


def reverse_compute_at(steps: Steps) -> dict[str, Any]:
    """A consumer and a loop of one of its producers."""
    consumer, producer = related(steps, Scope.producers)
    return {"block": consumer, "loop": steps.loop(producer)} | _options(steps)


def compute_inline(steps: Steps) -> dict[str, Any]:
    """A block that another one reads."""
    return {"block": related(steps, Scope.consumers)[0]}


def reverse_compute_inline(steps: Steps) -> dict[str, Any]:
    """A block that reads another one."""
    return {"block": related(steps, Scope.producers)[0]}


def is_reduction(realize: BlockRealize) -> bool:
    return realize.block.init is not None


def reduction_loops(steps: Steps, block: str) -> list[Any]:
    realize = steps.realize(block)
    values = [
        value
        for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if item.iter_type is IterType.COMM_REDUCE
    ]
    loops = steps.loops(block)
    return [l for l in loops if any(mentions(v, [steps.sch.get(l).loop_var]) for v in values)]


def rfactor(steps: Steps) -> dict[str, Any]:
    """A loop of a reduction."""
    block = block_that(steps, is_reduction)
    loop = steps.rng.choice(reduction_loops(steps, block))
    axis = steps.rng.choice(range(-1, 1 + len(steps.realize(block).block.writes[0].region)))
    return {"loop": loop, "factor_axis": axis}


def decompose_reduction(steps: Steps) -> dict[str, Any]:
    """A reduction, and a loop that is not inside of its first reduction loop."""
    block = block_that(steps, is_reduction)
    loops = steps.loops(block)
    first = steps.sch.get(reduction_loops(steps, block)[0])
    position = [steps.sch.get(loop) is first for loop in loops].index(True)
    return {"block": block, "loop": steps.rng.choice(loops[: position + 1])}


def _pads(realize: BlockRealize) -> bool:
    body = realize.block.body
    return (
        isinstance(body, BufferStore)
        and isinstance(body.value, Call)
        and getattr(body.value.op, "name", "") == "tir.if_then_else"
    )


def decompose_padding(steps: Steps) -> dict[str, Any]:
    """A block that pads."""
    block = block_that(steps, _pads)
    return {"block": block, "loop": steps.loop(block)}


def pad_einsum(steps: Steps) -> dict[str, Any]:
    """A reduction, with a multiple for each iterator."""
    block = block_that(steps, is_reduction)
    count = len(steps.realize(block).block.iter_vars)
    return {"block": block, "padding": [steps.rng.choice((1, 2, 4, 5)) for _ in range(count)]}


def _written_by(realize: BlockRealize) -> set[Any]:
    return {region.buffer for region in realize.block.writes}


def cache_inplace(steps: Steps) -> dict[str, Any]:
    """A block that updates a buffer."""

    def updates(realize: BlockRealize) -> bool:
        return any(region.buffer in _written_by(realize) for region in realize.block.reads)

    block = block_that(steps, updates)
    realize = steps.realize(block)
    index = [region.buffer in _written_by(realize) for region in realize.block.reads].index(True)
    scope = steps.rng.choice(("global", "local"))
    return {"block": block, "read_buffer_index": index, "storage_scope": scope}


def _allocated(steps: Steps) -> set[Any]:
    return {buffer for r in steps.realizes() for buffer in r.block.alloc_buffers}


def _writes_intermediate(steps: Steps) -> str:
    allocated = _allocated(steps)
    return block_that(steps, lambda realize: bool(_written_by(realize) & allocated))


def set_scope(steps: Steps) -> dict[str, Any]:
    """A block that writes an intermediate buffer."""
    scope = steps.rng.choice(("global", "local", "shared"))
    return {"block": _writes_intermediate(steps), "buffer_index": 0, "storage_scope": scope}


def storage_align(steps: Steps) -> dict[str, Any]:
    """A block that writes an intermediate buffer, with an axis of it."""
    block = _writes_intermediate(steps)
    dimensions = len(steps.realize(block).block.writes[0].region)
    return {
        "block": block, "buffer_index": 0, "axis": steps.rng.choice(range(dimensions)),
        "factor": steps.rng.choice((4, 8)), "offset": steps.rng.choice((0, 1, 3)),
    }  # fmt: skip


def transform_layout(steps: Steps) -> dict[str, Any]:
    """A block that writes an intermediate buffer, and a map of its dimensions."""
    block = _writes_intermediate(steps)
    dimensions = len(steps.realize(block).block.writes[0].region)
    found = {"block": block, "buffer": ("write", 0), "index_map": index_map(steps, dimensions)}
    return found | ({"pad_value": 0} if steps.rng.random() < 0.3 else {})


def stage_mem(steps: Steps) -> dict[str, Any]:
    """A loop and a buffer accessed in it."""
    block = steps.block()
    stmt = steps.realize(block).block
    region = steps.rng.choice([*stmt.reads, *stmt.writes])
    return {"loop": steps.loop(block), "buffer": region.buffer.name}


def lift_alloc(steps: Steps) -> dict[str, Any]:
    """A block that allocates a buffer."""
    block = block_that(steps, lambda realize: realize.block.alloc_buffers)
    return {"block": block, "buffer": steps.realize(block).block.alloc_buffers[0].name}


def unannotate(steps: Steps) -> dict[str, Any]:
    """A block with an annotation."""
    block = block_that(steps, lambda realize: realize.block.annotations)
    key = steps.rng.choice(sorted(steps.realize(block).block.annotations))
    return {"block_or_loop": block, "ann_key": key}


def reorder(steps: Steps) -> dict[str, Any]:
    """Loops of one nest, perhaps far apart."""
    loops = steps.loops(steps.block())
    return {"*": steps.rng.sample(loops, steps.rng.randint(2, max(2, min(4, len(loops)))))
            if len(loops) > 1 else loops}  # fmt: skip


def merge(steps: Steps) -> dict[str, Any]:
    """Loops of equal extents, equally deep."""
    rng, sch = steps.rng, steps.sch
    nests = [steps.loops(block) for block in steps.blocks()]
    depth = rng.choice((0, 0, 1))
    at_depth = [nest[depth] for nest in nests if len(nest) > depth]
    first = rng.choice(at_depth)
    extent = sch.get(first).extent
    found = {sch.get(first): first}
    for loop in rng.sample(at_depth, len(at_depth)):
        stmt = sch.get(loop)
        same = stmt.extent is extent or (
            getattr(extent, "value", None) is not None and is_const_int(stmt.extent, extent.value)
        )
        if same and len(found) < rng.choice((2, 2, 3)):
            found.setdefault(stmt, loop)
    return {"*": list(found.values())}


def add_guard(steps: Steps) -> dict[str, Any]:
    """A block with a loop around it that it does not need, or only in part."""
    block = block_that(steps, lambda realize: _unused_loop(steps, realize))
    return {"block": block, "loop": steps.loop(block)}


def shift_zero_point(steps: Steps) -> dict[str, Any]:
    """A reduction, with one of two operands."""
    block = block_that(steps, is_reduction)
    return {"block": block, "read_buffer_index": steps.rng.choice((0, 1))}


def _unused_loop(steps: Steps, realize: BlockRealize) -> bool:
    loops = steps.sch.state.tree("main").loops_above(realize)
    values = [*realize.iter_values, realize.predicate]
    return any(
        not is_const_int(loop.extent, 1)
        and (
            not any(mentions(v, [loop.loop_var]) for v in values)
            or any(_mixes(v, loop.loop_var) for v in values)
        )
        for loop in loops
    )


def _mixes(value: Any, var: Any) -> bool:
    """Whether an expression is more than a variable that it has."""
    return value is not var and any(node is var for node in walk(value))


def rolling_buffer(steps: Steps) -> dict[str, Any]:
    """A block that shares a loop with what reads its results."""
    tree = steps.sch.state.tree("main")

    def shares_a_loop(realize: BlockRealize) -> bool:
        above = set(tree.loops_above(realize))
        readers = steps.scope(realize.block.name_hint).consumers(realize)
        return bool(readers) and all(above & set(tree.loops_above(r)) for r in readers)

    return {"block": block_that(steps, shares_a_loop), "write_buffer_index": 0}


LIKELY: dict[str, Chooser] = {
    "add_guard": add_guard, "cache_inplace": cache_inplace, "compute_at": compute_at,
    "compute_inline": compute_inline, "decompose_padding": decompose_padding,
    "decompose_reduction": decompose_reduction, "lift_alloc": lift_alloc, "merge": merge,
    "pad_einsum": pad_einsum, "reorder": reorder, "reverse_compute_at": reverse_compute_at,
    "reverse_compute_inline": reverse_compute_inline, "rfactor": rfactor,
    "rolling_buffer": rolling_buffer, "set_scope": set_scope,
    "shift_zero_point": shift_zero_point, "stage_mem": stage_mem,
    "storage_align": storage_align, "transform_layout": transform_layout,
    "unannotate": unannotate,
}  # fmt: skip
