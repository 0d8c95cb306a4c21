"""The graph that operator fusion looks at: one node per binding of a dataflow block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.rewrite import walk
from tilewright.relax.expr import (
    Binding,
    Call,
    DataflowBlock,
    DataflowVar,
    RelaxExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from tilewright.relax.transform.function_pass import WriteEpochs
from tilewright.tir.analysis.pattern_kind import (
    FunctionPattern,
    PatternKind,
    function_pattern,
    is_padding,
)
from tilewright.tir.function import PrimFunc

OP_PATTERN = "op_pattern"
"""The attribute of a tensor program that holds its `PatternKind`."""


@dataclass(eq=False)
class GraphNode:
    """A binding, and who uses its value.

    Attributes:
        epoch: how many calls that may write over arrays come before; see `WriteEpochs`.
        kind: pattern of its reads.
        reused: arguments whose elements are each read several times.
        consumers: the nodes that use the value, with the pattern of each use.
        is_visible: whether the value is used outside of the block.
        parent: the immediate post-dominator: the first node that everything that depends on this
            one passes through; None where that is the end of the block.
        depth: the distance to the end along the parents.
        is_padding: whether it does nothing but put a constant around an array.
    """

    binding: Binding
    position: int
    epoch: int
    kind: PatternKind
    reused: frozenset[int] = frozenset()
    consumers: dict[GraphNode, PatternKind] = field(default_factory=dict)
    is_visible: bool = False
    parent: GraphNode | None = None
    depth: int = 1
    is_padding: bool = False

    @property
    def is_kernel(self) -> bool:
        """Whether the node calls a tensor program."""
        return called_kernel(self.binding) is not None

    def reuses(self, producer: GraphNode) -> bool:
        """Whether each element of what `producer` makes is read here several times."""
        return any(
            arg is producer.binding.var and position in self.reused
            for position, arg in enumerate(kernel_arguments(self.binding))
        )


def called_kernel(binding: Binding) -> GlobalVar | None:
    """The tensor program that a binding calls; None for another binding."""
    value = binding.value
    if isinstance(binding, VarBinding) and isinstance(value, Call) and value.op is CALL_TIR:
        kernel = value.args[0]
        return kernel if isinstance(kernel, GlobalVar) else None
    return None


def kernel_arguments(binding: Binding) -> tuple[RelaxExpr, ...]:
    """The arrays that a call of a tensor program reads."""
    if called_kernel(binding) is None:
        return ()
    operands = binding.value.args[1]  # type: ignore[attr-defined]
    return operands.fields if isinstance(operands, Tuple) else ()


class FusionGraph:
    """The nodes of a dataflow block, with their post-dominators."""

    def __init__(self, block: DataflowBlock, mod: IRModule) -> None:
        self._mod = mod
        self._patterns: dict[str, FunctionPattern] = {}
        epochs = WriteEpochs(mod).of(block.bindings)
        self.nodes = [
            GraphNode(binding, position, epoch, *self._kind(binding))
            for position, (binding, epoch) in enumerate(zip(block.bindings, epochs, strict=True))
        ]
        by_var = {node.binding.var: node for node in self.nodes}
        for node in self.nodes:
            node.is_padding = self._is_padding(node)
            node.is_visible = not isinstance(node.binding.var, DataflowVar)
            for producer, kind in self._uses(node, by_var):
                producer.consumers[node] = max(kind, producer.consumers.get(node, kind))
        for node in reversed(self.nodes):
            _set_post_dominator(node)

    def _kind(self, binding: Binding) -> tuple[PatternKind, frozenset[int]]:
        """The kind of a binding, and the arguments that it reuses."""
        if isinstance(binding.value, TupleGetItem) and isinstance(binding, VarBinding):
            return PatternKind.ELEMENTWISE, frozenset()
        kernel = called_kernel(binding)
        func = None if kernel is None or kernel not in self._mod else self._mod[kernel]
        if not isinstance(func, PrimFunc) or not _has_known_shapes(binding):
            return PatternKind.OPAQUE, frozenset()
        kind = PatternKind(int(func.attrs.get(OP_PATTERN, PatternKind.OPAQUE)))
        return kind, self._pattern(kernel).reused

    def _is_padding(self, node: GraphNode) -> bool:
        kernel = called_kernel(node.binding)
        is_injective = node.kind is PatternKind.INJECTIVE
        return is_injective and kernel is not None and is_padding(self._mod[kernel])

    def _pattern(self, kernel: GlobalVar | None) -> FunctionPattern:
        assert kernel is not None
        name = kernel.name_hint
        if name not in self._patterns:
            self._patterns[name] = function_pattern(self._mod[kernel])
        return self._patterns[name]

    def _uses(
        self, node: GraphNode, by_var: Mapping[Var, GraphNode]
    ) -> Iterator[tuple[GraphNode, PatternKind]]:
        """The nodes whose values a node uses, with the pattern of each use."""
        arguments = kernel_arguments(node.binding)
        if node.kind is PatternKind.OPAQUE or not arguments:
            kind = node.kind if isinstance(node.binding.value, TupleGetItem) else PatternKind.OPAQUE
            for item in walk(node.binding.value):
                if isinstance(item, Var) and item in by_var:
                    yield by_var[item], kind
            return
        kinds = self._pattern(called_kernel(node.binding)).parameters
        for arg, kind in zip(arguments, kinds, strict=False):
            if isinstance(arg, Var) and arg in by_var:
                # The declared pattern of an opaque program holds for all of it.
                found = node.kind if kind is None or kind is PatternKind.OPAQUE else kind
                yield by_var[arg], found


def _has_known_shapes(binding: Binding) -> bool:
    """Whether the arguments of a call are arrays, and the extents of all arrays are known."""
    assert isinstance(binding.value, Call)
    infos = [argument.struct_info for argument in kernel_arguments(binding)]
    return (
        isinstance(binding.value.args[1], Tuple)
        and all(isinstance(info, TensorStructInfo) for info in infos)
        and all(_is_known(info) for info in (*infos, binding.var.struct_info))
    )


def _is_known(info: StructInfo | None) -> bool:
    if isinstance(info, TupleStructInfo):
        return all(map(_is_known, info.fields))
    return isinstance(info, TensorStructInfo) and info.extents is not None


def _set_post_dominator(node: GraphNode) -> None:
    """Set the parent of a node, after those of all its consumers."""
    if node.is_visible or not node.consumers:
        return
    first, *others = node.consumers
    common: GraphNode | None = first
    for other in others:
        common = _common_ancestor(common, other)
    if common is not None:
        node.parent, node.depth = common, common.depth + 1


def _common_ancestor(a: GraphNode | None, b: GraphNode | None) -> GraphNode | None:
    while a is not b:
        if a is None or b is None:
            return None
        if a.depth < b.depth:
            b = b.parent
        else:
            a = a.parent
    return a


def nodes_between(
    node: GraphNode, sink: GraphNode, may_join: Callable[[GraphNode], bool], most: int
) -> list[GraphNode] | None:
    """The nodes on the paths from `node` to its post-dominator `sink`, excluding both.

    None as soon as one is found that may not join a group, or so many kernels: a value that is
    used again at the end of a graph has nearly all of it between.
    """
    found: dict[GraphNode, None] = {}
    waiting = [node]
    kernels = 0
    while waiting:
        for consumer in waiting.pop().consumers:
            if consumer is not sink and consumer not in found:
                kernels += consumer.is_kernel
                if kernels >= most or not may_join(consumer):
                    return None
                found[consumer] = None
                waiting.append(consumer)
    return list(found)


def edges_of(nodes: Sequence[GraphNode]) -> Iterator[tuple[GraphNode, GraphNode, PatternKind]]:
    """The uses of values of some nodes."""
    for node in nodes:
        for consumer, kind in node.consumers.items():
            yield node, consumer, kind
