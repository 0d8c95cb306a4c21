"""Conversion of the calls of a torch program, one after the other."""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Sequence
from typing import Any, Final

import torch

from tilewright.driver.progress import with_bar
from tilewright.error import TVMError
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Call, RelaxExpr
from tilewright.relax.frontend.emitter import Emitter
from tilewright.relax.frontend.fourier import Complex
from tilewright.relax.frontend.table import Converter, Problems, UnsupportedError
from tilewright.relax.frontend.torch.sizes import SYMBOLIC, Sizes
from tilewright.relax.frontend.torch.table import (
    ADVICE,
    COMPLEX_CONVERTERS,
    CONVERTERS,
    converter_of,
    place_of,
)
from tilewright.relax.frontend.torch.tensors import dtype_of
from tilewright.relax.struct_info import TensorStructInfo

PLACEMENT: Final = frozenset({"device", "layout", "pin_memory", "memory_format", "non_blocking"})
"""Arguments that say where and how torch keeps the elements."""
UNKNOWN: Final = object()
"""The value of a call that cannot be converted, and of those that need it."""
_LIKE: Final = {torch.SymInt: 1, torch.SymFloat: 1.0, torch.SymBool: True}
"""Numbers in place of symbolic ones, where only the kind matters."""
CHECKS: Final = frozenset({
    "aten._assert_tensor_metadata", "aten._assert_scalar", "aten._assert_async",
    "aten.sym_constrain_range", "aten.sym_constrain_range_for_size", "aten._linalg_check_errors",
})  # fmt: skip
"""What states conditions that hold for all inputs that the program was exported for."""
ELEMENTS: Final = frozenset({"aten._local_scalar_dense", "aten.item"})
"""What makes a number of an element of a tensor."""


