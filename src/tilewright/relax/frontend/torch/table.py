"""The table of conversions.

It goes from the name of an ATen operator to a function that converts a call. An entry is for an
operator with all its overloads (``aten.add``) or for one of them (``aten.max.dim``), which comes
first. The parameters of a conversion are those of the operator's schema in their order;
keyword-only ones have the names of the schema. What says where and how torch keeps the elements
(device, layout, memory format) is left out."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tilewright.relax.frontend.table import Converter, ConverterTable

CONVERTERS: Final = ConverterTable()
"""All conversions."""
convert_by = CONVERTERS.convert_by
converts = CONVERTERS.converts

COMPLEX_CONVERTERS: Final = ConverterTable()
"""Those of calls that have a `Complex` among their arguments."""
convert_complex_by = COMPLEX_CONVERTERS.convert_by
converts_complex = COMPLEX_CONVERTERS.converts

ADVICE: Final = (
    "Write these parts of the model with other operations, or give run_decompositions() of the "
    "exported program a table that decomposes them."
)
"""What to do about calls that cannot be converted."""


def converter_of(target: object, table: ConverterTable = CONVERTERS) -> Converter | None:
    """The conversion of calls of `target`, an overload of an operator; None if there is none."""
    return table.get(str(target)) or table.get(str(target).rpartition(".")[0])


def has_converter(target: object) -> bool:
    """Whether calls of `target` are converted, of real or of complex numbers."""
    return any(converter_of(target, table) for table in (CONVERTERS, COMPLEX_CONVERTERS))


class Place(NamedTuple):
    """Where a call comes from."""

    module: str
    """The path of the module in the model, such as ``layers.0.conv``."""
    source: str
    """The line of the model's code."""

    def __str__(self) -> str:
        where = f"module {self.module}" if self.module else "the model itself"
        return f"in {where}" + (f", {self.source}" if self.source else "")


def place_of(node: Any) -> Place:
    """Where the call `node` is in the model."""
    modules = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    trace = (node.meta.get("stack_trace") or "").strip().splitlines()
    places = [line.strip() for line in trace if line.lstrip().startswith("File ")]
    code = trace[-1].strip() if trace else ""
    source = f"{places[-1].removeprefix('File ')}: {code}" if places else ""
    return Place(modules[-1].removeprefix("L['self'].") if modules else "", source)
