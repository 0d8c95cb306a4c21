"""Building the function of a schedule, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError
from tilewright.ir.arithmetic import equal, logical_and
from tilewright.ir.convert import as_expr, attributes, cast, const
from tilewright.ir.expr import Expr, StringImm, Var
from tilewright.ir.rewrite import walk
from tilewright.te.block import BlockBuilder
from tilewright.te.create_prim_func import TRUE, FunctionBuilder
from tilewright.te.operation import ComputeOp, Operation, PlaceholderOp, ScanOp
from tilewright.te.schedule.buffer_layouts import requested_layouts
from tilewright.te.schedule.infer_bound import Bounds
from tilewright.te.schedule.layout import Layout
from tilewright.te.schedule.legality import (
    check_initialised,
    check_reduction_order,
    check_store_predicate,
    check_thread_writes,
    thread_extents,
)
from tilewright.te.schedule.nest import Nest, mixed_loops, thread_index
from tilewright.te.schedule.schedule import Schedule
from tilewright.te.schedule.stage import Stage
from tilewright.te.schedule.tensor_block import tensor_block
from tilewright.te.schedule.tensorize import Tile, match_intrinsic
from tilewright.te.tensor import Tensor
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import Buffer, decl_buffer
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import (
    AssertStmt,
    Block,
    BlockRealize,
    For,
    ForKind,
    IfThenElse,
    Prefetch,
    Stmt,
    seq,
)
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.building.allocations import BUFFER_DIM_ALIGN


class ScheduledFunctionBuilder(FunctionBuilder):
    """Builds the function of a normalized schedule.

    Attributes:
        attachments: where the stages are computed.
    """

    def __init__(
        self, schedule: Schedule, args: Sequence[Any], binds: dict[Tensor, Buffer]
    ) -> None:
        FunctionBuilder.__init__(self, "tvm.lower", args, binds)
        self._schedule = schedule
        self._use_parameters()
        whole = [tensor.op for tensor in self.buffers]
        self._bounds = Bounds(schedule, whole)
        self.attachments = self._bounds.attachments
        self._outer_memory: list[Buffer] = []
        """Buffers of stages in the loop that is being built, to be allocated around it."""
        self._inside: dict[tuple[Stage, IterVar], list[Stage]] = {}
        self._memory: dict[Stage, list[Buffer]] = {}
        for stage in self.attachments.stages:
            place = self.attachments.innermost(stage)
            if place is not None and self.attachments.is_attached(stage):
                self._inside.setdefault((place.stage, place.loop), []).append(stage)
                self._memory[stage] = self._new_buffers(stage.op)
                if not self._memory[stage]:
                    check_thread_writes(stage, self._bounds)
        self._loops: dict[Var, IterVar] = {}
        for stage in self.attachments.stages:
            for leaf, (var, dom) in self._bounds.stages[stage].loops.items():
                self._loops[var] = leaf.replace(dom=dom)

    def _use_parameters(self) -> None:
        """Let what stages compute now be in the buffers of what they were created with."""
        for tensor in list(self.buffers):
            stage = self._schedule.stage_map.get(tensor.op)
            if stage is not None:
                current = stage.op.output(tensor.value_index)
                self.buffers[current] = self.buffers[tensor]
            elif not isinstance(tensor.op, PlaceholderOp):
                raise ArgumentError(f"{self.caller}: the schedule has no stage for {tensor.name}")

    # --- what is computed where ---------------------------------------------------------------

    def body(self) -> list[Stmt]:
        """The statements of the function."""
        result = self.statements(stage.op for stage in self.attachments.stages)
        self.allocated += self._outer_memory
        return [self._checked(seq(result))]

    def _checked(self, body: Stmt) -> Stmt:
        """`body`, which runs only if the loops can be counted; see `Relation.requirements`."""
        for stage in reversed(self.attachments.stages):
            for relation in reversed(stage.relations):
                for condition, words in reversed(relation.requirements()):
                    if not Analyzer().can_prove(condition):
                        loops = " and ".join(parent.name for parent in relation.parents)
                        message = f"stage {stage.name}: {loops} cannot be {relation.verb}: {words}"
                        body = AssertStmt(condition, StringImm(message), body)
        return body

    def is_elsewhere(self, op: Operation) -> bool:
        """Whether `op` is computed inside of the loops of another operation."""
        return self.attachments.is_attached(self._schedule[op])

    def statements_of(self, op: Operation, readers: dict[Tensor, Operation]) -> list[Stmt]:
        """The statements of one operation; those of a scan in the threads that go through it."""
        result = FunctionBuilder.statements_of(self, op, readers)
        stage = self._schedule[op]
        if not stage.env_thread_axes:
            return result
        body = seq(result)
        for thread, extent in reversed(thread_extents(stage, self._bounds)):
            var, kind = Var(thread.name, extent.dtype), ForKind.THREAD_BINDING
            body = For(var, const(0, extent.dtype), extent, kind, body, thread_index(thread))
        return [body]

    def step(self, op: ScanOp) -> Var:
        """The variable of the loop of a scan."""
        return self._bounds.steps[self._schedule[op]]

    def in_step(self, op: ScanOp, body: Stmt) -> Stmt:
        """The body of the loop of a scan, with what is computed in it."""
        return self._in_loop(self._schedule[op], op.scan_axis, body)

    def compute(self, op: ComputeOp, bound: Mapping[IterVar, Var]) -> Stmt:
        """The nest of the stage of `op`."""
        around, self._outer_memory = self._outer_memory, []
        nest = self._nest(op, bound)
        self._outer_memory = around + self._outer_memory
        return nest

    def _nest(self, op: ComputeOp, bound: Mapping[IterVar, Var]) -> Stmt:
        stage = self._schedule[op]
        blocks = BlockBuilder(op, self.buffers, self.sizes, dict.fromkeys(bound, IterType.ORDERED))
        check_store_predicate(stage, self._bounds)
        check_reduction_order(stage)
        nest = Nest(stage, self._bounds, self._in_loop)
        tile = match_intrinsic(stage, self._bounds)
        if tile is not None:
            return self._tensorized(stage, tile, nest)
        if op.reduction is None:
            named = [
                self._annotated(stage, blocks.element(self.unique_name(tensor.name), index))
                for index, tensor in enumerate(op.outputs)
            ]
            return nest.elements(named)
        if any(stage.is_reduction(leaf) for leaf in stage.threads):
            # The threads combine their results, which takes both parts in one block.
            check_initialised(stage, "bind", mixed_loops(stage))
            block = blocks.whole(self.unique_name(op.name))
            return nest.whole_reduction(self._annotated(stage, block))
        init = blocks.init(self.unique_name(f"{op.name}_init"))
        update = blocks.update(self.unique_name(f"{op.name}_update"))
        return nest.reduction(self._annotated(stage, init), update)

    def _tensorized(self, stage: Stage, tile: Tile, nest: Nest) -> Stmt:
        """The nest of a stage whose inner loops are an intrinsic."""
        intrin, outer = tile.intrin, tile.outer
        for leaf in stage.leaf_iter_vars[len(outer) :]:
            if (stage, leaf) in self._inside or leaf in stage.prefetches or leaf in stage.threads:
                raise stage.error(
                    "tensorize", f"something else happens in loop {leaf.name}, which would be lost"
                )

        def block(body: Stmt, reads_inputs: bool, reads_outputs: bool) -> Stmt:
            name = self.unique_name(intrin.name)
            reads = reads_inputs, reads_outputs
            made = tensor_block(stage, tile, body, self.buffers, name, reads)
            return self._isolated(self._annotated(stage, made))

        reduced = [leaf for leaf in outer if stage.is_reduction(leaf)]
        if not reduced or not isinstance(stage.op, ComputeOp) or stage.op.reduction is None:
            if intrin.body is None:
                raise stage.error("tensorize", f"{intrin.name} has no statement for the whole")
            return nest.tensorized(outer, None, block(intrin.body, True, False))
        if intrin.reduce_update is None:
            raise stage.error(
                "tensorize",
                f"{intrin.name} has no statement that continues a reduction, but loop "
                f"{reduced[0].name} is outside of it",
            )
        mixed = set(mixed_loops(stage)).intersection(outer)
        if mixed:
            raise stage.error(
                "tensorize",
                f"loop {mixed.pop().name} is fused of data-parallel and reduction axes, and does "
                f"not tell where {intrin.name} starts a reduction; keep them apart",
            )
        if intrin.reduce_init is not None:
            update = block(intrin.reduce_update, True, True)
            return nest.tensorized(outer, block(intrin.reduce_init, False, False), update)
        if intrin.body is None:
            raise stage.error(
                "tensorize", f"{intrin.name} has no statement that starts a reduction"
            )
        check_initialised(stage, "tensorize", reduced)
        start: Expr = TRUE
        for leaf in reduced:
            var, dom = self._bounds.stages[stage].loops[leaf]
            start = logical_and(start, equal(var, dom.min))
        both = IfThenElse(start, intrin.body, intrin.reduce_update)
        return nest.tensorized(outer, None, block(both, True, True))

    def _in_loop(self, stage: Stage, leaf: IterVar, body: Stmt) -> Stmt:
        """The body of a loop with the stages that are computed in it, and their memory."""
        for tensor, distance in stage.prefetches.get(leaf, ()):
            body = seq(self._prefetch(stage, leaf, tensor, distance), body)
        attached = self._inside.get((stage, leaf), ())
        if attached or self._outer_memory:
            memory, self._outer_memory = self._outer_memory, []
            before: list[Stmt] = []
            lasting: list[Buffer] = []
            for other in attached:
                (lasting if other.is_rolling else memory).extend(self._memory[other])
                bound = {}
                if other.op in self.attachments.scans and isinstance(other.op, ComputeOp):
                    scan = self.attachments.scans[other.op]
                    bound = {other.op.axis[0]: self._bounds.steps[scan]}
                    before.append(self.compute(other.op, bound))
                else:
                    before += self.statements_of(other.op, {})
                memory += self._outer_memory
                self._outer_memory = []
            body = seq(before, body)
            # The iterations of a vectorized loop become one piece of code.
            if stage.kinds.get(leaf) is ForKind.VECTORIZED:
                self._outer_memory = memory
            elif memory:
                body = self._with_memory(f"{stage.name}_{leaf.name}", memory, body)
            self._outer_memory += lasting
        return body

    def _prefetch(self, stage: Stage, leaf: IterVar, tensor: Tensor, distance: Expr) -> Stmt:
        """Fetch what an iteration of a loop some steps later reads of `tensor`."""
        current = self._schedule.current(tensor)
        region = self._bounds.region(current, stage, leaf)
        if region is None:
            raise stage.error("prefetch", f"nothing in loop {leaf.name} reads {tensor.name}")
        var = self._bounds.stages[stage].loops[leaf][0]
        later = {var: as_expr(var + cast(var.dtype, distance))}
        return Prefetch(self.buffers[current], tuple(substitute(dom, later) for dom in region))

    def stage_of(self, loop_var: Var) -> Stage | None:
        """The stage that has a loop; None for the copy of a loop around an initialisation."""
        bounds = self._bounds.stages.items()
        found = (s for s, b in bounds if any(var is loop_var for var, _ in b.loops.values()))
        return next(found, None)

    def layouts(self) -> dict[Buffer, Layout]:
        """The layouts that the stages ask for, by buffer."""
        return requested_layouts(self._bounds, self.buffers, self.buffer_map.values())

    # --- memory -------------------------------------------------------------------------------

    def allocate(self, op: Operation) -> None:
        """Make buffers of the function for the outputs of `op` that have none."""
        self.allocated += self._new_buffers(op)

    def _new_buffers(self, op: Operation) -> list[Buffer]:
        stage = self._schedule[op]
        origin, scope = stage.origin_op or op, self._bounds.scopes[stage]
        result: list[Buffer] = []
        for tensor in op.outputs:
            if tensor not in self.buffers:
                self.check_sizes(tensor)
                name = origin.output(tensor.value_index).name
                buffer = decl_buffer(tensor.shape, tensor.dtype, name, scope=scope)
                self.buffers[tensor] = buffer
                result.append(buffer)
        return result

    def _with_memory(self, name: str, buffers: Sequence[Buffer], body: Stmt) -> Stmt:
        """A block that allocates `buffers` around `body`."""
        block = Block((), (), (), self.unique_name(name), body, None, tuple(buffers))
        realize = self._isolated(block)
        reads, writes = infer_block_regions(realize.block)
        return realize.replace(block=realize.block.replace(reads=reads, writes=writes))

    def _isolated(self, block: Block) -> BlockRealize:
        """`block` with an iterator for each loop around it that it depends on."""
        bound = {node.loop_var for node in walk(block) if isinstance(node, For)}
        used = {
            node: None
            for node in walk(block)
            if isinstance(node, Var) and node in self._loops and node not in bound
        }
        iterators = tuple(
            self._loops[var].replace(var=Var(f"v_{var.name}", var.dtype)) for var in used
        )
        renamed = {var: iv.var for var, iv in zip(used, iterators, strict=True)}
        block = substitute(block, renamed).replace(iter_vars=iterators)
        return BlockRealize(tuple(used), TRUE, block)

    def _annotated(self, stage: Stage, block: Block) -> Block:
        """`block`, which writes the results of `stage`, with what is asked for their memory."""
        notes: dict[str, Any] = {}
        if stage.is_double_buffered:
            notes["double_buffer_scope"] = 0
        if stage.alignments and isinstance(stage.op, ComputeOp):
            notes[BUFFER_DIM_ALIGN] = [
                [number, position, *stage.alignments[axis]]
                for number, region in enumerate(block.writes)
                for position, axis in enumerate(stage.op.axis)
                if axis in stage.alignments and self._owns(stage, region.buffer)
            ]
        return block.replace(annotations=attributes(notes)) if notes else block

    def _owns(self, stage: Stage, buffer: Buffer) -> bool:
        """Whether the layout of a buffer of `stage` is free."""
        if buffer in self.buffer_map.values():
            raise stage.error(
                "storage_align", f"{buffer.name} is a parameter, whose layout is given"
            )
        return True