class Graph(Emitter):
    """A graph function while it is made from a torch program.

    Attributes:
        values: what each node of the program has become: expressions, numbers, or lists of these.
        node: the call that is being converted.
        seed: of random numbers, an array without dimensions; None if there are none.
    """

    def __init__(self, builder: BlockBuilder, seed: RelaxExpr | None = None) -> None:
        super().__init__(builder)
        self.seed = seed
        self._streams = itertools.count()
        self.sizes = Sizes()
        self.values: dict[torch.fx.Node, Any] = {}
        self.problems = Problems(ADVICE)
        self.node: torch.fx.Node = None  # type: ignore[assignment]

    # --- what conversions use -------------------------------------------------------------

    @property
    def name_hint(self) -> str:
        """The name of the call that is being converted."""
        return self.node.name

    @property
    def result(self) -> Any:
        """What torch knows of the result: a tensor without elements, or several."""
        return self.node.meta["val"]

    @property
    def shape(self) -> list[Any]:
        """The extents of the result."""
        return self.sizes.shape(self.result.shape)

    @property
    def dtype(self) -> str:
        """The dtype of the result; of complex numbers, that of their parts."""
        return dtype_of(self.result.dtype.to_real())

    @property
    def full_dtype(self) -> str:
        """That dtype; single precision where it is half precision, or no float."""
        return "float64" if self.dtype == "float64" else "float32"

    def uses_result(self, index: int) -> bool:
        """Whether the program uses one of several results of the call."""
        items = (user for user in self.node.users if user.target is operator.getitem)
        return any(item.args[1] == index and item.users for item in items)

    def common_dtype(self) -> str:
        """The dtype to which torch converts two operands before it compares them."""
        operands = [known(argument) for argument in self.node.args[:2]]
        return dtype_of(torch.result_type(*operands))

    def random_stream(self, shape: Sequence[Any]) -> tuple[RelaxExpr, Sequence[Any], int]:
        """The seed, `shape`, and a number that no other random call of the program has.

        Raises:
            UnsupportedError: if there is no seed.
        """
        if self.seed is None:
            raise UnsupportedError(
                "random numbers need a seed: give from_exported_program random_seed=0, or "
                'random_seed="input" for a parameter. They are not those of torch.'
            )
        return self.seed, shape, next(self._streams)

    # --- the program ----------------------------------------------------------------------

    def convert_calls(self, program: torch.fx.Graph) -> None:
        """Convert all calls of a program, or of a part of one that is a program itself."""
        for node in with_bar(program.nodes, "importing", len(program.nodes)):
            if node.op == "call_function":
                self.convert(node)
            elif node.op == "get_attr":
                self.values[node] = operator.attrgetter(node.target)(program.owning_module)

    def convert(self, node: torch.fx.Node) -> None:
        """Convert one call; what cannot be is noted, and the search for more goes on."""
        self.node = node
        try:
            if any(self.values[source] is UNKNOWN for source in node.all_input_nodes):
                self._require_conversion(node)
                self.values[node] = UNKNOWN
            else:
                self.values[node] = self._matched(self._value(node), node.meta.get("val"))
        except (UnsupportedError, TVMError) as error:
            self.problems.add(str(node.target), str(error), str(place_of(node)))
            self.values[node] = UNKNOWN

    def _value(self, node: torch.fx.Node) -> Any:
        if node.target is operator.getitem:
            return self._item(node)
        converter = self._require_conversion(node)
        if converter is None:
            return self.sizes.convert(node.meta.get("val"))
        arguments, options = self._arguments(node)
        try:
            inspect.signature(converter).bind(self, *arguments, **options)
        except TypeError:
            raise UnsupportedError("these arguments of the operator are not supported") from None
        value = converter(self, *arguments, **options)
        return self.emit(value) if isinstance(value, Call) else value

    def _require_conversion(self, node: torch.fx.Node) -> Converter | None:
        """What converts a call; None for numbers and checks, which need nothing."""
        is_size = isinstance(node.meta.get("val"), (*SYMBOLIC, bool, int, float)) and (
            str(node.target).rpartition(".")[0] not in ELEMENTS
        )
        is_check = str(_operator_of(node)).rpartition(".")[0] in CHECKS
        if is_size or is_check or node.target is operator.getitem:
            return None
        is_complex = any(has_complex(self.values.get(source)) for source in node.all_input_nodes)
        converter = converter_of(node.target, COMPLEX_CONVERTERS if is_complex else CONVERTERS)
        if converter is None:
            numbers = " for complex numbers" if is_complex else ""
            raise UnsupportedError(f"there is no conversion of this operator{numbers}")
        return converter

    def _item(self, node: torch.fx.Node) -> Any:
        values, index = node.args
        item = self.values[values][index]  # type: ignore[index]
        if item is None and node.users:
            raise UnsupportedError(f"result {index} of {values.target} is not supported")  # type: ignore[union-attr]
        return item

    def _arguments(self, node: torch.fx.Node) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call as the conversion takes them."""
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return [self.argument(value) for value in node.args], {}
        schema = node.target._schema.arguments  # type: ignore[union-attr]
        given = {parameter.name: value for parameter, value in zip(schema, node.args, strict=False)}
        given |= node.kwargs
        relevant = [parameter for parameter in schema if parameter.name not in PLACEMENT]
        named = {p.name: self.argument(given[p.name])
                 for p in relevant if p.kwarg_only and p.name in given}  # fmt: skip
        positional = [parameter for parameter in relevant if not parameter.kwarg_only]
        while positional and positional[-1].name not in given:
            positional.pop()
        return [self.argument(given.get(p.name, p.default_value)) for p in positional], named

    def argument(self, value: Any) -> Any:
        """An argument of a node: what other nodes have become, dtypes by name."""
        if isinstance(value, torch.fx.Node):
            return self.values[value]
        if isinstance(value, (list, tuple)):
            return [self.argument(item) for item in value]
        if isinstance(value, torch.dtype):
            return dtype_of(value.to_real())
        return value

    def _matched(self, value: Any, fake: Any) -> Any:
        """`value` with the shape that torch knows, where ours is not known to be the same."""
        if isinstance(fake, (list, tuple)) and isinstance(value, (list, tuple)):
            return [self._matched(*pair) for pair in zip(value, fake, strict=True)]
        if isinstance(fake, SYMBOLIC):
            self.sizes.define(fake, value)
        if not isinstance(fake, torch.Tensor) or not isinstance(value, RelaxExpr):
            return value
        info = value.struct_info
        assert isinstance(info, TensorStructInfo)
        for size, extent in zip(fake.shape, info.extents or (), strict=False):
            self.sizes.define(size, extent)
        expected = self.struct_info_of(fake)
        if info.dtype != expected.dtype or info.ndim not in (expected.ndim, -1):
            raise UnsupportedError(f"the conversion gives {info!r}, torch {expected!r}")
        if self.same_shape(value, expected.extents or ()):
            return value
        return self.builder.match_cast(value, expected)

    def shape_in_torch(self, node: torch.fx.Node) -> list[Any]:
        """The extents that torch knows of a tensor."""
        return self.sizes.shape(node.meta["val"].shape)

    def struct_info_of(self, fake: torch.Tensor) -> TensorStructInfo:
        """What torch knows of a tensor."""
        return TensorStructInfo(self.sizes.shape(fake.shape), dtype_of(fake.dtype))


def _operator_of(node: torch.fx.Node) -> Any:
    """What a node calls, also where torch has noted that its order among others matters."""
    return node.args[1] if node.target is torch.ops.higher_order.with_effects else node.target


def has_complex(value: Any) -> bool:
    """Whether a value is an array of complex numbers, or has some among several."""
    return isinstance(value, Complex) or (
        isinstance(value, list) and any(isinstance(item, Complex) for item in value)
    )


def known(argument: Any) -> Any:
    """What torch knows of an argument: a tensor without elements, or a number like it."""
    value = argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument
    return _LIKE.get(type(value), value)
