"""Operator fusion: patterns of tensor programs, and grouping by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tilewright.error import ArgumentError
from tilewright.ir.module import BaseFunc, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import EachFunctionPass, ModulePass
from tilewright.relax.expr import DataflowBlock, TupleGetItem, VarBinding
from tilewright.relax.transform.fusion_graph import (
    OP_PATTERN,
    FusionGraph,
    GraphNode,
    edges_of,
    nodes_between,
)
from tilewright.relax.transform.group_functions import BindingGroup, GroupOutliner
from tilewright.schedule_rules.eligible import has_schedule
from tilewright.tir.analysis.pattern_kind import PatternKind, pattern_kind
from tilewright.tir.function import PrimFunc


class AnnotateTIROpPattern(EachFunctionPass):
    """Give each tensor program the attribute ``op_pattern``, a `PatternKind`.

    What has a schedule of its own is opaque: as a part of another function it would lose it. An
    attribute that is there already stays.
    """

    function_class: ClassVar[type[BaseFunc]] = PrimFunc

    def transform_function(self, func: Any, mod: IRModule, ctx: PassContext) -> Any:
        if OP_PATTERN in func.attrs:
            return func
        kind = PatternKind.OPAQUE if has_schedule(func) else pattern_kind(func)
        return func.with_attr(OP_PATTERN, int(kind))


MOST_KERNELS = 64
"""Maximum number of tensor programs per group; larger groups take long to schedule."""

PRIMITIVE = "Primitive"
"""The attribute of a function that is one kernel."""

_ELEMENTWISE, _BROADCAST = PatternKind.ELEMENTWISE, PatternKind.BROADCAST
_INJECTIVE = PatternKind.INJECTIVE


class FuseOps(ModulePass):
    """Move operators that should be computed together into functions with the attribute Primitive.

    Before::

        lv = R.call_tir(cls.matmul, (x, w), R.Tensor((8, 8), "float32"))
        lv1 = R.call_tir(cls.add, (lv, b), R.Tensor((8, 8), "float32"))
        lv2 = R.call_tir(cls.relu, (lv1,), R.Tensor((8, 8), "float32"))

    After, where ``fused_matmul_add_relu`` has the three calls in its body::

        lv2 = cls.fused_matmul_add_relu(x, w, b)

    `AnnotateTIROpPattern` comes before, and `FuseTIR` makes one tensor program of each function.

    Args:
        fuse_opt_level: how much is fused: 0 for nothing, 1 for what follows products, convolutions
            and reductions, 2 for element-wise operators, too, 3 for transpositions and slices, too;
            -1 for everything.
    """

    def __init__(self, fuse_opt_level: int = -1) -> None:
        if not isinstance(fuse_opt_level, int) or not -1 <= fuse_opt_level <= 3:
            raise ArgumentError(f"FuseOps: fuse_opt_level is -1 to 3, got {fuse_opt_level!r}")
        self.fuse_opt_level = fuse_opt_level

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        phases = self.fuse_opt_level if self.fuse_opt_level >= 0 else 3

        def groups_of(block: DataflowBlock) -> list[BindingGroup]:
            partition = Partition(FusionGraph(block, mod))
            partition.fuse(phases)
            return [
                BindingGroup(tuple(node.position for node in group.nodes), {PRIMITIVE: 1})
                for group in partition.groups()
                if sum(node.is_kernel for node in group.nodes) > 1
            ]

        return GroupOutliner(mod, "fused", groups_of).outlined(skip=(PRIMITIVE,))


class FusionGroup:
    """Nodes that are computed together.

    Attributes:
        nodes: the nodes in order; only the value of the last one is used outside.
        anchor: the only node that is more than injective, if there is one.
    """

    def __init__(self, nodes: Sequence[GraphNode]) -> None:
        self.nodes = sorted(nodes, key=lambda node: node.position)
        anchors = [node for node in nodes if node.kind > _INJECTIVE]
        assert len(anchors) <= 1
        self.anchor = anchors[0] if anchors else None

    @property
    def root(self) -> GraphNode:
        return self.nodes[-1]

    @property
    def kind(self) -> PatternKind:
        return max(node.kind for node in self.nodes)


Rule = Callable[[FusionGroup, Sequence[GraphNode], GraphNode], bool]
"""Whether a group is joined with the post-dominator of its root, and the nodes between them."""


class Partition:
    """The nodes of a graph in groups, at first one for each node."""

    def __init__(self, graph: FusionGraph) -> None:
        self.graph = graph
        self._group = {node: FusionGroup([node]) for node in graph.nodes}

    def groups(self) -> list[FusionGroup]:
        """The groups, by their last nodes."""
        return [self._group[node] for node in self.graph.nodes if self._group[node].root is node]

    def fuse(self, phases: int) -> None:
        """Join groups: first what follows anchors, which has no other chance to be fused."""
        rules = (self._may_follow_anchor, self._may_join, self._may_move)
        for rule in rules[:phases]:
            for node in self.graph.nodes:
                while self._extend(self._group[node], node, rule):
                    pass

    def _extend(self, group: FusionGroup, node: GraphNode, rule: Rule) -> bool:
        """Join the group that `node` begins or ends with the post-dominator of its root."""
        root = group.root
        sink = root.parent
        if sink is None or isinstance(node.binding.value, TupleGetItem):
            return False
        if not isinstance(sink.binding, VarBinding):
            return False
        between = nodes_between(root, sink, _may_be_inside, MOST_KERNELS)
        if between is None:
            return False
        united = {
            member: None for item in (root, *between, sink) for member in self._group[item].nodes
        }
        anchors = [member for member in united if member.kind > _INJECTIVE]
        kernels = sum(member.is_kernel for member in united)
        if len(anchors) > 1 or kernels > MOST_KERNELS:
            return False
        if len({member.epoch for member in united}) > 1:
            return False  # its operands may be overwritten before the last one is computed
        if not rule(group, between, sink):
            return False
        joined = FusionGroup(list(united))
        for member in united:
            self._group[member] = joined
        return True

    def _may_follow_anchor(
        self, group: FusionGroup, between: Sequence[GraphNode], sink: GraphNode
    ) -> bool:
        """What reads the results of an anchor element by element is computed for each tile."""
        if group.kind not in (PatternKind.COMM_REDUCE, PatternKind.OUT_EWISE_FUSABLE):
            return False
        path = (*between, sink)
        return all(node.kind <= _BROADCAST for node in path) and all(
            kind is _ELEMENTWISE
            for _, consumer, kind in edges_of([group.root, *between])
            if consumer is sink or consumer in between
        )

    def _may_join(self, group: FusionGroup, between: Sequence[GraphNode], sink: GraphNode) -> bool:
        """Elementwise producers are inlined into their reader, unless it reads them repeatedly;
        what windows find around an image is computed with them."""
        if group.root.is_padding and len(group.nodes) == 1 and not between:
            return sink.kind is PatternKind.OUT_EWISE_FUSABLE and sink.reuses(group.root)
        if group.kind > _BROADCAST or sink.kind > PatternKind.OUT_EWISE_FUSABLE:
            return False
        return not any(sink.reuses(node) for node in (group.root, *between))

    def _may_move(self, group: FusionGroup, between: Sequence[GraphNode], sink: GraphNode) -> bool:
        """What only moves elements is computed where they are read, outside of tiles."""
        return (
            group.kind <= _INJECTIVE
            and sink.kind <= _INJECTIVE
            and self._group[sink].anchor is None
        )


def _may_be_inside(node: GraphNode) -> bool:
    """Whether a node may be between the first and the last one of a group."""
    return node.kind <= _INJECTIVE and isinstance(node.binding, VarBinding)
