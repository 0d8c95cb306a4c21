"""The graph functions that are being read, and the builder that they are built with."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, NamedTuple

from tilewright.error import ArgumentError, DiagnosticError
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Var as Size
from tilewright.ir.module import GlobalVar
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import RelaxExpr, Var
from tilewright.relax.struct_info import StructInfo
from tilewright.script.builder import Builder
from tilewright.script.builder.stack import current_builder
from tilewright.script.parser.calls import ModuleReference
from tilewright.script.parser.closed_world import Allowance


class DataflowBlockUnderConstruction:
    """A dataflow block that is being read.

    Attributes:
        outputs: for each name that can be used after the block, the statement that binds it last.
        results: what the outputs stand for, after ``R.output``.
    """

    def __init__(self, outputs: Mapping[str, ast.stmt]) -> None:
        self.outputs = outputs
        self.results: list[Var] | None = None


class Declaration(NamedTuple):
    """``name: struct_info`` alone, before a conditional that gives the value."""

    struct_info: StructInfo
    node: ast.AnnAssign


class GraphFunction:
    """A graph function that is being read.

    Attributes:
        names: visible names, innermost scope first.
        sizes: its symbolic sizes by name.
        candidates: names that its signature defines somewhere as symbolic sizes.
        in_signature: whether its signature is being read, where a string defines a size.
        attrs: its attributes.
        ret_struct_info: what its signature says of its result.
        dataflow: the dataflow block that is open.
        declared: declared struct info of the results of branches, by `branches` and name.
        branches: how many branches are open.
        result: its result, after ``return``.
        end: the statement that gives it.
        has_left: whether Python would not reach what follows.
    """

    def __init__(self, name: str, names: tuple[Mapping[str, Any], ...]) -> None:
        self.name, self.names = name, names
        self.sizes: dict[str, Size] = {}
        self.candidates: set[str] = set()
        self.in_signature = True
        self.attrs: dict[str, Any] = {}
        self.ret_struct_info: StructInfo | None = None
        self.dataflow: DataflowBlockUnderConstruction | None = None
        self.declared: dict[tuple[int, str], Declaration] = {}
        self.branches = 0
        self.result: Any = None
        self.end: Any = None
        self.has_left = False

    def set_attrs(self, values: Mapping[str, Any]) -> None:
        """Set attributes; none may be set twice."""
        for key, value in values.items():
            if key in self.attrs:
                raise DiagnosticError(f"function attribute {key!r} is set twice")
            self.attrs[key] = value


class GraphBuilder(Builder):
    """The graph functions that are open: a function of a module, and functions inside of it.

    Attributes:
        blocks: the builder of their blocks.
        verifies: whether annotations that say more than is known of the value are refused.
        allowance: of the source, see `tilewright.script.parser.source.Source`.
        functions: the functions, innermost last.
    """

    def __init__(
        self,
        blocks: BlockBuilder,
        module: ModuleReference | None,
        verifies: bool,
        allowance: Allowance | None = None,
    ) -> None:
        super().__init__()
        self.blocks, self.module, self.verifies = blocks, module, verifies
        self.allowance = allowance
        self.functions: list[GraphFunction] = []

    @property
    def function(self) -> GraphFunction:
        """The innermost function that is open."""
        return self.functions[-1]

    def is_tensor_program(self, name: GlobalVar) -> bool:
        """Whether a function of the module is a tensor program."""
        known = None if self.module is None else self.module.parsed.get(name)
        return known is not None and not isinstance(known, RelaxExpr)

    def find_size(self, name: str) -> Size | None:
        """The symbolic size of that name, of this function or of one around it."""
        for function in reversed(self.functions):
            if name in function.sizes:
                return function.sizes[name]
        return None

    def size_named(self, name: str) -> Size:
        """The symbolic size that a string stands for; in a signature, a new one is defined."""
        found = self.find_size(name)
        if found is None:
            if not self.function.in_signature:
                raise ArgumentError(
                    f"there is no symbolic size {name!r}: define it by `{name} = T.int64()`"
                )
            found = self.function.sizes[name] = Size(name, INT64)
        return found


def graph_builder() -> GraphBuilder | None:
    """The builder of the graph function that this thread reads; None outside of all."""
    builder = current_builder()
    return builder if isinstance(builder, GraphBuilder) else None


def require_graph(what: str) -> GraphBuilder:
    """The builder of the graph function that this thread reads.

    Raises:
        DiagnosticError: outside of all, naming `what` needs it.
    """
    builder = graph_builder()
    if builder is None or not builder.functions:
        raise DiagnosticError(f"{what} belongs inside of a function with @R.function")
    return builder
